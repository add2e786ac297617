#include "tertulia/store/session_store.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/commit_rules.h"
#include "tertulia/store/inner_sessions.h"

namespace tertulia {

namespace {

const BranchHead* find(const SessionState& state, const BranchId& id) {
  const auto found = std::find_if(state.branches.begin(), state.branches.end(),
                                  [&](const BranchHead& head) { return head.id == id; });
  return found == state.branches.end() ? nullptr : &*found;
}

BranchHead head_of(const Branch& branch) {
  return {.id = branch.id,
          .forked_from = branch.forked_from,
          .state = branch.state,
          .label = branch.label,
          .description = branch.description,
          .tags = branch.tags,
          .created_at = branch.created_at,
          .last_activity = branch.last_activity,
          .extra = branch.extra};
}

Error differs(const Branch& branch, Revision current, const std::string& how) {
  return Error(ErrorCode::kRevisionConflict, "branch '" + branch.id.text() + "' cannot be saved: " + how +
                                                 "; a transcript only grows: load it again, or fork")
      .with("current", static_cast<std::int64_t>(number(current)));
}

// Ok if what is stored is a beginning of what is given.
Result<void> check_prefix(const Branch& branch, const Transcript& stored, Revision current) {
  if (stored.size() > branch.transcript.size()) {
    return differs(branch, current,
                   std::to_string(stored.size()) + " messages are stored, and it has only " +
                       std::to_string(branch.transcript.size()));
  }
  std::optional<std::size_t> different;
  stored.for_each(0, stored.size(), [&](std::size_t index, const Message& message) {
    if (!(branch.transcript[index] == message)) different = index;
    return !different;
  });
  if (!different) return {};
  return differs(branch, current, "message " + std::to_string(*different) + " is not the one that is stored");
}

// The turns from `begin` on: messages of one revision are one turn. A transcript does not know the ids of its
// turns; each gets that of its first message, so that saving the same turn twice gives the same id.
Result<std::vector<Turn>> turns_from(const Transcript& transcript, std::size_t begin) {
  std::vector<Turn> turns;
  while (begin < transcript.size()) {
    const Revision revision = transcript.revision_at(begin);
    std::vector<Message> messages;
    while (begin < transcript.size() && transcript.revision_at(begin) == revision) {
      messages.push_back(transcript[begin++]);
    }
    const TurnId id(messages.front().id().uuid());
    TERTULIA_TRY_AS(Turn turn, Turn::from_messages(id, std::move(messages)));
    turns.push_back(std::move(turn));
  }
  return turns;
}

StreamId journal_stream(const BranchId& branch) { return {.kind = RecordKind::kJournal, .branch = branch}; }

}  // namespace

Result<void> check_current(const Branch& branch, Time created_at, const Transcript& stored,
                           Revision current) {
  const std::size_t size = stored.size();
  const bool same = branch.created_at == created_at && branch.transcript.size() == size &&
                    (size == 0 || branch.transcript[size - 1].id() == stored[size - 1].id());
  if (same) return {};
  return Error(ErrorCode::kRevisionConflict,
               "branch '" + branch.id.text() + "' is not what the store has: it has " +
                   std::to_string(branch.transcript.size()) + " messages, and " + std::to_string(size) +
                   " are stored; load it again")
      .with("current", static_cast<std::int64_t>(number(current)));
}

Branch branch_of(const BranchHead& head, const SessionId& session) {
  return Branch{.id = head.id,
                .session = session,
                .transcript = {},
                .state = head.state,
                .forked_from = head.forked_from,
                .label = head.label,
                .description = head.description,
                .tags = head.tags,
                .created_at = head.created_at,
                .last_activity = head.last_activity,
                .extra = head.extra,
                .stored = true};
}

Result<Branch> branch_of(const BranchHead& head, const SessionId& session,
                         std::span<const StoredTurn> turns) {
  Branch branch = branch_of(head, session);
  TERTULIA_TRY(append_news(head, turns, branch.transcript));
  return branch;
}

TurnRange news_of(const BranchHead& head, const Transcript& transcript) {
  return {.branch = head.id, .begin = transcript.size(), .end = head.message_count};
}

Result<void> append_news(const BranchHead& head, std::span<const StoredTurn> turns, Transcript& transcript) {
  Transcript grown = transcript;
  bool follows = true;
  for (const StoredTurn& stored : turns) {
    follows =
        follows && stored.first_index == grown.size() && grown.try_append(stored.turn, stored.revision).ok();
  }
  if (!follows || grown.size() != head.message_count) {
    return Error(ErrorCode::kRevisionConflict, "branch '" + head.id.text() +
                                                   "' was changed while it was read, or is not the one that "
                                                   "was read before; read it again")
        .with("branch", head.id.text());
  }
  transcript = std::move(grown);
  return {};
}

Result<Branch> load_branch(Store& store, const SessionKey& key, const BranchHead& head) {
  // Not beyond the head: a turn that was added since then belongs to a later revision.
  TERTULIA_TRY_AS(const std::vector<StoredTurn> turns,
                  read_turns(store, key, {.branch = head.id, .begin = 0, .end = head.message_count}));
  return branch_of(head, key.session, turns);
}

Result<Branch> load_branch_until(Store& store, const SessionKey& key, const BranchHead& head,
                                 std::uint64_t kept) {
  TERTULIA_TRY_AS(Branch branch, load_branch(store, key, head));
  if (kept > branch.transcript.size()) {
    return Error(ErrorCode::kRevisionConflict,
                 "branch '" + head.id.text() + "' of session '" + key.session.text() + "' has " +
                     std::to_string(branch.transcript.size()) + " messages, and " + std::to_string(kept) +
                     " were there before: it was made anew; read it again")
        .with("branch", head.id.text());
  }
  branch.transcript = branch.transcript.prefix(kept);
  return branch;
}

SessionStore::SessionStore(Store& store, Clock& clock, TenantId tenant, OwnerId owner)
    : store_(store), clock_(clock), tenant_(std::move(tenant)), owner_(std::move(owner)) {}

SessionStore::SessionStore(Store& store, Clock& clock)
    : SessionStore(store, clock, local_key({}).tenant, local_key({}).owner) {}

SessionKey SessionStore::key_of(const SessionId& session) const {
  return {.tenant = tenant_, .owner = owner_, .session = session};
}

Result<Revision> SessionStore::commit_changes(const SessionId& session, std::optional<Revision> expected,
                                              std::vector<Change> changes) {
  return commit(store_, {.key = key_of(session),
                         .expected = expected,
                         .conditions = {},
                         .changes = std::move(changes),
                         .time = clock_.now()});
}

Result<Session> SessionStore::load_session(const SessionId& id) {
  TERTULIA_TRY_AS(SessionState state, load(store_, key_of(id)));
  return std::move(state.session);
}

Result<Revision> SessionStore::save_session(const Session& session) {
  std::optional<Revision> expected;
  if (number(session.revision) > 0) expected = session.revision;
  return commit_changes(session.id, expected, {PutSession{session}});
}

Result<std::vector<SessionId>> SessionStore::list_session_ids() {
  std::vector<SessionId> ids;
  SessionQuery query{.tenant = tenant_, .owner = owner_, .limit = 1'000};
  do {
    TERTULIA_TRY_AS(SessionPage page, list(store_, query));
    for (SessionSummary& summary : page.sessions) ids.push_back(std::move(summary.key.session));
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  return ids;
}

Result<bool> SessionStore::delete_session(const SessionId& id) {
  TERTULIA_TRY_AS(const EraseReport report, erase_with_inner(store_, key_of(id)));
  return report.sessions > 0;
}

Result<Branch> SessionStore::load_branch(const SessionId& session, const BranchId& branch) {
  TERTULIA_TRY_AS(const SessionState state, load(store_, key_of(session)));
  TERTULIA_TRY(resolve_branch(infos_of(state.branches), branch));
  const BranchHead* head = find(state, branch);
  if (head == nullptr)
    return Error(ErrorCode::kNoBranch, "the session has no branch '" + branch.text() + "'");
  return tertulia::load_branch(store_, key_of(session), *head);
}

Result<Revision> SessionStore::save_branch(const Branch& branch) {
  TERTULIA_TRY_AS(const SessionState state, load(store_, key_of(branch.session)));
  Revision revision = state.session.revision;
  std::size_t stored_count = 0;
  if (const BranchHead* head = find(state, branch.id)) {
    TERTULIA_TRY_AS(const Branch stored, tertulia::load_branch(store_, key_of(branch.session), *head));
    TERTULIA_TRY(check_prefix(branch, stored.transcript, revision));
    stored_count = stored.transcript.size();
  } else if (branch.forked_from) {
    stored_count = branch.forked_from->at_index + 1;
  }
  TERTULIA_TRY_AS(const std::vector<Turn> turns, turns_from(branch.transcript, stored_count));
  std::vector<Change> changes{PutBranch{head_of(branch)}};
  for (const Turn& turn : turns) {
    changes.emplace_back(AppendTurn{.branch = branch.id, .turn = turn});
    TERTULIA_TRY_AS(revision, commit_changes(branch.session, revision, std::exchange(changes, {})));
  }
  if (changes.empty()) return revision;
  return commit_changes(branch.session, revision, std::move(changes));
}

Result<std::vector<BranchId>> SessionStore::list_branch_ids(const SessionId& session) {
  TERTULIA_TRY_AS(SessionState state, load(store_, key_of(session)));
  std::vector<BranchId> ids;
  for (BranchHead& head : state.branches) ids.push_back(std::move(head.id));
  return ids;
}

Result<Revision> SessionStore::delete_branch(const SessionId& session, const BranchId& branch,
                                             bool recursive) {
  TERTULIA_TRY_AS(const SessionState state, load(store_, key_of(session)));
  TERTULIA_TRY_AS(std::vector<BranchId> going, plan_delete(infos_of(state.branches), branch, recursive));
  return commit_changes(session, state.session.revision, {DropBranches{std::move(going)}});
}

Result<TurnJournal> SessionStore::load_uncommitted_turn(const SessionId& session, const BranchId& branch) {
  TurnJournal journal{.session = session, .branch = branch, .entries = {}, .extra = {}};
  RecordQuery query{.tenant = tenant_,
                    .owner = owner_,
                    .session = session,
                    .kind = RecordKind::kJournal,
                    .branch = branch,
                    .scope = std::string(),
                    .limit = 1'000};
  do {
    TERTULIA_TRY_AS(RecordPage page, read_records(store_, query));
    for (const StoredRecord& stored : page.records) {
      TERTULIA_TRY_AS(JournalEntry entry, parse_form<JournalEntry>(stored.record.payload));
      journal.entries.push_back(std::move(entry));
    }
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  return journal;
}

Result<void> SessionStore::save_uncommitted_turn(const TurnJournal& journal) {
  TERTULIA_TRY_AS(const TurnJournal stored, load_uncommitted_turn(journal.session, journal.branch));
  const std::uint64_t newest = stored.entries.empty() ? 0 : stored.entries.back().number;
  Note note{.key = key_of(journal.session), .conditions = {}, .changes = {}};
  for (const JournalEntry& entry : journal.entries) {
    if (entry.number <= newest) continue;
    note.changes.emplace_back(AddRecord{{.stream = journal_stream(journal.branch),
                                         .number = entry.number,
                                         .time = entry.time,
                                         .key = {},
                                         .name = std::string(kind_of(entry)),
                                         .payload = to_json(entry)}});
  }
  if (note.changes.empty()) return {};
  return tertulia::note(store_, std::move(note));
}

Result<void> SessionStore::delete_uncommitted_turn(const SessionId& session, const BranchId& branch) {
  return note(store_, {.key = key_of(session),
                       .conditions = {},
                       .changes = {DropRecords{.stream = journal_stream(branch), .up_to = 0}}});
}

Result<SessionState> SessionStore::load_or_create(const SessionId& session, bool& created) {
  Result<SessionState> state = load(store_, key_of(session));
  created = false;
  if (state || state.error().code() != ErrorCode::kNoSession) return state;
  const Time now = clock_.now();
  Session made;
  made.created_at = now;
  BranchHead main{.id = main_branch(), .created_at = now, .last_activity = now};
  const Result<Revision> first = commit_changes(session, std::nullopt, {PutSession{made}, PutBranch{main}});
  // Somebody else may have made it in between: then theirs is meant.
  if (!first && first.error().code() != ErrorCode::kSessionExists) return first.error();
  created = first.ok();
  return load(store_, key_of(session));
}

Result<SessionAndBranch> SessionStore::load_session_and_branch(const SessionId& session,
                                                               const std::optional<BranchId>& branch) {
  if (branch && *branch != main_branch()) {
    // A branch other than `main` cannot be in a session that is only made here.
    TERTULIA_TRY(load(store_, key_of(session)));
  }
  SessionAndBranch loaded;
  TERTULIA_TRY_AS(SessionState state, load_or_create(session, loaded.created));
  TERTULIA_TRY_AS(const BranchChoice choice, resolve_branch(infos_of(state.branches), branch));
  if (choice.create) {
    const Time now = clock_.now();
    BranchHead main{.id = choice.id, .created_at = now, .last_activity = now};
    TERTULIA_TRY(commit_changes(session, state.session.revision, {PutBranch{std::move(main)}}));
    TERTULIA_TRY_AS(state, load(store_, key_of(session)));
  }
  const BranchHead* head = find(state, choice.id);
  if (head == nullptr)
    return Error(ErrorCode::kNoBranch, "branch '" + choice.id.text() + "' was deleted just now");
  TERTULIA_TRY_AS(loaded.branch, tertulia::load_branch(store_, key_of(session), *head));
  loaded.session = std::move(state.session);
  return loaded;
}

Result<Revision> SessionStore::append_turn(const SessionId& session, Revision expected, AppendTurn append) {
  std::vector<Change> changes;
  changes.emplace_back(std::move(append));
  return commit_changes(session, expected, std::move(changes));
}

Result<Revision> SessionStore::fork_branch(const SessionId& session, const BranchId& parent,
                                           std::int64_t at_index, const BranchId& id) {
  TERTULIA_TRY_AS(const SessionState state, load(store_, key_of(session)));
  TERTULIA_TRY(resolve_branch(infos_of(state.branches), parent));
  const BranchHead* head = find(state, parent);
  if (head == nullptr)
    return Error(ErrorCode::kNoBranch, "the session has no branch '" + parent.text() + "'");
  if (find(state, id) != nullptr) {
    return Error(ErrorCode::kBranchExists, "the session has a branch '" + id.text() + "' already");
  }
  // The turn around the point is enough to find it legal; only a refusal needs the whole branch, to name
  // others.
  bool legal = false;
  if (at_index >= 0 && static_cast<std::uint64_t>(at_index) < head->message_count) {
    const auto index = static_cast<std::uint64_t>(at_index);
    TERTULIA_TRY_AS(
        const std::vector<StoredTurn> turns,
        read_turns(store_, key_of(session), {.branch = parent, .begin = index, .end = index + 1}));
    Transcript around;
    for (const StoredTurn& stored : turns) TERTULIA_TRY(around.try_append(stored.turn, stored.revision));
    legal = !turns.empty() &&
            check_fork_point(around, static_cast<std::int64_t>(index - turns.front().first_index)).ok();
  }
  if (!legal) {
    TERTULIA_TRY_AS(const Branch whole, tertulia::load_branch(store_, key_of(session), *head));
    TERTULIA_TRY(check_fork_point(whole.transcript, at_index));
  }
  const Time now = clock_.now();
  BranchHead fork{.id = id,
                  .forked_from = ForkOrigin{.parent = parent, .at_index = static_cast<std::size_t>(at_index)},
                  .state = head->state,
                  .created_at = now,
                  .last_activity = now};
  return commit_changes(session, state.session.revision, {PutBranch{std::move(fork)}});
}

Result<Revision> SessionStore::put_fork(const Branch& fork) {
  TERTULIA_TRY_AS(const SessionState state, load(store_, key_of(fork.session)));
  const BranchHead* parent = fork.forked_from ? find(state, fork.forked_from->parent) : nullptr;
  if (parent == nullptr) {
    return Error(ErrorCode::kNoBranch,
                 "branch '" + fork.id.text() + "' was forked from one that is not there");
  }
  if (find(state, fork.id) != nullptr) {
    return Error(ErrorCode::kBranchExists, "the session has a branch '" + fork.id.text() + "' already");
  }
  const std::uint64_t last = fork.forked_from->at_index;
  MessageId stored_last;
  if (last < parent->message_count) {
    TERTULIA_TRY_AS(
        const std::vector<StoredTurn> turns,
        read_turns(store_, key_of(fork.session), {.branch = parent->id, .begin = last, .end = last + 1}));
    if (!turns.empty() && last - turns[0].first_index < turns[0].turn.messages().size())
      stored_last = turns[0].turn.messages()[last - turns[0].first_index].id();
  }
  if (last >= fork.transcript.size() || fork.transcript[last].id() != stored_last) {
    return differs(
        fork, state.session.revision,
        "message " + std::to_string(last) + " of '" + parent->id.text() + "' is not the one that is stored");
  }
  return commit_changes(fork.session, state.session.revision, {PutBranch{head_of(fork)}});
}

}  // namespace tertulia
