// Forks, what they see, and what deleting one does.
#include <utility>

#include "store_cases.h"

namespace tertulia {

namespace {

using Trial = StoreTrial;
using Numbers = std::vector<std::uint64_t>;

void forking(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"fork", std::move(name), run}); };
  add("a fork begins with its parent's messages", [](Trial& t) {
    const Revision seen = t.create_with_turns(key(), 3);
    t.fork(key(), seen, "main", 3, "b").value();
    t.expect(t.numbers(key(), "b") == Numbers{0, 1, 2, 3}, "messages 0 to 3, the last one included");
  });
  add("a fork does not see what its parent says later", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 2);
    seen = t.fork(key(), seen, "main", 3, "b").value();
    t.append(key(), seen, Trial::turn(100)).value();
    t.expect(t.numbers(key(), "b") == Numbers{0, 1, 2, 3}, "the fork stays as it was");
    t.reopen();
    t.expect(t.numbers(key(), "b") == Numbers{0, 1, 2, 3}, "also after a restart");
  });
  add("a parent does not see what its fork says", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 2);
    seen = t.fork(key(), seen, "main", 1, "b").value();
    t.append(key(), seen, Trial::turn(100), "b").value();
    t.expect(t.numbers(key(), "main") == Numbers{0, 1, 2, 3}, "the parent stays as it was");
    t.expect(t.numbers(key(), "b") == Numbers{0, 1, 100, 101}, "the fork goes its way");
  });
  add("a fork of a fork sees both its ancestors", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 2);
    seen = t.fork(key(), seen, "main", 1, "b").value();
    seen = t.append(key(), seen, Trial::turn(100), "b").value();
    seen = t.fork(key(), seen, "b", 3, "c").value();
    seen = t.append(key(), seen, Trial::turn(200), "c").value();
    t.expect(t.numbers(key(), "c") == Numbers{0, 1, 100, 101, 200, 201}, "in order");
    t.reopen();
    t.expect(t.numbers(key(), "c") == Numbers{0, 1, 100, 101, 200, 201}, "also after a restart");
  });
  add("a fork of a fork may lie in the first parent's part", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 3);
    seen = t.fork(key(), seen, "main", 5, "b").value();
    seen = t.append(key(), seen, Trial::turn(100), "b").value();
    t.fork(key(), seen, "b", 1, "c").value();
    t.expect(t.numbers(key(), "c") == Numbers{0, 1}, "only the first turn");
  });
  add("a fork inside a turn keeps its part of it", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 2);
    seen = t.fork(key(), seen, "main", 2, "b").value();
    t.expect(t.numbers(key(), "b") == Numbers{0, 1, 2}, "the question without its answer");
    t.append(key(), seen, Trial::turn(100), "b").value();
    t.expect(t.numbers(key(), "b") == Numbers{0, 1, 2, 100, 101}, "and goes on from there");
    t.expect(t.numbers(key(), "main") == Numbers{0, 1, 2, 3}, "the parent keeps its turn whole");
  });
  add("a fork keeps whole tool groups", [](Trial& t) {
    Revision seen = t.create(key());
    seen = t.append(key(), seen, Trial::tool_turn(0)).value();
    t.fork(key(), seen, "main", 2, "b").value();
    t.expect(t.numbers(key(), "b") == Numbers{0, 1, 2}, "the call with its result");
  });
  add("a fork point beyond the end is refused", [](Trial& t) {
    const Revision seen = t.create_with_turns(key(), 1);
    t.refused(t.fork(key(), seen, "main", 2, "b"), ErrorCode::kBadForkPoint, "message 2 of two");
    t.expect(t.state(key()).branches.size() == 1, "nothing was made");
  });
  add("an empty branch cannot be forked", [](Trial& t) {
    const Revision seen = t.create(key());
    t.refused(t.fork(key(), seen, "main", 0, "b"), ErrorCode::kBadForkPoint, "a fork of nothing");
  });
  add("a fork of nobody is refused", [](Trial& t) {
    const Revision seen = t.create_with_turns(key(), 1);
    t.refused(t.fork(key(), seen, "ghost", 0, "b"), ErrorCode::kNoBranch, "a parent that is not there");
    t.refused(t.fork(key(), seen, "b", 0, "b"), ErrorCode::kNoBranch, "a branch forked from itself");
  });
  add("a name is not forked over", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 2);
    seen = t.fork(key(), seen, "main", 1, "b").value();
    t.refused(t.fork(key(), seen, "main", 3, "b"), ErrorCode::kBranchExists, "the name of another fork");
    t.refused(t.fork(key(), seen, "b", 0, "main"), ErrorCode::kBranchExists, "the name of main");
    t.expect(t.numbers(key(), "b") == Numbers{0, 1}, "the first fork stays");
  });
  add("the count of messages is with the shared ones", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 2);
    seen = t.fork(key(), seen, "main", 2, "b").value();
    t.append(key(), seen, Trial::turn(100), "b").value();
    t.reopen();
    const SessionState state = t.state(key());
    t.expect(state.branches.size() == 2 && state.branches[0].message_count == 4, "main has 4");
    t.expect(state.branches.size() == 2 && state.branches[1].message_count == 5, "b has 3 and 2");
  });
  add("every field of a branch comes back", [](Trial& t) {
    const Revision seen = t.create_with_turns(key(), 1);
    BranchHead head = Trial::head(Trial::branch("b"), ForkOrigin{.parent = main_branch(), .at_index = 1});
    head.label = "outro caminho 🧭";
    head.description = "two\nlines";
    head.tags = {"a", "b"};
    head.state = {{"m", JsonText::parse(R"({"n":1})").value()}};
    head.created_at = Trial::at(5);
    head.last_activity = Trial::at(6);
    commit(t.store(), Trial::of(key(), seen, {PutBranch{head}})).value();
    head.message_count = 2;
    t.expect(t.state(key()).branches.at(1) == head, "what was written is read");
    t.reopen();
    t.expect(t.state(key()).branches.at(1) == head, "also after a restart");
  });
  add("fields of a branch can be changed but not its origin", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 1);
    seen = t.fork(key(), seen, "main", 1, "b").value();
    BranchHead head = Trial::head(Trial::branch("b"));
    head.label = "renamed";
    head.created_at = Trial::at(500);
    commit(t.store(), Trial::of(key(), seen, {PutBranch{head}})).value();
    const BranchHead read = t.state(key()).branches.at(1);
    t.expect(read.label == "renamed", "the label is new");
    t.expect(read.forked_from == ForkOrigin{.parent = main_branch(), .at_index = 1}, "the origin stays");
    t.expect(read.created_at == Trial::at(0), "the time of its making stays");
    t.expect(t.numbers(key(), "b") == Numbers{0, 1}, "its messages stay");
  });
  add("branches are given in the order they were made", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 1);
    for (const char* name : {"zebra", "ant", "m", "B"}) seen = t.fork(key(), seen, "main", 0, name).value();
    t.reopen();
    std::vector<std::string> names;
    for (const BranchHead& head : t.state(key()).branches) names.push_back(head.id.text());
    t.expect(names == std::vector<std::string>{"main", "zebra", "ant", "m", "B"}, "not by name");
  });
  add("a thousand branches are fine", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 2);
    for (int i = 0; i < 10; ++i) {
      std::vector<Change> changes;
      for (int j = 0; j < 100; ++j) {
        const ForkOrigin origin{.parent = main_branch(), .at_index = static_cast<std::size_t>(j % 4)};
        changes.emplace_back(
            PutBranch{Trial::head(Trial::branch("b" + std::to_string(i * 100 + j)), origin)});
      }
      seen = commit(t.store(), Trial::of(key(), seen, std::move(changes))).value();
    }
    seen = t.append(key(), seen, Trial::turn(100), "b999").value();
    t.reopen();
    t.expect(t.state(key()).branches.size() == 1'001, "all are there");
    t.expect(t.numbers(key(), "b999") == Numbers{0, 1, 2, 3, 100, 101}, "the last can be read");
    t.expect(t.numbers(key(), "b996") == Numbers{0}, "and the one before");
  });
  add("a chain of a hundred forks can be read", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 1);
    std::string parent = "main";
    for (std::uint64_t i = 1; i <= 100; ++i) {
      const std::string name = "f" + std::to_string(i);
      seen = t.fork(key(), seen, parent, 2 * i - 1, name).value();
      seen = t.append(key(), seen, Trial::turn(2 * i), name).value();
      parent = name;
    }
    t.reopen();
    t.expect(t.messages(key(), parent).size() == 202, "every ancestor's part");
    t.expect(t.numbers(key(), "main") == Numbers{0, 1}, "main is as it was");
  });
}

void reading(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"read", std::move(name), run}); };
  add("a branch that is not there cannot be read", [](Trial& t) {
    t.create(key());
    t.refused(read_turns(t.store(), key(), {.branch = Trial::branch("b")}), ErrorCode::kNoBranch,
              "reading it");
    t.refused(t.append(key(), Revision{1}, Trial::turn(0), "b"), ErrorCode::kNoBranch, "adding to it");
  });
  add("a session that is not there cannot be read", [](Trial& t) {
    t.refused(read_turns(t.store(), key(), {.branch = main_branch()}), ErrorCode::kNoSession, "reading it");
    t.refused(load(t.store(), key()), ErrorCode::kNoSession, "loading it");
  });
  add("an empty branch has no turns", [](Trial& t) {
    t.create(key());
    t.expect(t.turns(key()).empty(), "nothing");
  });
  add("a range gives the whole turns that it touches", [](Trial& t) {
    t.create_with_turns(key(), 5);
    const std::vector<StoredTurn> turns = t.turns(key(), "main", 3, 5);
    t.expect(turns.size() == 2 && turns[0].first_index == 2 && turns[1].first_index == 4, "turns 1 and 2");
  });
  add("the end of a branch can be read alone", [](Trial& t) {
    t.create_with_turns(key(), 50);
    const std::vector<StoredTurn> turns = t.turns(key(), "main", 98);
    t.expect(turns.size() == 1 && turns[0].first_index == 98, "the last turn");
  });
  add("one message is found with its turn", [](Trial& t) {
    Revision seen = t.create(key());
    seen = t.append(key(), seen, Trial::tool_turn(0)).value();
    t.append(key(), seen, Trial::turn(4)).value();
    for (std::uint64_t i = 0; i < 4; ++i) {
      const auto turns = t.turns(key(), "main", i, i + 1);
      t.expect(turns.size() == 1 && turns[0].first_index == 0 && turns[0].turn.messages().size() == 4,
               "the first turn, whole");
    }
  });
  add("a range beyond the end is empty", [](Trial& t) {
    t.create_with_turns(key(), 2);
    t.expect(t.turns(key(), "main", 4).empty(), "from the end on");
    t.expect(t.turns(key(), "main", 400, 500).empty(), "far beyond");
    t.expect(t.turns(key(), "main", 2, 2).empty(), "an empty range");
    t.expect(t.turns(key(), "main", 3, 1).empty(), "a range the wrong way round");
  });
  add("a range may begin in the parent and end in the fork", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 3);
    seen = t.fork(key(), seen, "main", 3, "b").value();
    seen = t.append(key(), seen, Trial::turn(100), "b").value();
    const auto turns = t.turns(key(), "b", 2, 5);
    t.expect(turns.size() == 2 && turns[0].first_index == 2 && turns[1].first_index == 4, "one turn of each");
    t.expect(Trial::number_of(turns.back().turn.messages()[0]) == 100, "the fork's own");
    t.expect(t.turns(key(), "b", 4).size() == 1, "only the fork's part");
    t.expect(t.turns(key(), "b", 0, 2).size() == 1, "only the parent's part");
  });
  add("a long branch is read whole and in order", [](Trial& t) {
    t.create_with_turns(key(), 500);
    t.reopen();
    const Numbers numbers = t.numbers(key());
    t.expect(numbers.size() == 1'000, "a thousand messages");
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (!t.expect(numbers[i] == i, "each in its place")) break;
    }
  });
}

void deleting(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"delete", std::move(name), run}); };
  add("a deleted branch is gone and its siblings stay", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 2);
    for (const char* name : {"a", "b", "c"}) {
      seen = t.fork(key(), seen, "main", 1, name).value();
      seen = t.append(key(), seen, Trial::turn(static_cast<std::uint64_t>(name[0]) * 10), name).value();
    }
    seen = t.drop(key(), seen, {Trial::branch("b")}).value();
    t.reopen();
    t.refused(read_turns(t.store(), key(), {.branch = Trial::branch("b")}), ErrorCode::kNoBranch,
              "reading it");
    t.expect(t.numbers(key(), "a") == Numbers{0, 1, 970, 971}, "a is as it was");
    t.expect(t.numbers(key(), "c") == Numbers{0, 1, 990, 991}, "c is as it was");
    t.expect(t.numbers(key(), "main") == Numbers{0, 1, 2, 3}, "main is as it was");
    t.expect(t.state(key()).branches.size() == 3, "three are left");
    t.verified();
  });
  add("main cannot be deleted", [](Trial& t) {
    const Revision seen = t.create_with_turns(key(), 1);
    t.refused(t.drop(key(), seen, {main_branch()}), ErrorCode::kProtectedBranch, "deleting main");
    t.expect(t.numbers(key()).size() == 2, "it is there");
  });
  add("a branch with forks cannot be deleted alone", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 1);
    seen = t.fork(key(), seen, "main", 1, "b").value();
    seen = t.append(key(), seen, Trial::turn(100), "b").value();
    seen = t.fork(key(), seen, "b", 3, "c").value();
    t.refused(t.drop(key(), seen, {Trial::branch("b")}), ErrorCode::kHasChildren, "deleting the parent");
    t.expect(t.numbers(key(), "c") == Numbers{0, 1, 100, 101}, "the child can be read");
    t.expect(t.revision(key()) == seen, "nothing changed");
  });
  add("a branch can be deleted with its forks", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 1);
    seen = t.fork(key(), seen, "main", 1, "b").value();
    seen = t.fork(key(), seen, "b", 1, "c").value();
    seen = t.fork(key(), seen, "c", 1, "d").value();
    t.drop(key(), seen, {Trial::branch("b"), Trial::branch("c"), Trial::branch("d")}).value();
    t.expect(t.state(key()).branches.size() == 1, "only main is left");
    t.verified();
  });
  add("deleting two is all or nothing", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 1);
    seen = t.fork(key(), seen, "main", 1, "b").value();
    t.refused(t.drop(key(), seen, {Trial::branch("b"), Trial::branch("ghost")}), ErrorCode::kNoBranch,
              "a branch that is not there");
    t.expect(t.state(key()).branches.size() == 2, "b is there");
  });
  add("a name can be used again after a delete", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 2);
    seen = t.fork(key(), seen, "main", 3, "b").value();
    seen = t.append(key(), seen, Trial::turn(100), "b").value();
    seen = t.drop(key(), seen, {Trial::branch("b")}).value();
    seen = t.fork(key(), seen, "main", 0, "b").value();
    t.expect(t.numbers(key(), "b") == Numbers{0}, "nothing of the old one comes back");
    t.append(key(), seen, Trial::turn(200), "b").value();
    t.reopen();
    t.expect(t.numbers(key(), "b") == Numbers{0, 200, 201}, "nothing of the old one comes back");
  });
  add("the records of a branch go with it", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 1);
    seen = t.fork(key(), seen, "main", 1, "b").value();
    const StreamId gone{.kind = RecordKind::kJournal, .branch = Trial::branch("b")};
    const StreamId stays{.kind = RecordKind::kJournal, .branch = main_branch()};
    t.add_note(key(), Trial::record(gone, 1)).value();
    t.add_note(key(), Trial::record(stays, 1)).value();
    t.drop(key(), seen, {Trial::branch("b")}).value();
    t.reopen();
    const std::vector<Record> left = t.records(key(), RecordKind::kJournal);
    t.expect(left.size() == 1 && left[0].stream == stays, "only main's is left");
    t.refused(t.add_note(key(), Trial::record(gone, 2)), ErrorCode::kNoBranch,
              "a record for the deleted branch");
  });
  add("a branch is not written and deleted at once", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 1);
    seen = t.fork(key(), seen, "main", 1, "b").value();
    t.refused(commit(t.store(), Trial::of(key(), seen,
                                          {AppendTurn{.branch = Trial::branch("b"), .turn = Trial::turn(100)},
                                           DropBranches{{Trial::branch("b")}}})),
              ErrorCode::kDuplicateKey, "a turn and a delete");
    t.expect(t.numbers(key(), "b") == Numbers{0, 1}, "nothing changed");
  });
}

}  // namespace

void add_branch_cases(std::vector<StoreCase>& cases) {
  forking(cases);
  reading(cases);
  deleting(cases);
}

}  // namespace tertulia
