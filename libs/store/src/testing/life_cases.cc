// Restarts and erasing: what must stay, and what must go.
#include <utility>

#include "store_cases.h"

namespace tertulia {

namespace {

using Trial = StoreTrial;
using Numbers = std::vector<std::uint64_t>;

EraseScope scope_of(const SessionKey& key) {
  return {.tenant = key.tenant, .owner = key.owner, .session = key.session};
}

// A session with everything in it: turns, a fork, tool calls, records of several kinds, metadata.
Revision make_full(Trial& t, const SessionKey& key) {
  Revision seen = t.create_with_turns(key, 2);
  seen = t.fork(key, seen, "main", 1, "b").value();
  AppendTurn append{.branch = Trial::branch("b"), .turn = Trial::tool_turn(100)};
  append.tool_calls = {Trial::tool_call(100)};
  seen = commit(t.store(), Trial::of(key, seen, {append})).value();
  t.add_note(key, Trial::record({.kind = RecordKind::kJournal, .branch = main_branch()}, 1, "steps")).value();
  t.add_note(key, Trial::record({.kind = RecordKind::kAsset}, 1, "bytes")).value();
  return seen;
}

// Everything of a session that can be read, as one text: to compare before and after.
std::string everything(Trial& t, const SessionKey& key) {
  const SessionState state = t.state(key);
  std::string all = std::to_string(number(state.session.revision)) + to_text(Json(state.session.metadata));
  for (const BranchHead& head : state.branches) {
    all += "|" + head.id.text() + head.label + std::to_string(head.message_count);
    for (const StoredTurn& stored : t.turns(key, head.id.text())) {
      all += "," + stored.turn.id().text() + std::to_string(number(stored.revision));
      for (const Message& message : stored.turn.messages()) all += message.block();
    }
  }
  for (int kind = 0; kind <= static_cast<int>(RecordKind::kMemory); ++kind) {
    for (const Record& record : t.records(key, static_cast<RecordKind>(kind))) {
      all += ";" + record.stream.branch.text() + record.stream.scope + std::to_string(record.number) +
             record.key + record.name + record.payload;
    }
  }
  return all;
}

void gone(Trial& t, const SessionKey& key) {
  t.refused(load(t.store(), key), ErrorCode::kNoSession, "loading what was erased");
  t.refused(read_turns(t.store(), key, {.branch = main_branch()}), ErrorCode::kNoSession,
            "reading its turns");
  t.refused(read_records(t.store(), Trial::query(key, RecordKind::kAsset)), ErrorCode::kNoSession,
            "reading its records");
  t.refused(t.add_note(key, Trial::record({.kind = RecordKind::kAsset}, 2)), ErrorCode::kNoSession,
            "adding a record");
  RecordQuery query = Trial::query(key, RecordKind::kToolCall);
  query.session = {};
  for (const StoredRecord& stored : read_records(t.store(), query).value().records) {
    t.expect(stored.session != key.session, "its tool calls are not found");
  }
}

void restarting(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"restart", std::move(name), run}); };
  add("an empty store stays empty", [](Trial& t) {
    t.reopen();
    t.expect(t.listed({.tenant = Trial::key().tenant}).empty(), "nothing");
    t.expect(verify(t.store()).value().sessions == 0, "nothing");
  });
  add("a restart changes not a byte", [](Trial& t) {
    make_full(t, Trial::key());
    const std::string before = everything(t, Trial::key());
    for (int i = 0; i < 3; ++i) {
      t.reopen();
      t.expect(everything(t, Trial::key()) == before, "everything is as it was");
    }
    t.verified();
  });
  add("the last commit before a restart is there", [](Trial& t) {
    Revision seen = t.create(Trial::key());
    for (std::uint64_t i = 0; i < 10; ++i) {
      seen = t.append(Trial::key(), seen, Trial::turn(2 * i)).value();
      t.reopen();
      t.expect(t.revision(Trial::key()) == seen, "the revision that was acknowledged");
      t.expect(t.numbers(Trial::key()).size() == 2 * i + 2, "with its turn");
    }
  });
  add("the last note before a restart is there", [](Trial& t) {
    t.create(Trial::key());
    const StreamId journal{.kind = RecordKind::kJournal, .branch = main_branch()};
    for (std::uint64_t n = 1; n <= 5; ++n) {
      t.add_note(Trial::key(), Trial::record(journal, n)).value();
      t.reopen();
      t.expect(t.records(Trial::key(), RecordKind::kJournal).size() == n, "each step");
    }
  });
  add("a stale writer is still stale after a restart", [](Trial& t) {
    const Revision seen = t.create(Trial::key());
    t.append(Trial::key(), seen, Trial::turn(0)).value();
    t.reopen();
    t.conflicts(t.append(Trial::key(), seen, Trial::turn(2)), 2);
    t.refused(commit(t.store(), Trial::first(Trial::key())), ErrorCode::kSessionExists, "making it again");
  });
  add("work goes on after a restart", [](Trial& t) {
    Revision seen = make_full(t, Trial::key());
    t.reopen();
    seen = t.append(Trial::key(), seen, Trial::turn(200), "b").value();
    seen = t.fork(Trial::key(), seen, "b", 1, "c").value();
    t.reopen();
    seen = t.append(Trial::key(), seen, Trial::turn(300), "c").value();
    t.expect(t.numbers(Trial::key(), "c") == Numbers{0, 1, 300, 301}, "the new fork");
    t.expect(t.numbers(Trial::key(), "b") == Numbers{0, 1, 100, 101, 102, 103, 200, 201}, "the old fork");
    t.verified();
  });
  add("a refused commit is not there after a restart", [](Trial& t) {
    const Revision seen = t.create_with_turns(Trial::key(), 1);
    t.refused(t.append(Trial::key(), Revision{9}, Trial::turn(2)), ErrorCode::kRevisionConflict,
              "a conflict");
    t.reopen();
    t.expect(t.revision(Trial::key()) == seen && t.numbers(Trial::key()).size() == 2, "nothing of it");
  });
  add("a deleted branch stays deleted", [](Trial& t) {
    const Revision seen = make_full(t, Trial::key());
    t.drop(Trial::key(), seen, {Trial::branch("b")}).value();
    t.reopen();
    t.expect(t.state(Trial::key()).branches.size() == 1, "it is gone");
    t.expect(t.records(Trial::key(), RecordKind::kToolCall).empty(), "with its tool calls");
  });
  add("a hundred sessions are there after a restart", [](Trial& t) {
    for (int i = 0; i < 100; ++i) t.create_with_turns(Trial::key("s" + std::to_string(i)), 1);
    t.reopen();
    t.expect(t.listed({.tenant = Trial::key().tenant}).size() == 100, "all are listed");
    for (int i = 0; i < 100; i += 7)
      t.expect(t.numbers(Trial::key("s" + std::to_string(i))).size() == 2, "and read");
  });
}

void erasing(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"erase", std::move(name), run}); };
  add("an erased session is gone and the others stay", [](Trial& t) {
    make_full(t, Trial::key("a"));
    make_full(t, Trial::key("b"));
    make_full(t, Trial::key("a", "other"));
    const std::string b = everything(t, Trial::key("b"));
    const std::string other = everything(t, Trial::key("a", "other"));
    erase(t.store(), scope_of(Trial::key("a"))).value();
    for (int i = 0; i < 2; ++i) {
      gone(t, Trial::key("a"));
      t.expect(everything(t, Trial::key("b")) == b, "the owner's other session is as it was");
      t.expect(everything(t, Trial::key("a", "other")) == other, "the other owner's is as it was");
      t.expect(t.listed({.tenant = Trial::key().tenant}).size() == 2, "two are listed");
      t.reopen();
    }
    t.verified();
  });
  add("erasing an owner takes all of theirs and nothing else", [](Trial& t) {
    for (const char* name : {"a", "b", "c"}) make_full(t, Trial::key(name, "ann"));
    make_full(t, Trial::key("a", "ann2"));
    make_full(t, Trial::key("a", "an"));
    make_full(t, Trial::key("a", "ann", "other"));
    const SessionKey ann = Trial::key("a", "ann");
    const EraseReport report =
        erase(t.store(), {.tenant = ann.tenant, .owner = ann.owner, .session = std::nullopt}).value();
    t.expect(report.sessions == 3, "three sessions");
    for (const char* name : {"a", "b", "c"}) gone(t, Trial::key(name, "ann"));
    t.expect(t.listed({.tenant = ann.tenant}).size() == 2, "names that look alike stay");
    t.expect(t.numbers(Trial::key("a", "ann", "other")).size() == 4, "the same name elsewhere stays");
  });
  add("the report counts what went", [](Trial& t) {
    make_full(t, Trial::key());
    const EraseReport report = erase(t.store(), scope_of(Trial::key())).value();
    t.expect(report.sessions == 1 && report.branches == 2, "one session with two branches");
    t.expect(report.turns == 3, "three turns: a fork's shared ones count once");
    t.expect(report.records == 3, "a journal entry, an asset and a tool call");
  });
  add("erasing what is not there reports zeros", [](Trial& t) {
    make_full(t, Trial::key());
    const EraseReport report = erase(t.store(), scope_of(Trial::key("ghost"))).value();
    t.expect(report.sessions == 0 && report.branches == 0 && report.turns == 0 && report.records == 0,
             "zeros");
    const EraseReport again = erase(t.store(), scope_of(Trial::key("s", "ghost"))).value();
    t.expect(again.sessions == 0, "also for an owner");
    t.expect(t.numbers(Trial::key()).size() == 4, "and nothing went");
  });
  add("erasing twice is fine", [](Trial& t) {
    make_full(t, Trial::key());
    erase(t.store(), scope_of(Trial::key())).value();
    t.expect(erase(t.store(), scope_of(Trial::key())).value().sessions == 0, "nothing is left");
  });
  add("an erased id can be used again and begins empty", [](Trial& t) {
    make_full(t, Trial::key());
    erase(t.store(), scope_of(Trial::key())).value();
    t.expect(t.create(Trial::key()) == Revision{1}, "from revision 1");
    t.expect(t.numbers(Trial::key()).empty(), "without the old turns");
    t.expect(t.records(Trial::key(), RecordKind::kAsset).empty(), "without the old records");
    t.expect(t.add_note(Trial::key(), Trial::record({.kind = RecordKind::kAsset}, 1)).ok(),
             "numbers begin again");
    t.reopen();
    t.expect(t.state(Trial::key()).branches.size() == 1, "also after a restart");
    t.verified();
  });
  add("erasing without a name is refused", [](Trial& t) {
    make_full(t, Trial::key());
    t.refused(erase(t.store(), {}), ErrorCode::kMissingField, "no tenant and no owner");
    t.refused(erase(t.store(), {.tenant = Trial::key().tenant, .owner = {}, .session = std::nullopt}),
              ErrorCode::kMissingField, "no owner");
    t.expect(t.numbers(Trial::key()).size() == 4, "nothing went");
  });
  add("a sound store verifies and counts", [](Trial& t) {
    make_full(t, Trial::key("a"));
    make_full(t, Trial::key("b"));
    const VerifyReport report = verify(t.store()).value();
    t.expect(report.sessions == 2 && report.turns == 6 && report.records == 6, "it has seen everything");
    t.expect(report.problems.empty(), "and finds nothing wrong");
  });
}

}  // namespace

void add_life_cases(std::vector<StoreCase>& cases) {
  restarting(cases);
  erasing(cases);
}

}  // namespace tertulia
