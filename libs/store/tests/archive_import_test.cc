#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/conversation/branch_rules.h"
#include "tertulia/store/import.h"

#include "archive_sample.h"
#include "tree.h"

namespace tertulia {
namespace archive_import_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ImportTarget kTarget{.tenant = TenantId::parse("local").value(),
                           .owner = OwnerId::parse("local").value()};

SessionKey key(std::string_view session) { return local_key(SessionId::parse(session).value()); }

class Import : public ::testing::Test {
 protected:
  SimEnv env_{1};
  std::unique_ptr<Store> store_ = open_memory_store();

  void put(const Path& path, std::string_view text) {
    env_.files().make_directory(path.parent_path()).value();
    auto file = env_.files().open(path, OpenMode::kCreate).value();
    file->truncate(0).value();
    file->write_at(0, text).value();
  }
  Result<ImportReport> import(const Path& path) {
    TERTULIA_TRY_AS(const ImportFormat format, guess_import_format(env_.files(), path));
    return import_from(*store_, env_, path, format, kTarget);
  }
  Result<ImportReport> import_chatgpt(std::string_view conversations) {
    put("/in/conversations.json", conversations);
    return import("/in/conversations.json");
  }
  // The texts of a branch, with the roles before them.
  std::vector<std::string> texts(std::string_view session, std::string_view branch) {
    std::vector<std::string> texts;
    const auto turns = read_turns(*store_, key(session), {.branch = sample::branch(branch)}).value();
    for (const StoredTurn& turn : turns) {
      for (const Message& message : turn.turn.messages()) {
        std::string text = std::string(name_of(message.role())) + ":";
        for (std::size_t i = 0; i < message.part_count(); ++i)
          text += " " + std::string(message.part(i).text);
        texts.push_back(std::move(text));
      }
    }
    return texts;
  }
  bool is_empty() { return list(*store_, {.tenant = kTarget.tenant}).value().sessions.empty(); }
};

// Every path of the tree as the ids of its messages.
void paths_of(const Json& message, std::vector<std::string> before,
              std::set<std::vector<std::string>>& paths) {
  before.push_back(*message.as_object()->find("message_id")->as_string());
  const JsonArray& replies = *message.as_object()->find("replies")->as_array();
  if (replies.empty()) paths.insert(before);
  for (const Json& reply : replies) paths_of(reply, before, paths);
}

TEST_F(Import, OpenAssistantTreesComeOverWithEveryPath) {
  const Path path = trial::test_data() / "oasst" / "trees.jsonl";
  const ImportReport report = import_from(*store_, real_env(), path, ImportFormat::kOasst, kTarget).value();
  EXPECT_EQ(report.counts.sessions, 10U);
  EXPECT_EQ(report.counts.messages, 123U);
  EXPECT_EQ(report.counts.branches, 63U);
  EXPECT_EQ(report.adaptations, 0U);

  const std::string text = read_file(real_env().files(), path).value();
  std::size_t fork_points = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const Json tree = parse_json(std::string_view(text).substr(begin, end - begin), {.depth = 255}).value();
    begin = end + 1;
    const Json& prompt = *tree.as_object()->find("prompt");
    std::set<std::vector<std::string>> expected;
    paths_of(prompt, {}, expected);
    const SessionKey session = key(*tree.as_object()->find("message_tree_id")->as_string());
    const SessionState state = load(*store_, session).value();
    std::set<std::vector<std::string>> actual;
    std::set<std::pair<BranchId, std::size_t>> points;
    for (const BranchHead& head : state.branches) {
      std::vector<std::string> ids;
      const auto turns = read_turns(*store_, session, {.branch = head.id}).value();
      for (const StoredTurn& turn : turns) {
        for (const Message& message : turn.turn.messages()) ids.emplace_back(message.source_id());
      }
      EXPECT_EQ(ids.size(), head.message_count);
      actual.insert(std::move(ids));
      if (head.forked_from) points.emplace(head.forked_from->parent, head.forked_from->at_index);
    }
    EXPECT_EQ(actual, expected);
    fork_points += points.size();
  }
  EXPECT_EQ(fork_points, 31U);
  EXPECT_TRUE(verify(*store_).value().problems.empty());
}

constexpr std::string_view kChat = R"json([
 {"title": "Sums", "create_time": 1700000000.5, "update_time": 1700000100, "id": "c-1", "current_node": "a2",
  "mapping": {
   "root": {"id": "root", "message": null, "parent": null, "children": ["u1"]},
   "u1": {"id": "u1", "parent": "root", "children": ["a1", "a2"], "message": {"id": "u1", "author": {"role": "user"},
     "create_time": 1700000001, "content": {"content_type": "text", "parts": ["What is 10 + 20?"]}}},
   "a1": {"id": "a1", "parent": "u1", "children": [], "message": {"id": "a1", "author": {"role": "assistant"},
     "content": {"content_type": "text", "parts": ["31"]}, "metadata": {"model_slug": "gpt-4"}}},
   "a2": {"id": "a2", "parent": "u1", "children": [], "message": {"id": "a2", "author": {"role": "assistant"},
     "content": {"content_type": "text", "parts": ["30"]}}}}},
 {"title": null, "id": "c-2", "mapping": {
   "u": {"parent": null, "message": {"id": "u", "author": {"role": "user"}, "content": {"parts": ["Run it"]}}},
   "call": {"parent": "u", "message": {"id": "call", "author": {"role": "assistant"}, "recipient": "python",
     "content": {"content_type": "code", "text": "print(1)"}}},
   "out1": {"parent": "call", "message": {"id": "out1", "author": {"role": "tool", "name": "python"},
     "content": {"content_type": "execution_output", "text": "1"}}},
   "out2": {"parent": "call", "message": {"id": "out2", "author": {"role": "tool", "name": "python"},
     "content": {"content_type": "execution_output", "text": "one"}}},
   "late": {"parent": "out1", "message": {"id": "late", "author": {"role": "tool", "name": "browser"},
     "content": {"content_type": "tether_browsing_display", "result": "a page"}}},
   "cut": {"parent": "out1", "message": {"id": "cut", "author": {"role": "assistant"}, "recipient": "python",
     "content": {"content_type": "code", "text": "{\"x\":1}"}}}}}
])json";

TEST_F(Import, AChatGptExportBecomesSessionsWithTheCurrentPathAsMain) {
  const ImportReport report = import_chatgpt(kChat).value();
  EXPECT_EQ(report.counts.sessions, 2U);
  const SessionState state = load(*store_, key("c-1")).value();
  EXPECT_EQ(*state.session.metadata.find("title")->as_string(), "Sums");
  EXPECT_EQ(state.session.last_activity, Time(std::chrono::seconds(1700000100)));
  ASSERT_EQ(state.branches.size(), 2U);
  EXPECT_THAT(texts("c-1", "main"), ElementsAre("user: What is 10 + 20?", "assistant: 30"));
  EXPECT_THAT(texts("c-1", "path-2"), ElementsAre("user: What is 10 + 20?", "assistant: 31"));
  EXPECT_EQ(state.branches[1].forked_from, (ForkOrigin{main_branch(), 0}));
  const auto turns = read_turns(*store_, key("c-1"), {.branch = sample::branch("path-2")}).value();
  const Message& answer = turns.back().turn.messages().back();
  EXPECT_EQ(answer.source(), "chatgpt");
  EXPECT_EQ(answer.source_id(), "a1");
  EXPECT_EQ(answer.author(), "gpt-4");
  EXPECT_EQ(answer.origin(), Origin::kImport);
}

TEST_F(Import, ToolMessagesArePairedAndWhatWasAddedIsReported) {
  const ImportReport report = import_chatgpt(kChat).value();
  EXPECT_THAT(texts("c-2", "main"), ElementsAre("user: Run it", R"x(assistant: {"input":"print(1)"})x",
                                                "tool: 1", "assistant: {}", "tool: a page"));
  const auto cut = texts("c-2", "path-2");
  ASSERT_EQ(cut.size(), 5U);
  EXPECT_EQ(cut[3], R"(assistant: {"x":1})");
  EXPECT_THAT(cut[4], HasSubstr("not known"));
  // The second result of the same call cannot share the call: a group is never parted.
  EXPECT_THAT(texts("c-2", "path-3"),
              ElementsAre("user: Run it", R"x(assistant: {"input":"print(1)"})x", "tool: one"));
  EXPECT_EQ(load(*store_, key("c-2")).value().branches[2].forked_from, (ForkOrigin{main_branch(), 0}));
  EXPECT_EQ(report.adaptations, 3U);
  EXPECT_THAT(report.adapted, Contains(HasSubstr("browser")));
  EXPECT_THAT(report.adapted, Contains(HasSubstr("has no result")));
  EXPECT_THAT(report.adapted, Contains(HasSubstr("leaves inside a tool call")));
  EXPECT_TRUE(verify(*store_).value().problems.empty());
}

TEST_F(Import, SeveralFirstMessagesBecomeBranchesOfTheirOwn) {
  import_chatgpt(R"([{"id": "c", "mapping": {
    "root": {"parent": null, "children": ["x", "y"], "message": null},
    "y": {"parent": "root", "message": {"author": {"role": "user"}, "content": {"parts": ["edited"]}}},
    "x": {"parent": "root", "message": {"author": {"role": "user"}, "content": {"parts": ["first"]}}}}}])")
      .value();
  EXPECT_THAT(texts("c", "main"), ElementsAre("user: first"));
  EXPECT_THAT(texts("c", "path-2"), ElementsAre("user: edited"));
}

TEST_F(Import, OneBadConversationRefusesTheWholeExport) {
  const std::string good = R"({"id": "good", "mapping": {"u": {"parent": null, "message":
    {"author": {"role": "user"}, "content": {"parts": ["hi"]}}}}})";
  const std::string circle = R"({"id": "bad", "mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}})";
  const auto cyclic = import_chatgpt("[" + good + "," + circle + "]");
  ASSERT_FALSE(cyclic);
  EXPECT_EQ(cyclic.error().code(), ErrorCode::kDamaged);
  EXPECT_THAT(cyclic.error().message(), HasSubstr("conversation 2: "));
  EXPECT_TRUE(is_empty());
  EXPECT_EQ(import_chatgpt("[" + good + "," + good + "]").error().code(), ErrorCode::kDuplicateKey);
  EXPECT_EQ(import_chatgpt("[" + good + ",").error().code(), ErrorCode::kBadJson);
  EXPECT_EQ(import_chatgpt("[" + good + R"(, {"id": "x"}])").error().code(), ErrorCode::kMissingField);
  EXPECT_EQ(import_chatgpt("[]").error().code(), ErrorCode::kEmptyBody);
  EXPECT_EQ(import_chatgpt("[" + std::string(100'000, '[') + "]").error().code(), ErrorCode::kBadJson);
  EXPECT_TRUE(is_empty());
  EXPECT_TRUE(import_chatgpt("[" + good + "]"));
  EXPECT_EQ(import_chatgpt("[" + good + "]").error().code(), ErrorCode::kSessionExists);
}

TEST_F(Import, ALayoutOfFoldersComesOverWithItsBranches) {
  put("/data/sessions/user-123/session.json",
      R"({"Id": "user-123", "CreatedAt": "2025-03-01T10:00:00Z", "LastActivity": "2025-03-01T11:00:00.5+01:00",
          "Metadata": {"project": "x"}, "MiddlewareState": {"permissions": "{\"bash\":true}"}})");
  put("/data/sessions/user-123/branches/main/branch.json",
      R"({"Id": "main", "SessionId": "user-123", "Messages": [
    {"Role": "user", "Content": "Add 10 and 20"},
    {"role": "assistant", "contents": [{"$type": "functionCall", "callId": "c1", "name": "Add", "arguments": {"a": 10}}]},
    {"role": "tool", "contents": [{"$type": "functionResult", "callId": "c1", "result": 30}]},
    {"role": "assistant", "contents": [{"$type": "text", "text": "30"}]}]})");
  put("/data/sessions/user-123/branches/formal/branch.json",
      R"({"Id": "formal", "ForkedFrom": "main", "ForkedAtMessageIndex": 0, "MiddlewareState": {"plan": "p"}, "Messages": [
    {"Role": "user", "Content": "Add 10 and 20"}, {"role": "assistant", "content": "It is thirty, Sir."}]})");
  put("/data/sessions/user-123/uncommitted.json", "{}");
  const ImportReport report = import("/data").value();
  EXPECT_EQ(report.counts.branches, 2U);
  const SessionState state = load(*store_, key("user-123")).value();
  EXPECT_EQ(state.session.last_activity - state.session.created_at, std::chrono::milliseconds(500));
  EXPECT_EQ(*state.session.metadata.find("project")->as_string(), "x");
  EXPECT_EQ(state.session.state.at("permissions").text(), R"("{\"bash\":true}")");
  ASSERT_EQ(state.branches.size(), 2U);
  EXPECT_EQ(state.branches[1].id, sample::branch("formal"));
  EXPECT_EQ(state.branches[1].forked_from, (ForkOrigin{main_branch(), 0}));
  EXPECT_THAT(texts("user-123", "main"),
              ElementsAre("user: Add 10 and 20", R"(assistant: {"a":10})", "tool: 30", "assistant: 30"));
  EXPECT_THAT(texts("user-123", "formal"),
              ElementsAre("user: Add 10 and 20", "assistant: It is thirty, Sir."));
  EXPECT_THAT(report.adapted, ElementsAre(HasSubstr("unfinished turn")));
}

TEST_F(Import, ALayoutWithABadFileChangesNothing) {
  put("/data/sessions/a/session.json", "{}");
  put("/data/sessions/a/branches/main/branch.json", R"({"Messages": []})");
  put("/data/sessions/b/session.json", "");
  const auto empty = import("/data");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code(), ErrorCode::kEmptyBody);
  EXPECT_THAT(empty.error().message(), HasSubstr("b/session.json"));
  put("/data/sessions/b/session.json", "{}");
  put("/data/sessions/b/branches/x/branch.json", R"({"ForkedFrom": "y", "Messages": []})");
  put("/data/sessions/b/branches/y/branch.json", R"({"ForkedFrom": "x", "Messages": []})");
  EXPECT_EQ(import("/data").error().code(), ErrorCode::kDamaged);
  EXPECT_TRUE(is_empty());
}

TEST_F(Import, WhatIsNothingOfOursIsNamed) {
  put("/in/a.zip", "PK\x03\x04");
  EXPECT_THAT(import("/in/a.zip").error().message(), HasSubstr("unpack"));
  put("/in/a.txt", "hello");
  EXPECT_EQ(import("/in/a.txt").error().code(), ErrorCode::kForeignData);
  EXPECT_EQ(import("/in/none").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(import("/in").error().code(), ErrorCode::kForeignData);
  EXPECT_EQ(import_format_named("chatgtp").error().code(), ErrorCode::kOutOfRange);
}

}  // namespace archive_import_test
}  // namespace tertulia
