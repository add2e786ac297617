// Making sessions, writing their fields and turns, and who may.
#include <utility>

#include "store_cases.h"

namespace tertulia {

namespace {

using Trial = StoreTrial;

void creating(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"create", std::move(name), run}); };
  add("the first commit makes revision one", [](Trial& t) {
    t.expect(t.create(Trial::key()) == Revision{1}, "the first commit gives revision 1");
    t.expect(t.revision(Trial::key()) == Revision{1}, "a loaded session has revision 1");
  });
  add("a new session has the ids of its key", [](Trial& t) {
    t.create(Trial::key("a", "b", "c"));
    const Session session = t.state(Trial::key("a", "b", "c")).session;
    t.expect(session.id.text() == "a" && session.owner.text() == "b" && session.tenant.text() == "c",
             "the key's ids stand in the session");
  });
  add("a new session is active and has its branch", [](Trial& t) {
    t.create(Trial::key());
    const SessionState state = t.state(Trial::key());
    t.expect(state.session.status == SessionStatus::kActive, "it is active");
    t.expect(state.branches.size() == 1 && state.branches[0].id == main_branch(), "it has main");
    t.expect(state.branches[0].message_count == 0, "main is empty");
  });
  add("a session may begin without branches", [](Trial& t) {
    Commit first = Trial::first(Trial::key());
    first.changes.pop_back();
    t.expect(commit(t.store(), first).ok(), "it is made");
    t.expect(t.state(Trial::key()).branches.empty(), "it has no branch");
  });
  add("a session and its first turn are one commit", [](Trial& t) {
    Commit first = Trial::first(Trial::key());
    first.changes.emplace_back(AppendTurn{.branch = main_branch(), .turn = Trial::turn(0)});
    t.expect(commit(t.store(), first).value() == Revision{1}, "it is revision 1");
    t.expect(t.numbers(Trial::key()) == std::vector<std::uint64_t>{0, 1}, "the turn is there");
  });
  add("a session is not made twice", [](Trial& t) {
    t.create_with_turns(Trial::key(), 1);
    t.refused(commit(t.store(), Trial::first(Trial::key())), ErrorCode::kSessionExists, "a second creation");
    t.expect(t.numbers(Trial::key()).size() == 2, "the first session is untouched");
    t.expect(t.revision(Trial::key()) == Revision{2}, "its revision stays");
  });
  add("a session cannot be made without its fields", [](Trial& t) {
    Commit first = Trial::first(Trial::key());
    first.changes.erase(first.changes.begin());
    t.refused(commit(t.store(), first), ErrorCode::kMissingField, "a first commit without PutSession");
    t.refused(load(t.store(), Trial::key()), ErrorCode::kNoSession, "loading it");
  });
  add("a refused creation leaves nothing", [](Trial& t) {
    Commit first = Trial::first(Trial::key());
    first.changes.emplace_back(AppendTurn{.branch = Trial::branch("nowhere"), .turn = Trial::turn(0)});
    t.refused(commit(t.store(), first), ErrorCode::kNoBranch, "a turn on a branch that is not there");
    t.refused(load(t.store(), Trial::key()), ErrorCode::kNoSession, "loading it");
    t.expect(t.listed({.tenant = Trial::key().tenant}).empty(), "nothing is listed");
    t.expect(t.create(Trial::key()) == Revision{1}, "it can be made afterwards");
  });
  add("the same id under two owners is two sessions", [](Trial& t) {
    t.create_with_turns(Trial::key("s", "ann"), 1);
    t.create(Trial::key("s", "bob"));
    t.expect(t.numbers(Trial::key("s", "ann")).size() == 2, "ann has her turn");
    t.expect(t.numbers(Trial::key("s", "bob")).empty(), "bob has none");
  });
  add("the same id under two tenants is two sessions", [](Trial& t) {
    t.create_with_turns(Trial::key("s", "o", "red"), 1);
    t.create(Trial::key("s", "o", "blue"));
    t.expect(t.numbers(Trial::key("s", "o", "blue")).empty(), "the other tenant sees nothing of it");
  });
  add("ids that differ in case are different", [](Trial& t) {
    t.create_with_turns(Trial::key("Session"), 1);
    t.create(Trial::key("session"));
    t.expect(t.numbers(Trial::key("session")).empty(), "case counts");
    t.expect(t.numbers(Trial::key("Session")).size() == 2, "case counts");
  });
  add("ids in the fields must be those of the key", [](Trial& t) {
    Commit first = Trial::first(Trial::key());
    std::get<PutSession>(first.changes[0]).session.id = SessionId::parse("other").value();
    t.refused(commit(t.store(), first), ErrorCode::kBadId, "another id in the fields");
  });
}

void committing(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"commit", std::move(name), run}); };
  add("a session that is not there cannot be written", [](Trial& t) {
    t.refused(t.append(Trial::key(), Revision{1}, Trial::turn(0)), ErrorCode::kNoSession, "a turn");
    t.refused(load(t.store(), Trial::key()), ErrorCode::kNoSession, "loading it");
  });
  add("each commit raises the revision by one", [](Trial& t) {
    Revision revision = t.create(Trial::key());
    for (std::uint64_t i = 0; i < 20; ++i) {
      const Revision after = t.append(Trial::key(), revision, Trial::turn(2 * i)).value();
      t.expect(after == next(revision), "the revision rises by exactly one");
      revision = after;
    }
    t.expect(t.revision(Trial::key()) == Revision{21}, "the session says so");
  });
  add("of two writers that saw the same revision one wins", [](Trial& t) {
    const Revision seen = t.create(Trial::key());
    t.expect(t.append(Trial::key(), seen, Trial::turn(0)).ok(), "the first wins");
    t.conflicts(t.append(Trial::key(), seen, Trial::turn(10)), 2);
    t.expect(t.numbers(Trial::key()) == std::vector<std::uint64_t>{0, 1}, "only the winner's turn is there");
  });
  add("writers of different branches are put into an order too", [](Trial& t) {
    Revision seen = t.create_with_turns(Trial::key(), 1);
    seen = t.fork(Trial::key(), seen, "main", 1, "b").value();
    t.expect(t.append(Trial::key(), seen, Trial::turn(10), "b").ok(), "the first wins");
    t.conflicts(t.append(Trial::key(), seen, Trial::turn(20), "main"), number(seen) + 1);
  });
  add("a revision of the future is a conflict", [](Trial& t) {
    t.create(Trial::key());
    t.conflicts(t.append(Trial::key(), Revision{7}, Trial::turn(0)), 1);
  });
  add("revision zero is no way around the check", [](Trial& t) {
    t.create(Trial::key());
    t.conflicts(t.append(Trial::key(), Revision{0}, Trial::turn(0)), 1);
  });
  add("the loser can load and go on", [](Trial& t) {
    const Revision seen = t.create(Trial::key());
    t.append(Trial::key(), seen, Trial::turn(0)).value();
    t.conflicts(t.append(Trial::key(), seen, Trial::turn(2)), 2);
    t.expect(t.append(Trial::key(), t.revision(Trial::key()), Trial::turn(2)).value() == Revision{3},
             "it goes on");
    t.expect(t.numbers(Trial::key()) == std::vector<std::uint64_t>{0, 1, 2, 3},
             "in the order of the commits");
  });
  add("an empty commit is refused", [](Trial& t) {
    t.create(Trial::key());
    t.refused(commit(t.store(), Trial::of(Trial::key(), Revision{1}, {})), ErrorCode::kMissingField,
              "a commit of nothing");
    t.expect(t.revision(Trial::key()) == Revision{1}, "the revision stays");
  });
  add("a commit is all or nothing", [](Trial& t) {
    const Revision seen = t.create_with_turns(Trial::key(), 1);
    Session renamed = Trial::session();
    renamed.metadata.set("color", "red");
    const StreamId asset{.kind = RecordKind::kAsset};
    t.refused(commit(t.store(), Trial::of(Trial::key(), seen,
                                          {PutSession{renamed}, PutBranch{Trial::head(Trial::branch("b"))},
                                           AppendTurn{.branch = main_branch(), .turn = Trial::turn(2)},
                                           AddRecord{Trial::record(asset, 1)},
                                           DropBranches{{Trial::branch("not-there")}}})),
              ErrorCode::kNoBranch, "a commit whose last change is wrong");
    const SessionState state = t.state(Trial::key());
    t.expect(state.session.revision == seen, "the revision stays");
    t.expect(state.session.metadata.empty(), "the fields stay");
    t.expect(state.branches.size() == 1, "no branch was made");
    t.expect(t.numbers(Trial::key()).size() == 2, "no turn was added");
    t.expect(t.records(Trial::key(), RecordKind::kAsset).empty(), "no record was added");
    t.verified();
  });
  add("a commit of many changes is one revision", [](Trial& t) {
    const Revision seen = t.create_with_turns(Trial::key(), 1);
    const ForkOrigin origin{.parent = main_branch(), .at_index = 3};
    const Revision after =
        commit(t.store(), Trial::of(Trial::key(), seen,
                                    {AppendTurn{.branch = main_branch(), .turn = Trial::turn(2)},
                                     PutBranch{Trial::head(Trial::branch("b"), origin)},
                                     AppendTurn{.branch = Trial::branch("b"), .turn = Trial::turn(10)},
                                     AddRecord{Trial::record({.kind = RecordKind::kAsset}, 1)}}))
            .value();
    t.expect(after == next(seen), "one revision");
    t.expect(t.numbers(Trial::key(), "b") == std::vector<std::uint64_t>{0, 1, 2, 3, 10, 11},
             "the fork has its turn");
    t.expect(t.turns(Trial::key(), "b").back().revision == after, "its turn has that revision");
  });
  add("a commit holds one turn for a branch", [](Trial& t) {
    const Revision seen = t.create(Trial::key());
    t.refused(commit(t.store(), Trial::of(Trial::key(), seen,
                                          {AppendTurn{.branch = main_branch(), .turn = Trial::turn(0)},
                                           AppendTurn{.branch = main_branch(), .turn = Trial::turn(2)}})),
              ErrorCode::kDuplicateKey, "two turns for one branch");
    t.expect(t.numbers(Trial::key()).empty(), "nothing was added");
  });
  add("a turn brings the state of its branch", [](Trial& t) {
    const Revision seen = t.create(Trial::key());
    const MiddlewareState state{{"counter", JsonText::of(Json(1))}};
    commit(t.store(),
           Trial::of(Trial::key(), seen,
                     {AppendTurn{
                         .branch = main_branch(), .turn = Trial::turn(0), .tool_calls = {}, .state = state}}))
        .value();
    t.expect(t.state(Trial::key()).branches[0].state == state, "the state is there");
    t.append(Trial::key(), next(seen), Trial::turn(2)).value();
    t.reopen();
    t.expect(t.state(Trial::key()).branches[0].state == state, "a turn without one leaves it");
  });
  add("a turn moves the last activity of session and branch", [](Trial& t) {
    const Revision seen = t.create(Trial::key());
    t.append(Trial::key(), seen, Trial::turn(0), "main", 55).value();
    t.reopen();
    const SessionState state = t.state(Trial::key());
    t.expect(state.session.last_activity == Trial::at(55), "the session's");
    t.expect(state.branches[0].last_activity == Trial::at(55), "the branch's");
  });
  add("a clock that goes back loses nothing", [](Trial& t) {
    Revision seen = t.create(Trial::key(), 100);
    seen = t.append(Trial::key(), seen, Trial::turn(0), "main", 90).value();
    seen = t.append(Trial::key(), seen, Trial::turn(2), "main", 10).value();
    t.reopen();
    t.expect(t.numbers(Trial::key()) == std::vector<std::uint64_t>{0, 1, 2, 3},
             "order is by commits, not by time");
    t.expect(t.state(Trial::key()).session.last_activity == Trial::at(10), "the last commit says when");
  });
  add("turns carry the revision of their commit", [](Trial& t) {
    t.create_with_turns(Trial::key(), 3);
    const std::vector<StoredTurn> turns = t.turns(Trial::key());
    t.expect(turns.size() == 3, "three turns");
    for (std::size_t i = 0; i < turns.size(); ++i) {
      t.expect(turns[i].revision == Revision{i + 2}, "revisions 2, 3, 4");
      t.expect(turns[i].turn.id() == Trial::turn(2 * i).id(), "the turn's own id");
      t.expect(turns[i].first_index == 2 * i, "its place");
    }
  });
}

void fields(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"fields", std::move(name), run}); };
  add("every field of a session comes back", [](Trial& t) {
    Commit first = Trial::first(Trial::key());
    Session& session = std::get<PutSession>(first.changes[0]).session;
    session.metadata = {
        {"color", "red"}, {"size", 3}, {"nested", JsonObject{{"a", JsonArray{1, nullptr, true}}}}};
    session.state = {{"permissions", JsonText::parse(R"({"find":"always"})").value()}};
    session.participants.push_back({.id = ParticipantId::parse("writer").value(),
                                    .agent = AgentId::parse("agent-1").value(),
                                    .description = "escreve à mão"});
    session.attachments.push_back({.name = "ação.txt", .media_type = "text/plain", .bytes = 12});
    Session expected = session;
    expected.id = Trial::key().session;
    expected.owner = Trial::key().owner;
    expected.tenant = Trial::key().tenant;
    expected.revision = Revision{1};
    expected.last_activity = Trial::at(0);
    commit(t.store(), first).value();
    t.expect(t.state(Trial::key()).session == expected, "what was written is read");
    t.reopen();
    t.expect(t.state(Trial::key()).session == expected, "also after a restart");
  });
  add("later fields replace the earlier ones", [](Trial& t) {
    const Revision seen = t.create(Trial::key());
    Session session = Trial::session();
    session.metadata.set("color", "red");
    commit(t.store(), Trial::of(Trial::key(), seen, {PutSession{session}})).value();
    session.metadata.set("color", "blue");
    commit(t.store(), Trial::of(Trial::key(), next(seen), {PutSession{session}})).value();
    t.expect(t.state(Trial::key()).session.metadata == session.metadata, "the last one counts");
    t.expect(t.revision(Trial::key()) == Revision{3}, "each was a commit");
  });
  add("the time of creation never changes", [](Trial& t) {
    const Revision seen = t.create(Trial::key());
    Session session = Trial::session();
    session.created_at = Trial::at(999);
    commit(t.store(), Trial::of(Trial::key(), seen, {PutSession{session}})).value();
    t.expect(t.state(Trial::key()).session.created_at == Trial::at(0), "it is that of the first commit");
  });
  add("the revision in the fields is ignored", [](Trial& t) {
    const Revision seen = t.create(Trial::key());
    Session session = Trial::session();
    session.revision = Revision{77};
    t.expect(commit(t.store(), Trial::of(Trial::key(), seen, {PutSession{session}})).value() == Revision{2},
             "the store counts by itself");
    t.expect(t.revision(Trial::key()) == Revision{2}, "the store counts by itself");
  });
  add("writing fields leaves branches and turns alone", [](Trial& t) {
    const Revision seen = t.create_with_turns(Trial::key(), 2);
    commit(t.store(), Trial::of(Trial::key(), seen, {PutSession{Trial::session()}})).value();
    t.expect(t.numbers(Trial::key()).size() == 4, "the turns are there");
  });
  add("a closed session says why and can be read", [](Trial& t) {
    const Revision seen = t.create_with_turns(Trial::key(), 1);
    Session session = Trial::session();
    session.status = SessionStatus::kClosed;
    session.end_reason = EndReason::kIdleTimeout;
    commit(t.store(), Trial::of(Trial::key(), seen, {PutSession{session}})).value();
    t.reopen();
    const Session read = t.state(Trial::key()).session;
    t.expect(read.status == SessionStatus::kClosed && read.end_reason == EndReason::kIdleTimeout,
             "closed, and why");
    t.expect(t.numbers(Trial::key()).size() == 2, "it can be read");
  });
  add("a closed session can be opened again", [](Trial& t) {
    Revision seen = t.create(Trial::key());
    Session session = Trial::session();
    session.status = SessionStatus::kClosed;
    session.end_reason = EndReason::kUserClosed;
    seen = commit(t.store(), Trial::of(Trial::key(), seen, {PutSession{session}})).value();
    seen = commit(t.store(), Trial::of(Trial::key(), seen, {PutSession{Trial::session()}})).value();
    t.expect(t.state(Trial::key()).session.status == SessionStatus::kActive, "it is active");
    t.expect(t.append(Trial::key(), seen, Trial::turn(0)).ok(), "and takes turns");
  });
  add("closed without a reason is refused", [](Trial& t) {
    const Revision seen = t.create(Trial::key());
    Session session = Trial::session();
    session.status = SessionStatus::kClosed;
    t.refused(commit(t.store(), Trial::of(Trial::key(), seen, {PutSession{session}})),
              ErrorCode::kMissingField, "a closed session without an end reason");
  });
  add("metadata over its limit is refused", [](Trial& t) {
    const Revision seen = t.create(Trial::key());
    Session session = Trial::session();
    session.metadata.set("long", std::string(kMaxMetadataBytes, 'x'));
    t.refused(commit(t.store(), Trial::of(Trial::key(), seen, {PutSession{session}})), ErrorCode::kTooLarge,
              "too much metadata");
    t.expect(t.revision(Trial::key()) == seen, "nothing changed");
  });
  add("text that is not Unicode is refused in fields", [](Trial& t) {
    const Revision seen = t.create(Trial::key());
    Session session = Trial::session();
    session.metadata.set("bad", std::string("\xff\xfe"));
    t.refused(commit(t.store(), Trial::of(Trial::key(), seen, {PutSession{session}})), ErrorCode::kBadUnicode,
              "metadata that is not UTF-8");
  });
}

}  // namespace

void add_commit_cases(std::vector<StoreCase>& cases) {
  creating(cases);
  committing(cases);
  fields(cases);
}

}  // namespace tertulia
