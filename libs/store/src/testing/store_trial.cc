#include "tertulia/store/testing/store_trial.h"

#include <array>
#include <exception>
#include <utility>

#include "store_cases.h"

namespace tertulia {

namespace {

Uuid uuid(std::uint64_t n) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[15 - i] = static_cast<std::uint8_t>(n >> (8 * i));
  return Uuid(bytes);
}

std::string line_of(std::source_location where) {
  const std::string_view file = where.file_name();
  return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(where.line());
}

}  // namespace

bool StoreTrial::expect(bool holds, std::string_view sentence, std::source_location where) {
  if (!holds) fail("expected that " + std::string(sentence) + " (" + line_of(where) + ")");
  return holds;
}

void StoreTrial::refused(const Error* error, ErrorCode code, std::string_view what,
                         std::source_location where) {
  if (error == nullptr) {
    expect(false,
           std::string(what) + " is refused with " + std::string(name_of(code)) + ", but it was accepted",
           where);
  } else if (error->code() != code) {
    expect(false,
           std::string(what) + " is refused with " + std::string(name_of(code)) + ", not with " +
               std::string(name_of(error->code())) + ": " + error->message(),
           where);
  }
}

void StoreTrial::says_current(const Error& error, std::uint64_t current, std::source_location where) {
  const ErrorFact::Value* fact = error.fact("current");
  const auto* value = fact != nullptr ? std::get_if<std::int64_t>(fact) : nullptr;
  expect(value != nullptr && *value == static_cast<std::int64_t>(current),
         "the loser of a conflict learns the current revision " + std::to_string(current), where);
}

SessionKey StoreTrial::key(std::string_view session, std::string_view owner, std::string_view tenant) {
  return {.tenant = TenantId::parse(tenant).value(),
          .owner = OwnerId::parse(owner).value(),
          .session = SessionId::parse(session).value()};
}

BranchId StoreTrial::branch(std::string_view name) { return BranchId::parse(name).value(); }

Time StoreTrial::at(std::int64_t seconds) {
  return Time(std::chrono::seconds(1'767'225'600)) + std::chrono::seconds(seconds);
}

Message StoreTrial::says(std::uint64_t n, Role role, std::string_view text) {
  return Message::make({.id = MessageId(uuid(n)),
                        .role = role,
                        .time = at(static_cast<std::int64_t>(n)),
                        .tokens = Tokens{7},
                        .counted = Counted::kEstimate,
                        .parts = {Part::text_of(text)}})
      .value();
}

Turn StoreTrial::turn(std::uint64_t n, std::string_view question, std::string_view answer) {
  return Turn::from_messages(TurnId(uuid(1'000'000 + n)),
                             {says(n, Role::kUser, question), says(n + 1, Role::kAssistant, answer)})
      .value();
}

Turn StoreTrial::tool_turn(std::uint64_t n) {
  const Message call = Message::make({.id = MessageId(uuid(n + 1)),
                                      .role = Role::kAssistant,
                                      .origin = Origin::kModel,
                                      .parts = {Part::tool_call("call_1", "find", R"({"word":"olá"})")}})
                           .value();
  const Message result = Message::make({.id = MessageId(uuid(n + 2)),
                                        .role = Role::kTool,
                                        .origin = Origin::kTool,
                                        .parts = {Part::tool_result("call_1", "find", "found")}})
                             .value();
  return Turn::from_messages(TurnId(uuid(1'000'000 + n)), {says(n, Role::kUser, "look it up"), call, result,
                                                           says(n + 3, Role::kAssistant, "here it is")})
      .value();
}

ToolCallRecord StoreTrial::tool_call(std::uint64_t n) {
  ToolCallRecord call;
  call.id = ToolCallId(uuid(2'000'000 + n));
  call.call_id = "call_1";
  call.tool = "find";
  call.input = JsonText::parse(R"({"word":"olá"})").value();
  call.output = "found";
  call.called_at = at(static_cast<std::int64_t>(n));
  call.duration = std::chrono::milliseconds(12);
  call.tool_class = ToolClass::kReadOnly;
  return call;
}

Record StoreTrial::record(StreamId stream, std::uint64_t number, std::string payload) {
  return {.stream = std::move(stream),
          .number = number,
          .time = at(static_cast<std::int64_t>(number)),
          .key = "key-" + std::to_string(number),
          .name = "name",
          .payload = std::move(payload)};
}

Session StoreTrial::session() {
  Session session;
  session.created_at = at(0);
  return session;
}

BranchHead StoreTrial::head(const BranchId& id, std::optional<ForkOrigin> origin) {
  BranchHead head;
  head.id = id;
  head.forked_from = std::move(origin);
  head.created_at = at(0);
  head.last_activity = at(0);
  return head;
}

Commit StoreTrial::first(const SessionKey& key, std::int64_t seconds) {
  Commit commit{.key = key, .time = at(seconds)};
  commit.changes.emplace_back(PutSession{session()});
  commit.changes.emplace_back(PutBranch{head(main_branch())});
  return commit;
}

Commit StoreTrial::of(const SessionKey& key, Revision expected, std::vector<Change> changes,
                      std::int64_t seconds) {
  return {.key = key, .expected = expected, .changes = std::move(changes), .time = at(seconds)};
}

Revision StoreTrial::create(const SessionKey& key, std::int64_t seconds) {
  return commit(store(), first(key, seconds)).value();
}

Revision StoreTrial::create_with_turns(const SessionKey& key, std::uint64_t turns) {
  Revision revision = create(key);
  for (std::uint64_t i = 0; i < turns; ++i) revision = append(key, revision, turn(2 * i)).value();
  return revision;
}

Result<Revision> StoreTrial::append(const SessionKey& key, Revision expected, Turn turn,
                                    std::string_view branch, std::int64_t seconds) {
  std::vector<Change> changes;
  changes.emplace_back(AppendTurn{.branch = StoreTrial::branch(branch), .turn = std::move(turn)});
  return commit(store(), of(key, expected, std::move(changes), seconds));
}

Result<Revision> StoreTrial::fork(const SessionKey& key, Revision expected, std::string_view parent,
                                  std::size_t at_index, std::string_view name) {
  const ForkOrigin origin{.parent = branch(parent), .at_index = at_index};
  return commit(store(), of(key, expected, {PutBranch{head(branch(name), origin)}}));
}

Result<Revision> StoreTrial::drop(const SessionKey& key, Revision expected, std::vector<BranchId> branches) {
  return commit(store(), of(key, expected, {DropBranches{std::move(branches)}}));
}

Result<void> StoreTrial::add_note(const SessionKey& key, Record record,
                                  std::vector<ExpectStream> conditions) {
  return note(store(),
              {.key = key, .conditions = std::move(conditions), .changes = {AddRecord{std::move(record)}}});
}

SessionState StoreTrial::state(const SessionKey& key) { return load(store(), key).value(); }

std::vector<StoredTurn> StoreTrial::turns(const SessionKey& key, std::string_view branch, std::uint64_t begin,
                                          std::uint64_t end) {
  return read_turns(store(), key, {.branch = StoreTrial::branch(branch), .begin = begin, .end = end}).value();
}

std::vector<Message> StoreTrial::messages(const SessionKey& key, std::string_view branch) {
  std::vector<Message> all;
  for (const StoredTurn& stored : turns(key, branch)) {
    expect(stored.first_index == all.size(), "turns follow each other without a gap");
    all.insert(all.end(), stored.turn.messages().begin(), stored.turn.messages().end());
  }
  return all;
}

std::uint64_t StoreTrial::number_of(const Message& message) {
  std::uint64_t n = 0;
  for (std::size_t i = 8; i < 16; ++i) n = n << 8U | message.id().uuid().bytes()[i];
  return n;
}

std::vector<std::uint64_t> StoreTrial::numbers(const SessionKey& key, std::string_view branch) {
  std::vector<std::uint64_t> numbers;
  for (const Message& message : messages(key, branch)) numbers.push_back(number_of(message));
  return numbers;
}

RecordQuery StoreTrial::query(const SessionKey& key, RecordKind kind) {
  return {.tenant = key.tenant, .owner = key.owner, .session = key.session, .kind = kind};
}

std::vector<Record> StoreTrial::records(const SessionKey& key, RecordKind kind) {
  std::vector<Record> all;
  RecordQuery next = query(key, kind);
  do {
    RecordPage page = read_records(store(), next).value();
    for (StoredRecord& stored : page.records) all.push_back(std::move(stored.record));
    next.cursor = page.next;
  } while (!next.cursor.empty());
  return all;
}

std::vector<std::string> StoreTrial::listed(SessionQuery query) {
  std::vector<std::string> ids;
  do {
    const SessionPage page = list(store(), query).value();
    expect(page.sessions.size() <= query.limit, "a page has no more entries than its limit");
    for (const SessionSummary& summary : page.sessions) ids.push_back(summary.key.session.text());
    query.cursor = page.next;
  } while (!query.cursor.empty());
  return ids;
}

void StoreTrial::verified(std::source_location where) {
  const VerifyReport report = verify(store()).value();
  for (const Problem& problem : report.problems) {
    expect(false, "the store is sound: " + problem.session + " " + problem.record + ": " + problem.sentence,
           where);
  }
}

const std::vector<StoreCase>& store_cases() {
  static const std::vector<StoreCase> cases = [] {
    std::vector<StoreCase> all;
    add_commit_cases(all);
    add_branch_cases(all);
    add_content_cases(all);
    add_record_cases(all);
    add_query_cases(all);
    add_life_cases(all);
    add_concurrency_cases(all);
    return all;
  }();
  return cases;
}

std::vector<std::string> run_store_case(const StoreCase& store_case, const StoreFactory& factory) {
  const std::unique_ptr<StoreFixture> fixture = factory();
  StoreTrial trial(*fixture);
  try {
    store_case.run(trial);
  } catch (const std::exception& exception) {
    trial.fail(std::string("something that must work did not: ") + exception.what());
  }
  return trial.failures();
}

}  // namespace tertulia
