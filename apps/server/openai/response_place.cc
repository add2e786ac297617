#include "openai/response_place.h"

#include <set>
#include <utility>

#include "tertulia/store/session_store.h"

#include "api/session_change.h"
#include "core/once_table.h"
#include "openai/conversation.h"
#include "openai/handed_back.h"

namespace tertulia::server {
namespace {

struct Claims {
  Mutex mutex;
  std::set<std::string> taken TERTULIA_GUARDED_BY(mutex);
};

Claims& claims() {
  static Claims all;
  return all;
}

// Where the messages of a turn end in its branch. kNotFound if it is not there.
Result<std::uint64_t> end_of_turn(Store& store, const SessionKey& key, const BranchHead& head,
                                  const TurnId& turn) {
  constexpr std::uint64_t kPage = 200;
  std::uint64_t end = head.message_count;
  while (end > 0) {
    TERTULIA_TRY_AS(
        const std::vector<StoredTurn> turns,
        read_turns(store, key, {.branch = head.id, .begin = end > kPage ? end - kPage : 0, .end = end}));
    for (const StoredTurn& stored : turns) {
      if (stored.turn.id() == turn) return stored.first_index + stored.turn.messages().size();
    }
    if (turns.empty()) break;
    end = turns.front().first_index;
  }
  return Error(ErrorCode::kNotFound, "what the earlier response said was not kept: it failed")
      .with("param", "previous_response_id");
}

// The branch to which a turn with this key was committed.
Result<std::optional<BranchId>> branch_of_key(Store& store, const SessionKey& key, const std::string& once) {
  if (once.empty()) return std::optional<BranchId>();
  TERTULIA_TRY_AS(const RecordPage page, read_records(store, {.tenant = key.tenant,
                                                              .owner = key.owner,
                                                              .session = key.session,
                                                              .kind = RecordKind::kSubmission,
                                                              .key = once,
                                                              .limit = 1}));
  if (page.records.empty()) return std::optional<BranchId>();
  return std::optional(page.records.front().record.stream.branch);
}

// A new branch behind the first `kept` messages.
Result<BranchId> fork_at(const Call& call, const SessionKey& key, const BranchId& from, std::uint64_t kept) {
  TERTULIA_TRY_AS(const BranchId id, BranchId::parse("r-" + call.services.ids().make().text()));
  TERTULIA_TRY(
      change_session_at(call, key, std::nullopt, [&](const SessionState& now) -> Result<std::vector<Change>> {
        TERTULIA_TRY_AS(const BranchHead* parent, find_branch(now, from));
        const Time time = call.services.env.clock().now();
        BranchHead head{.id = id,
                        .forked_from = ForkOrigin{.parent = from, .at_index = kept - 1},
                        .state = parent->state,
                        .created_at = time,
                        .last_activity = time};
        return std::vector<Change>{PutBranch{std::move(head)}};
      }));
  return id;
}

}  // namespace

std::shared_ptr<BranchClaim> BranchClaim::take(const SessionKey& key, const BranchId& branch,
                                               std::uint64_t end) {
  std::string name = key.text() + "/" + branch.text() + "/" + std::to_string(end);
  Claims& all = claims();
  MutexLock lock(all.mutex);
  if (!all.taken.insert(name).second) return nullptr;
  return std::shared_ptr<BranchClaim>(new BranchClaim(std::move(name)));
}

BranchClaim::~BranchClaim() {
  Claims& all = claims();
  MutexLock lock(all.mutex);
  all.taken.erase(name_);
}

Result<ResponsePlace> place_behind(const Call& call, const KeptResponse& previous, bool store,
                                   const std::string& once) {
  const ResponsePlan& plan = *previous.plan;
  if (is_running(call, plan)) {
    return Error(ErrorCode::kTurnRunning, "the response '" + plan.ids.response() + "' has not ended yet")
        .with("param", "previous_response_id");
  }
  Store& stored = call.services.store();
  ResponsePlace place{.key = *plan.key, .branch = plan.branch};
  TERTULIA_TRY_AS(const SessionState state, load(stored, place.key));
  TERTULIA_TRY_AS(const BranchHead* head, find_branch(state, plan.branch));
  TERTULIA_TRY_AS(const std::uint64_t end, end_of_turn(stored, place.key, *head, plan.ids.turn));
  TERTULIA_TRY_AS(place.handed_back, load_handed_back(stored, place.key, plan.branch, plan.ids.turn));
  if (!store) {
    TERTULIA_TRY_AS(place.before, load_branch_until(stored, place.key, *head, end));
    return place;
  }
  TERTULIA_TRY_AS(const std::optional<BranchId> known, branch_of_key(stored, place.key, once));
  if (known) {
    place.branch = *known;
    place.known = true;
    return place;
  }
  if (end == head->message_count) place.claim = BranchClaim::take(place.key, plan.branch, end);
  if (!place.claim) place.fork_at = end;
  return place;
}

Result<void> take_place(const Call& call, ResponsePlace& place) {
  if (!place.fork_at) return {};
  TERTULIA_TRY_AS(place.branch, fork_at(call, place.key, *place.branch, *place.fork_at));
  return {};
}

Result<ResponsePlace> place_in_session(const Call& call, const ResponseRequest& request) {
  ResponsePlace place;
  if (!request.plan.key) {
    // The same key asks for the same response, so it must lead to the same session.
    const std::string& once = request.options.idempotency_key;
    TERTULIA_TRY_AS(
        place.key, call.session_named(once.empty() ? call.services.ids().make().text() : once_session(once)));
    place.own_session = true;
    place.fresh = true;
    return place;
  }
  place.key = *request.plan.key;
  place.branch = request.options.branch;
  Store& store = call.services.store();
  Result<SessionState> state = load(store, place.key);
  if (!state && state.error().code() == ErrorCode::kNoSession && !request.conversation) {
    place.fresh = true;
    return place;
  }
  if (!state && state.error().code() == ErrorCode::kNoSession) {
    return Error(ErrorCode::kNotFound,
                 "Conversation with id '" + conversation_id(place.key.session) + "' not found.")
        .with("param", "conversation");
  }
  if (!state) return std::move(state).error();
  // A conversation is one line; responses that fork have ids of their own.
  if (!place.branch) {
    TERTULIA_TRY_AS(place.branch, current_branch(*state));
  }
  TERTULIA_TRY_AS(const BranchHead* head, find_branch(*state, place.branch));
  TERTULIA_TRY_AS(const std::optional<StoredTurn> last, last_turn(store, place.key, *head));
  TERTULIA_TRY_AS(place.handed_back,
                  load_handed_back(store, place.key, head->id, last ? last->turn.id() : TurnId()));
  if (!request.store) {
    TERTULIA_TRY_AS(place.before, load_branch(store, place.key, *head));
  }
  return place;
}

}  // namespace tertulia::server
