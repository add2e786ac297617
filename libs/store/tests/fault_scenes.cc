#include <array>
#include <cstdlib>
#include <variant>

#include "tertulia/conversation/json_forms.h"

#include "fault_bench.h"

namespace tertulia::trial {
namespace {

using Trial = StoreTrial;
using Notes = std::vector<std::variant<AddRecord, DropRecords>>;

template <class T>
Result<void> outcome(const Result<T>& result) {
  if (!result) return result.error();
  return {};
}

Step creates(std::string_view name) {
  return [key = Trial::key(name)](BlockingStore& store) { return outcome(store.commit(Trial::first(key))); };
}

Step commits(std::string_view name, std::uint64_t expected, std::vector<Change> changes) {
  return [key = Trial::key(name), expected, changes](BlockingStore& store) {
    return outcome(
        store.commit(Trial::of(key, Revision{expected}, changes, static_cast<std::int64_t>(expected))));
  };
}

Step notes(std::string_view name, Notes changes) {
  return [key = Trial::key(name), changes](BlockingStore& store) {
    return store.note({.key = key, .changes = changes});
  };
}

Step erases(std::optional<std::string_view> session) {
  const SessionKey key = Trial::key(session.value_or("any"));
  EraseScope scope{.tenant = key.tenant, .owner = key.owner};
  if (session) scope.session = key.session;
  return [scope](BlockingStore& store) { return outcome(store.erase(scope)); };
}

AppendTurn turn(std::string_view branch, std::uint64_t n, bool with_state = false) {
  AppendTurn change{
      .branch = Trial::branch(branch), .turn = Trial::tool_turn(n), .tool_calls = {Trial::tool_call(n)}};
  if (with_state) change.state = MiddlewareState{{"plan", JsonText::of(Json(std::uint64_t{n}))}};
  return change;
}

AppendTurn long_turn(std::string_view branch, std::uint64_t n) {
  return {.branch = Trial::branch(branch),
          .turn = Trial::turn(n, std::string(900, 'q'), std::string(2'600, 'a'))};
}

AddRecord adds(RecordKind kind, std::string_view branch, std::uint64_t number, std::string payload = "{}") {
  StreamId stream{.kind = kind};
  if (!branch.empty()) stream.branch = Trial::branch(branch);
  return {Trial::record(std::move(stream), number, std::move(payload))};
}

DropRecords drops(RecordKind kind, std::string_view branch, std::uint64_t up_to = 0) {
  StreamId stream{.kind = kind};
  if (!branch.empty()) stream.branch = Trial::branch(branch);
  return {.stream = std::move(stream), .up_to = up_to};
}

PutBranch forks(std::string_view name, std::size_t at) {
  return {Trial::head(Trial::branch(name), ForkOrigin{Trial::branch("main"), at})};
}

PutSession renames(std::string_view title) {
  PutSession put{Trial::session()};
  put.session.metadata.set("title", title);
  return put;
}

std::vector<Scene> make_scenes() {
  const BranchId side = Trial::branch("side");
  const std::vector<Step> one = {creates("alpha"), commits("alpha", 1, {turn("main", 0)})};
  std::vector<Step> forked = one;
  forked.push_back(commits("alpha", 2, {forks("side", 3)}));
  forked.push_back(commits("alpha", 3, {turn("side", 20)}));
  std::vector<Step> two = one;
  two.push_back(creates("beta"));
  two.push_back(commits("beta", 1, {turn("main", 100)}));
  BranchHead labelled = Trial::head(Trial::branch("main"));
  labelled.label = "labelled";
  const RecordKind journal = RecordKind::kJournal;
  return {
      {"create", {}, {creates("alpha"), creates("beta")}},
      {"append", one, {commits("alpha", 2, {turn("main", 4)}), commits("alpha", 3, {turn("main", 8, true)})}},
      {"journal",
       one,
       {notes("alpha", {adds(journal, "main", 1)}),
        notes("alpha", {adds(journal, "main", 2), adds(journal, "main", 3)}),
        commits("alpha", 2, {turn("main", 4), drops(journal, "main")})}},
      {"fork",
       one,
       {commits("alpha", 2, {forks("side", 3)}), commits("alpha", 3, {turn("side", 20)}),
        commits("alpha", 4, {turn("side", 24, true), turn("main", 30)})}},
      {"delete a branch",
       forked,
       {commits("alpha", 4, {DropBranches{{side}}, turn("main", 40)}),
        commits("alpha", 5, {PutBranch{Trial::head(side)}, turn("side", 50)}),
        commits("alpha", 6, {DropBranches{{side}}})}},
      {"put the session",
       one,
       {commits("alpha", 2, {renames("another")}), commits("alpha", 3, {PutBranch{labelled}}),
        commits("alpha", 4, {renames("third"), turn("main", 4)})}},
      {"records and assets",
       one,
       {notes("alpha", {adds(RecordKind::kAsset, "", 1, std::string(1'200, '\xff'))}),
        notes("alpha", {adds(RecordKind::kEvent, "main", 1), adds(RecordKind::kCheckpoint, "", 1, "\1\2")}),
        commits("alpha", 2, {drops(RecordKind::kAsset, ""), adds(journal, "main", 1)})}},
      // Turns that are lines by themselves, and records that tell how many there are.
      {"turns beside records",
       forked,
       {notes("alpha", {adds(RecordKind::kEvent, "main", 1), adds(RecordKind::kCheckpoint, "", 1)}),
        commits("alpha", 4, {turn("main", 40)}), notes("alpha", {adds(RecordKind::kEvent, "main", 2)}),
        commits("alpha", 5, {turn("side", 44)}), notes("alpha", {adds(RecordKind::kCheckpoint, "", 2)}),
        commits("alpha", 6, {turn("main", 48)})}},
      {"long turns",
       forked,
       {commits("alpha", 4, {long_turn("main", 40), long_turn("side", 44)}),
        commits("alpha", 5, {long_turn("main", 48)})}},
      // Erasing an owner goes session by session, so one that is left stands for all.
      {"erase", two, {erases("beta"), creates("beta"), erases("alpha"), erases(std::nullopt)}},
      {"large records",
       one,
       {notes("alpha", {adds(journal, "main", 1, std::string(70'000, 'j'))}),
        notes("alpha", {drops(journal, "main", 1)})}},
  };
}

void add_session(BlockingStore& store, const SessionKey& key, std::string& text) {
  const Result<SessionState> state = store.load(key);
  if (!state) {
    text += key.session.text() + ": " + std::string(name_of(state.error().code())) + "\n";
    return;
  }
  text += to_json(state->session) + "\n";
  for (const BranchHead& head : state->branches) {
    text += head.id.text() + " " + head.label + " " + std::to_string(head.message_count) + " " +
            std::to_string(head.last_activity.time_since_epoch().count());
    for (const auto& [owner, value] : head.state) text += " " + owner + "=" + value.text();
    const auto turns = store.read_turns(key, {.branch = head.id});
    if (!turns) text += turns.error().message();
    for (const StoredTurn& stored : turns ? *turns : std::vector<StoredTurn>()) {
      text += "\n  " + std::to_string(number(stored.revision)) + "@" + std::to_string(stored.first_index);
      for (const Message& message : stored.turn.messages()) text += std::string(message.block());
    }
    text += "\n";
  }
  constexpr std::array kKinds = {RecordKind::kJournal, RecordKind::kAsset, RecordKind::kToolCall,
                                 RecordKind::kEvent, RecordKind::kCheckpoint};
  for (const RecordKind kind : kKinds) {
    const auto page = store.read_records(Trial::query(key, kind));
    if (!page) text += page.error().message() + "\n";
    for (const StoredRecord& stored : page ? page->records : std::vector<StoredRecord>()) {
      text += std::string(name_of(kind)) + stored.record.stream.branch.text() +
              std::to_string(stored.record.number) + stored.record.payload + "\n";
    }
  }
}

}  // namespace

bool is_long_run() { return std::getenv("TERTULIA_LONG") != nullptr; }

const std::vector<Scene>& scenes() {
  static const std::vector<Scene> all = make_scenes();
  return all;
}

std::string everything(BlockingStore& store) {
  std::string text;
  const Result<SessionPage> page = store.list({.tenant = Trial::key("any").tenant});
  if (!page) text += page.error().message() + "\n";
  for (const SessionSummary& summary : page ? page->sessions : std::vector<SessionSummary>()) {
    text += summary.key.text() + " " + std::to_string(number(summary.revision)) + "\n";
  }
  for (const std::string_view name : {"alpha", "beta"}) add_session(store, Trial::key(name), text);
  return text;
}

}  // namespace tertulia::trial
