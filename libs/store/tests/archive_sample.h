// A session with something of everything, and archives held in memory, for the tests of archives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_env.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/archive.h"
#include "tertulia/store/memory_store.h"

namespace tertulia::sample {

inline Time at(std::int64_t seconds) { return Time(std::chrono::seconds(1'700'000'000 + seconds)); }

inline Uuid uuid(std::uint64_t n) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[15 - i] = static_cast<std::uint8_t>(n >> (8 * i));
  return Uuid(bytes);
}

inline BranchId branch(std::string_view name) { return BranchId::parse(name).value(); }

inline SessionKey key(std::string_view session, std::string_view owner = "ann",
                      std::string_view tenant = "acme") {
  return {TenantId::parse(tenant).value(), OwnerId::parse(owner).value(), SessionId::parse(session).value()};
}

// A turn whose ids begin with `n`: a question and an answer, with a tool group between them if asked for.
inline Turn turn(std::uint64_t n, bool with_tools = false) {
  const auto says = [&](std::uint64_t i, Role role, std::string_view text) {
    return Message::text(MessageId(uuid(n * 16 + i)), role, text, at(static_cast<std::int64_t>(n))).value();
  };
  std::vector<Message> messages{
      says(1, Role::kUser, "Question " + std::to_string(n) + "? \xC3\xA9\xF0\x9F\x8C\x8D")};
  if (with_tools) {
    messages.push_back(Message::make({.id = MessageId(uuid(n * 16 + 2)),
                                      .role = Role::kAssistant,
                                      .time = at(1),
                                      .origin = Origin::kModel,
                                      .parts = {Part::tool_call("c1", "add", R"({"a":10,"b":20})")}})
                           .value());
    messages.push_back(Message::make({.id = MessageId(uuid(n * 16 + 3)),
                                      .role = Role::kTool,
                                      .time = at(1),
                                      .origin = Origin::kTool,
                                      .parts = {Part::tool_result("c1", "add", "30")}})
                           .value());
  }
  messages.push_back(says(4, Role::kAssistant, "Answer " + std::to_string(n)));
  return Turn::from_messages(TurnId(uuid(n * 16)), std::move(messages)).value();
}

// Commits one after the other, counting the revision.
class Writer {
 public:
  Writer(Store& store, SessionKey key) : store_(store), key_(std::move(key)) {}

  Writer& commit(std::vector<Change> changes, Time time) {
    Commit commit{.key = key_, .expected = {}, .conditions = {}, .changes = std::move(changes), .time = time};
    if (revision_ > 0) commit.expected = Revision{revision_};
    revision_ = number(tertulia::commit(store_, std::move(commit)).value());
    return *this;
  }
  Writer& note(std::vector<std::variant<AddRecord, DropRecords>> changes) {
    tertulia::note(store_, {.key = key_, .conditions = {}, .changes = std::move(changes)}).value();
    return *this;
  }
  std::uint64_t revision() const { return revision_; }

 private:
  Store& store_;
  SessionKey key_;
  std::uint64_t revision_ = 0;
};

inline BranchHead head(std::string_view id, std::int64_t made) {
  return {.id = branch(id),
          .forked_from = {},
          .state = {},
          .label = {},
          .description = {},
          .tags = {},
          .created_at = at(made),
          .last_activity = at(made),
          .extra = {}};
}

inline BranchHead fork(std::string_view id, std::string_view parent, std::size_t index, std::int64_t made) {
  BranchHead made_head = head(id, made);
  made_head.forked_from = ForkOrigin{.parent = branch(parent), .at_index = index};
  return made_head;
}

inline AppendTurn append(std::string_view to, std::uint64_t n, bool with_tools = false) {
  AppendTurn append{.branch = branch(to), .turn = turn(n, with_tools), .tool_calls = {}, .state = {}};
  if (with_tools) {
    append.tool_calls.push_back({.id = ToolCallId(uuid(9000 + n)),
                                 .session = {},
                                 .branch = {},
                                 .turn = {},
                                 .number = 0,
                                 .call_id = "c1",
                                 .tool = "add",
                                 .input = JsonText::parse(R"({"a":10,"b":20})").value(),
                                 .output = "30",
                                 .error = {},
                                 .called_at = at(5),
                                 .duration = Duration(1500),
                                 .extra = {}});
  }
  return append;
}

inline Record record(RecordKind kind, std::string_view on, std::uint64_t number, std::string payload,
                     std::string scope = {}) {
  return {.stream = {.kind = kind, .branch = on.empty() ? BranchId() : branch(on), .scope = std::move(scope)},
          .number = number,
          .time = at(static_cast<std::int64_t>(number)),
          .key = "k" + std::to_string(number),
          .name = "n",
          .payload = std::move(payload)};
}

// Forks, a fork of a fork that cuts a turn, states, labels, tool calls, fields changed without a turn, a
// deleted branch, records of every kind, a stream whose first numbers were dropped, and bytes that are no
// text.
inline void fill(Store& store, const SessionKey& key) {
  Session session;
  session.created_at = at(0);
  session.metadata = JsonObject{{"title", "First"}};
  Writer writer(store, key);
  writer.commit({PutSession{session}, PutBranch{head("main", 1)}}, at(1));
  for (std::uint64_t n = 1; n <= 5; ++n)
    writer.commit({append("main", n, n == 3)}, at(10 + static_cast<std::int64_t>(n)));
  writer.commit({PutBranch{fork("gone", "main", 1, 20)}}, at(20));
  writer.commit({append("gone", 50)}, at(21));
  BranchHead formal = fork("formal", "main", 4, 22);  // inside the turn with the tools' neighbour
  formal.label = "More formal";
  formal.tags = {"a", "b"};
  formal.state["plan"] = JsonText::parse(R"({"step":1})").value();
  writer.commit({PutBranch{formal}}, at(22));
  writer.commit({append("formal", 6), append("main", 7)}, at(23));
  writer.commit({DropBranches{{branch("gone")}}}, at(24));
  session.metadata.set("title", "Second");
  session.state["allow"] = JsonText::parse("[1,2]").value();
  writer.commit({PutSession{session}}, at(25));
  BranchHead deep = fork("deep", "formal", 2, 26);
  writer.commit({PutBranch{deep}, append("deep", 8, true),
                 AddRecord{record(RecordKind::kEpisode, "deep", 1, R"({"v":1})")}},
                at(26));
  std::string bytes;
  for (int i = 0; i < 512; ++i) bytes += static_cast<char>(i);
  writer.note({AddRecord{record(RecordKind::kAsset, "", 1, bytes)},
               AddRecord{record(RecordKind::kAsset, "", 2, "")}});
  writer.note({AddRecord{record(RecordKind::kJournal, "main", 1, R"({"a":1})")},
               AddRecord{record(RecordKind::kJournal, "main", 2, R"({"a": 2})")},
               DropRecords{{.kind = RecordKind::kJournal, .branch = branch("main"), .scope = {}}, 1},
               AddRecord{record(RecordKind::kEvent, "formal", 1, "plain", "turn-1")},
               AddRecord{record(RecordKind::kReceipt, "main", 1, R"({"b":{"c":[]}})", "t")},
               AddRecord{record(RecordKind::kCheckpoint, "", 1, "\xff", "run")}});
}

inline std::string export_text(Store& store, const ExportScope& scope) {
  std::string text;
  export_sessions(store, scope, [&](std::string_view bytes) {
    text += bytes;
    return Result<void>();
  }).value();
  return text;
}

// An archive as a file.
inline std::unique_ptr<File> file_of(SimEnv& env, const std::string& text) {
  auto file = env.files().open("/archive", OpenMode::kCreate).value();
  file->truncate(0).value();
  file->write_at(0, text).value();
  return file;
}

inline Result<ArchiveCounts> import_text(Store& store, const std::string& text, const ImportTarget& target) {
  SimEnv env(1);
  const auto file = file_of(env, text);
  TERTULIA_TRY_AS(const ImportReport report, import_archive(store, *file, target));
  return report.counts;
}

}  // namespace tertulia::sample
