// Records: streams without gaps, notes, fences, tool calls, queries.
#include <string>
#include <utility>

#include "tertulia/conversation/json_forms.h"

#include "store_cases.h"

namespace tertulia {

namespace {

using Trial = StoreTrial;

const StreamId& journal() {
  static const StreamId stream{.kind = RecordKind::kJournal, .branch = main_branch()};
  return stream;
}

std::string every_byte() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return bytes;
}

void each_kind(std::vector<StoreCase>& cases) {
  const StreamId streams[] = {
      journal(),
      {.kind = RecordKind::kEvent, .branch = main_branch(), .scope = "turn-1"},
      {.kind = RecordKind::kEpisode, .branch = main_branch()},
      {.kind = RecordKind::kReceipt, .branch = main_branch(), .scope = "turn-1"},
      {.kind = RecordKind::kCheckpoint, .scope = "run-1"},
      {.kind = RecordKind::kAsset},
      {.kind = RecordKind::kLease, .branch = main_branch()},
      {.kind = RecordKind::kSubmission, .branch = main_branch(), .scope = "key-1"},
      {.kind = RecordKind::kQuestion, .branch = main_branch(), .scope = "turn-1/0"},
      {.kind = RecordKind::kMemory, .scope = "fact-1"},
  };
  for (const StreamId& stream : streams) {
    const std::string kind(name_of(stream.kind));
    cases.push_back({"records", kind + " records come back byte for byte", [stream](Trial& t) {
                       t.create(key());
                       std::vector<Record> written;
                       for (std::uint64_t n = 1; n <= 3; ++n) {
                         written.push_back(Trial::record(stream, n, every_byte() + std::to_string(n)));
                         t.add_note(key(), written.back()).value();
                       }
                       t.expect(t.records(key(), stream.kind) == written, "what was written is read");
                       t.reopen();
                       t.expect(t.records(key(), stream.kind) == written, "also after a restart");
                     }});
    cases.push_back(
        {"records", kind + " records come with a commit as well", [stream](Trial& t) {
           const Revision seen = t.create(key());
           commit(t.store(), Trial::of(key(), seen, {AddRecord{Trial::record(stream, 1)}})).value();
           t.expect(t.records(key(), stream.kind).size() == 1, "it is there");
           t.expect(t.revision(key()) == next(seen), "and was a commit");
         }});
    cases.push_back({"records", kind + " streams have no gaps and no duplicates", [stream](Trial& t) {
                       t.create(key());
                       t.conflicts(t.add_note(key(), Trial::record(stream, 2)), 0);
                       t.conflicts(t.add_note(key(), Trial::record(stream, 0)), 0);
                       t.add_note(key(), Trial::record(stream, 1)).value();
                       t.conflicts(t.add_note(key(), Trial::record(stream, 1)), 1);
                       t.conflicts(t.add_note(key(), Trial::record(stream, 3)), 1);
                       t.add_note(key(), Trial::record(stream, 2)).value();
                       t.expect(t.records(key(), stream.kind).size() == 2, "two records");
                     }});
    cases.push_back({"records", kind + " numbers are not used again", [stream](Trial& t) {
                       t.create(key());
                       for (std::uint64_t n = 1; n <= 3; ++n)
                         t.add_note(key(), Trial::record(stream, n)).value();
                       note(t.store(), {.key = key(), .changes = {DropRecords{.stream = stream}}}).value();
                       t.expect(t.records(key(), stream.kind).empty(), "all are dropped");
                       t.reopen();
                       t.conflicts(t.add_note(key(), Trial::record(stream, 1)), 3);
                       t.expect(t.add_note(key(), Trial::record(stream, 4)).ok(), "the next one is 4");
                     }});
  }
}

void notes(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"notes", std::move(name), run}); };
  add("a note does not move the revision", [](Trial& t) {
    const Revision seen = t.create(key());
    t.add_note(key(), Trial::record(journal(), 1)).value();
    t.expect(t.revision(key()) == seen, "the revision stays");
    t.expect(t.append(key(), seen, Trial::turn(0)).ok(), "a writer that saw it is not disturbed");
    t.reopen();
    t.expect(t.revision(key()) == next(seen), "also after a restart");
  });
  add("a note does not move the last activity", [](Trial& t) {
    t.create(key(), 10);
    t.add_note(key(), Trial::record(journal(), 1)).value();
    t.expect(t.state(key()).session.last_activity == Trial::at(10), "it is that of the last commit");
  });
  add("a note needs its session", [](Trial& t) {
    t.refused(t.add_note(key(), Trial::record(journal(), 1)), ErrorCode::kNoSession, "a note for nobody");
  });
  add("a note needs its branch", [](Trial& t) {
    t.create(key());
    const StreamId stream{.kind = RecordKind::kJournal, .branch = Trial::branch("ghost")};
    t.refused(t.add_note(key(), Trial::record(stream, 1)), ErrorCode::kNoBranch,
              "a branch that is not there");
  });
  add("an empty note is refused", [](Trial& t) {
    t.create(key());
    t.refused(note(t.store(), {.key = key()}), ErrorCode::kMissingField, "a note of nothing");
  });
  add("a note is all or nothing", [](Trial& t) {
    t.create(key());
    t.refused(note(t.store(), {.key = key(),
                               .changes = {AddRecord{Trial::record(journal(), 1)},
                                           AddRecord{Trial::record(journal(), 3)}}}),
              ErrorCode::kRevisionConflict, "a note whose second record leaves a gap");
    t.expect(t.records(key(), RecordKind::kJournal).empty(), "the first was not kept");
    t.expect(t.add_note(key(), Trial::record(journal(), 1)).ok(), "and its number is free");
  });
  add("several records of one stream fit one note", [](Trial& t) {
    t.create(key());
    Note many{.key = key()};
    for (std::uint64_t n = 1; n <= 100; ++n)
      many.changes.emplace_back(AddRecord{Trial::record(journal(), n)});
    note(t.store(), many).value();
    t.expect(t.records(key(), RecordKind::kJournal).size() == 100, "all of them");
  });
  add("records can be dropped up to a number", [](Trial& t) {
    t.create(key());
    for (std::uint64_t n = 1; n <= 5; ++n) t.add_note(key(), Trial::record(journal(), n)).value();
    note(t.store(), {.key = key(), .changes = {DropRecords{.stream = journal(), .up_to = 3}}}).value();
    t.reopen();
    const auto left = t.records(key(), RecordKind::kJournal);
    t.expect(left.size() == 2 && left[0].number == 4 && left[1].number == 5, "4 and 5 are left");
    t.expect(t.add_note(key(), Trial::record(journal(), 6)).ok(), "and it goes on with 6");
  });
  add("dropping what is not there is fine", [](Trial& t) {
    t.create(key());
    t.expect(note(t.store(), {.key = key(), .changes = {DropRecords{.stream = journal()}}}).ok(),
             "an empty stream");
    t.add_note(key(), Trial::record(journal(), 1)).value();
    t.expect(note(t.store(), {.key = key(), .changes = {DropRecords{.stream = journal(), .up_to = 99}}}).ok(),
             "beyond the end");
    t.expect(t.records(key(), RecordKind::kJournal).empty(), "all are gone");
  });
  add("dropping one stream leaves the others", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 1);
    t.fork(key(), seen, "main", 1, "b").value();
    const StreamId other{.kind = RecordKind::kJournal, .branch = Trial::branch("b")};
    const StreamId lease{.kind = RecordKind::kLease, .branch = main_branch()};
    for (const StreamId& stream : {journal(), other, lease})
      t.add_note(key(), Trial::record(stream, 1)).value();
    note(t.store(), {.key = key(), .changes = {DropRecords{.stream = journal()}}}).value();
    const auto left = t.records(key(), RecordKind::kJournal);
    t.expect(left.size() == 1 && left[0].stream == other, "the other branch's is there");
    t.expect(t.records(key(), RecordKind::kLease).size() == 1, "the other kind is there");
  });
  add("a turn is committed and its journal dropped at once", [](Trial& t) {
    const Revision seen = t.create(key());
    t.add_note(key(), Trial::record(journal(), 1)).value();
    commit(t.store(), Trial::of(key(), seen,
                                {AppendTurn{.branch = main_branch(), .turn = Trial::turn(0)},
                                 DropRecords{.stream = journal()}}))
        .value();
    t.reopen();
    t.expect(t.records(key(), RecordKind::kJournal).empty(), "the journal is empty");
    t.expect(t.numbers(key()).size() == 2, "the turn is there");
  });
}

void fences(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"fence", std::move(name), run}); };
  static const StreamId lease{.kind = RecordKind::kLease, .branch = main_branch()};
  add("a writer that holds the newest lease may write", [](Trial& t) {
    const Revision seen = t.create(key());
    t.add_note(key(), Trial::record(lease, 1)).value();
    Commit commit = Trial::of(key(), seen, {AppendTurn{.branch = main_branch(), .turn = Trial::turn(0)}});
    commit.conditions = {{.stream = lease, .newest = 1}};
    t.expect(tertulia::commit(t.store(), commit).ok(), "its commit");
    t.expect(t.add_note(key(), Trial::record(journal(), 1), {{.stream = lease, .newest = 1}}).ok(),
             "its note");
  });
  add("a writer whose lease was taken over may not commit", [](Trial& t) {
    const Revision seen = t.create(key());
    t.add_note(key(), Trial::record(lease, 1)).value();
    t.add_note(key(), Trial::record(lease, 2)).value();
    Commit commit = Trial::of(key(), seen, {AppendTurn{.branch = main_branch(), .turn = Trial::turn(0)}});
    commit.conditions = {{.stream = lease, .newest = 1}};
    t.conflicts(tertulia::commit(t.store(), commit), 2);
    t.expect(t.numbers(key()).empty(), "nothing was added");
  });
  add("a writer whose lease was taken over may not note", [](Trial& t) {
    t.create(key());
    t.add_note(key(), Trial::record(lease, 1)).value();
    t.add_note(key(), Trial::record(lease, 2)).value();
    t.conflicts(t.add_note(key(), Trial::record(journal(), 1), {{.stream = lease, .newest = 1}}), 2);
    t.expect(t.records(key(), RecordKind::kJournal).empty(), "nothing was added");
  });
  add("a fence holds after the lease was dropped", [](Trial& t) {
    t.create(key());
    t.add_note(key(), Trial::record(lease, 1)).value();
    note(t.store(), {.key = key(), .changes = {DropRecords{.stream = lease}}}).value();
    t.reopen();
    t.conflicts(t.add_note(key(), Trial::record(journal(), 1), {{.stream = lease, .newest = 0}}), 1);
    t.expect(t.add_note(key(), Trial::record(journal(), 1), {{.stream = lease, .newest = 1}}).ok(),
             "newest is 1");
  });
  add("a condition on a stream that never was is zero", [](Trial& t) {
    t.create(key());
    t.conflicts(t.add_note(key(), Trial::record(journal(), 1), {{.stream = lease, .newest = 5}}), 0);
    t.expect(t.add_note(key(), Trial::record(journal(), 1), {{.stream = lease, .newest = 0}}).ok(), "zero");
  });
  add("every condition must hold", [](Trial& t) {
    t.create(key());
    t.add_note(key(), Trial::record(lease, 1)).value();
    t.conflicts(t.add_note(key(), Trial::record(journal(), 1),
                           {{.stream = lease, .newest = 1}, {.stream = journal(), .newest = 4}}),
                0);
  });
  add("conditions look at what stood before the change", [](Trial& t) {
    t.create(key());
    t.expect(t.add_note(key(), Trial::record(lease, 1), {{.stream = lease, .newest = 0}}).ok(),
             "a lease is taken on the condition that there is none");
    t.conflicts(t.add_note(key(), Trial::record(lease, 2), {{.stream = lease, .newest = 0}}), 1);
  });
}

void limits(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) {
    cases.push_back({"record limits", std::move(name), run});
  };
  add("a record of one mebibyte comes back", [](Trial& t) {
    t.create(key());
    std::string bytes;
    while (bytes.size() < (1U << 20U)) bytes += every_byte();
    const Record asset = Trial::record({.kind = RecordKind::kAsset}, 1, bytes);
    t.add_note(key(), asset).value();
    t.reopen();
    t.expect(t.records(key(), RecordKind::kAsset) == std::vector<Record>{asset}, "byte for byte");
  });
  add("an empty payload is fine", [](Trial& t) {
    t.create(key());
    Record record = Trial::record({.kind = RecordKind::kCheckpoint, .scope = ""}, 1, "");
    record.key.clear();
    record.name.clear();
    t.add_note(key(), record).value();
    t.reopen();
    t.expect(t.records(key(), RecordKind::kCheckpoint) == std::vector<Record>{record}, "it comes back");
  });
  add("a payload over the limit is refused", [](Trial& t) {
    t.create(key());
    t.refused(t.add_note(key(), Trial::record({.kind = RecordKind::kAsset}, 1,
                                              std::string(kMaxRecordBytes + 1, 'x'))),
              ErrorCode::kTooLarge, "too many bytes");
    t.expect(t.records(key(), RecordKind::kAsset).empty(), "nothing was kept");
  });
  add("key name and scope at their limits come back", [](Trial& t) {
    t.create(key());
    Record record = Trial::record({.kind = RecordKind::kCheckpoint, .scope = std::string(128, 's')}, 1);
    record.key = std::string(128, 'k');
    record.name = std::string(255, 'n');
    t.add_note(key(), record).value();
    t.reopen();
    t.expect(t.records(key(), RecordKind::kCheckpoint) == std::vector<Record>{record}, "whole");
  });
  add("key name and scope over their limits are refused", [](Trial& t) {
    t.create(key());
    Record record = Trial::record({.kind = RecordKind::kCheckpoint, .scope = std::string(129, 's')}, 1);
    t.refused(t.add_note(key(), record), ErrorCode::kTooLarge, "a scope of 129 bytes");
    record.stream.scope = "s";
    record.key = std::string(129, 'k');
    t.refused(t.add_note(key(), record), ErrorCode::kTooLarge, "a key of 129 bytes");
    record.key = "k";
    record.name = std::string(256, 'n');
    t.refused(t.add_note(key(), record), ErrorCode::kTooLarge, "a name of 256 bytes");
  });
  add("a scope may hold any Unicode", [](Trial& t) {
    t.create(key());
    const Record record =
        Trial::record({.kind = RecordKind::kCheckpoint, .scope = "passo/à 'frente' %_ 🚶"}, 1);
    t.add_note(key(), record).value();
    t.reopen();
    t.expect(t.records(key(), RecordKind::kCheckpoint) == std::vector<Record>{record}, "it comes back");
    RecordQuery query = Trial::query(key(), RecordKind::kCheckpoint);
    query.scope = record.stream.scope;
    t.expect(read_records(t.store(), query).value().records.size() == 1, "and is found by it");
  });
  add("a scope that is not Unicode is refused", [](Trial& t) {
    t.create(key());
    t.refused(t.add_note(key(), Trial::record({.kind = RecordKind::kCheckpoint, .scope = "\xff"}, 1)),
              ErrorCode::kBadUnicode, "bytes that are not UTF-8");
  });
  add("a journal without a branch is refused", [](Trial& t) {
    t.create(key());
    t.refused(t.add_note(key(), Trial::record({.kind = RecordKind::kJournal}, 1)), ErrorCode::kMissingField,
              "a journal of no branch");
    t.refused(t.add_note(key(), Trial::record({.kind = RecordKind::kAsset, .branch = main_branch()}, 1)),
              ErrorCode::kMissingField, "an asset of a branch");
  });
}

void tool_calls(std::vector<StoreCase>& cases) {
  const auto add = [&](std::string name, auto run) { cases.push_back({"tool calls", std::move(name), run}); };
  static const auto with_calls = [](Trial& t, std::uint64_t n, Revision seen, const char* branch = "main") {
    AppendTurn append{.branch = Trial::branch(branch), .turn = Trial::tool_turn(n)};
    append.tool_calls = {Trial::tool_call(n), Trial::tool_call(n + 1)};
    append.tool_calls[1].tool = "other";
    append.tool_calls[1].outcome = ToolOutcome::kError;
    append.tool_calls[1].error = "não funcionou";
    append.tool_calls[1].output = "not what the message says";
    return commit(t.store(), Trial::of(key(), seen, {append})).value();
  };
  add("the tool calls of a turn become records", [](Trial& t) {
    with_calls(t, 0, t.create(key()));
    for (int i = 0; i < 2; ++i) {
      const std::vector<Record> records = t.records(key(), RecordKind::kToolCall);
      if (!t.expect(records.size() == 2, "two records")) return;
      t.expect(records[0].number == 1 && records[1].number == 2, "numbered in their turn");
      t.expect(records[0].stream.branch == main_branch(), "of the branch");
      t.expect(records[0].stream.scope == Trial::tool_turn(0).id().text(), "of the turn");
      t.expect(records[0].key == Trial::tool_call(0).id.text(), "with their ids");
      t.expect(records[0].name == "find" && records[1].name == "other", "by the tool");
      t.expect(records[0].time == Trial::tool_call(0).called_at, "at their time");
      t.reopen();
    }
  });
  add("a tool call comes back with every field", [](Trial& t) {
    with_calls(t, 0, t.create(key()));
    t.reopen();
    const std::vector<Record> records = t.records(key(), RecordKind::kToolCall);
    const ToolCallRecord first = parse_form<ToolCallRecord>(records.at(0).payload).value();
    const ToolCallRecord second = parse_form<ToolCallRecord>(records.at(1).payload).value();
    ToolCallRecord expected = Trial::tool_call(0);
    expected.session = key().session;
    expected.branch = main_branch();
    expected.turn = Trial::tool_turn(0).id();
    t.expect(first == expected, "the first, whose output stands in the messages");
    t.expect(second.output == "not what the message says" && second.error == "não funcionou",
             "the second, whose output does not");
  });
  add("tool calls are found by their tool", [](Trial& t) {
    const Revision seen = with_calls(t, 0, t.create(key()));
    with_calls(t, 10, seen);
    RecordQuery query = Trial::query(key(), RecordKind::kToolCall);
    query.name = "other";
    t.expect(read_records(t.store(), query).value().records.size() == 2, "one in each turn");
    query.key = Trial::tool_call(11).id.text();
    t.expect(read_records(t.store(), query).value().records.size() == 1, "one by its id");
  });
  add("tool calls go with their branch", [](Trial& t) {
    Revision seen = t.create_with_turns(key(), 1);
    seen = t.fork(key(), seen, "main", 1, "b").value();
    seen = with_calls(t, 10, seen, "b");
    t.drop(key(), seen, {Trial::branch("b")}).value();
    t.expect(t.records(key(), RecordKind::kToolCall).empty(), "none are left");
  });
  add("tool calls cannot be written or dropped as records", [](Trial& t) {
    const Revision seen = with_calls(t, 0, t.create(key()));
    const StreamId stream{
        .kind = RecordKind::kToolCall, .branch = main_branch(), .scope = Trial::tool_turn(0).id().text()};
    t.refused(t.add_note(key(), Trial::record(stream, 3)), ErrorCode::kNotPermitted, "a tool call as a note");
    t.refused(note(t.store(), {.key = key(), .changes = {DropRecords{.stream = stream}}}),
              ErrorCode::kNotPermitted, "dropping the audit trail");
    t.expect(t.records(key(), RecordKind::kToolCall).size() == 2, "they are as they were");
    t.expect(t.revision(key()) == seen, "they are as they were");
  });
}

}  // namespace

void add_record_cases(std::vector<StoreCase>& cases) {
  each_kind(cases);
  notes(cases);
  fences(cases);
  limits(cases);
  tool_calls(cases);
}

}  // namespace tertulia
