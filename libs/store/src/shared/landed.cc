#include "landed.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace tertulia {
namespace {

enum class Landed : std::uint8_t { kYes, kNo, kUnknown };

// A turn is looked for among so many messages from the end of its branch: others may have followed it.
constexpr std::uint64_t kLookBack = 4'096;

Result<bool> holds_record(Store& store, const SessionKey& key, const Record& record) {
  RecordQuery query{
      .tenant = key.tenant, .owner = key.owner, .session = key.session, .kind = record.stream.kind};
  query.branch = record.stream.branch;
  query.scope = record.stream.scope;
  query.after = record.number - 1;
  query.limit = 1;
  const Result<RecordPage> page = read_records(store, std::move(query));
  if (!page && page.error().code() == ErrorCode::kNoSession) return false;
  if (!page) return page.error();
  return !page->records.empty() && page->records.front().record == record;
}

Result<std::optional<Revision>> find_turn(Store& store, const SessionKey& key, const BranchHead& head,
                                          const TurnId& turn) {
  const std::uint64_t end = head.message_count;
  const TurnRange range{.branch = head.id, .begin = end > kLookBack ? end - kLookBack : 0, .end = end};
  TERTULIA_TRY_AS(const std::vector<StoredTurn> turns, read_turns(store, key, range));
  for (const StoredTurn& stored : turns) {
    if (stored.turn.id() == turn) return std::optional(stored.revision);
  }
  return std::optional<Revision>();
}

const BranchHead* branch_in(const SessionState& state, const BranchId& id) {
  const auto found = std::ranges::find(state.branches, id, &BranchHead::id);
  return found == state.branches.end() ? nullptr : &*found;
}

bool says_the_same(Session one, Session other) {
  one.revision = other.revision;
  one.last_activity = other.last_activity;
  one.id = other.id;
  one.tenant = other.tenant;
  one.owner = other.owner;
  return one == other;
}

// What one change of a commit shows. Turns and records are the commit's own, and prove it; for the rest, what
// is stored is either as the commit wanted it or tells nothing.
Result<Landed> shows(Store& store, const SessionKey& key, const SessionState& state, const Change& change) {
  if (const auto* append = std::get_if<AppendTurn>(&change)) {
    const BranchHead* head = branch_in(state, append->branch);
    if (head == nullptr) return Landed::kUnknown;
    TERTULIA_TRY_AS(const auto revision, find_turn(store, key, *head, append->turn.id()));
    return revision ? Landed::kYes : Landed::kNo;
  }
  if (const auto* add = std::get_if<AddRecord>(&change)) {
    TERTULIA_TRY_AS(const bool there, holds_record(store, key, add->record));
    return there ? Landed::kYes : Landed::kUnknown;
  }
  if (const auto* put = std::get_if<PutSession>(&change)) {
    return says_the_same(put->session, state.session) ? Landed::kYes : Landed::kUnknown;
  }
  if (const auto* put = std::get_if<PutBranch>(&change)) {
    const BranchHead* head = branch_in(state, put->head.id);
    return head != nullptr && head->created_at == put->head.created_at ? Landed::kYes : Landed::kUnknown;
  }
  if (const auto* drop = std::get_if<DropBranches>(&change)) {
    const bool gone =
        std::ranges::none_of(drop->branches, [&](const BranchId& id) { return branch_in(state, id); });
    return gone ? Landed::kYes : Landed::kNo;
  }
  return Landed::kUnknown;
}

Result<Landed> has_landed(Store& store, const Commit& commit) {
  const Result<SessionState> state = load(store, commit.key);
  if (!state && state.error().code() == ErrorCode::kNoSession) return Landed::kNo;
  if (!state) return state.error();
  // Nobody else writes for the one who died: what has not moved will not.
  if (commit.expected && state->session.revision == *commit.expected) return Landed::kNo;
  // A turn proves it either way, wherever it stands: fields may be as this commit wants them by somebody
  // else's.
  for (const Change& change : commit.changes) {
    if (!std::holds_alternative<AppendTurn>(change)) continue;
    return shows(store, commit.key, *state, change);
  }
  for (const Change& change : commit.changes) {
    TERTULIA_TRY_AS(const Landed landed, shows(store, commit.key, *state, change));
    if (landed != Landed::kUnknown) return landed;
  }
  return Landed::kUnknown;
}

Error unknown_outcome(const SessionKey& key) {
  return {ErrorCode::kOutcomeUnknown,
          "the process that held the store died in the middle of a change of session '" + key.session.text() +
              "', and what is stored does not tell whether it was made; load the session and look"};
}

std::optional<std::string> look_for_commit(Store& store, const Commit& commit) {
  const Result<Landed> landed = has_landed(store, commit);
  if (landed && *landed == Landed::kNo) return std::nullopt;
  if (landed && *landed == Landed::kYes) {
    const Revision made = commit.expected ? next(*commit.expected) : Revision{1};
    return answer_of(Result<Revision>(made));
  }
  return answer_of(Result<Revision>(unknown_outcome(commit.key)));
}

std::optional<std::string> look_for_note(Store& store, const Note& note) {
  for (const auto& change : note.changes) {
    const auto* add = std::get_if<AddRecord>(&change);
    if (add == nullptr) continue;
    const Result<bool> there = holds_record(store, note.key, add->record);
    if (!there) return answer_of(Result<void>(unknown_outcome(note.key)));
    if (*there) return answer_of(Result<void>());
    return std::nullopt;
  }
  // Only removals: doing them again changes nothing.
  return std::nullopt;
}

}  // namespace

std::optional<std::string> look_for_change(Store& store, Verb verb, std::string_view body) {
  if (verb == Verb::kCommit) {
    const Result<Commit> commit = read_body<Commit>(body);
    return commit ? look_for_commit(store, *commit) : std::nullopt;
  }
  if (verb == Verb::kNote) {
    const Result<Note> note = read_body<Note>(body);
    return note ? look_for_note(store, *note) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace tertulia
