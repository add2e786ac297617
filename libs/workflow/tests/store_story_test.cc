// The same story on every store: agents with and without tools, a question, a restart, a fork.
#include <filesystem>

#include <unistd.h>

#include "tertulia/store/json_store.h"
#include "tertulia/store/sqlite_store.h"
#include "tertulia/tools/function_tool.h"
#include "tertulia/workflow/concurrent.h"
#include "tertulia/workflow/sequential.h"

#include "rule_model.h"
#include "workflow_fixture.h"

namespace tertulia {
namespace store_story_test {

using testing::ElementsAre;
using testing::IsEmpty;

class StoreStory : public WorkflowTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    directory = std::filesystem::temp_directory_path() /
                ("tertulia-story-" + std::string(GetParam()) + "-" + std::to_string(::getpid()));
    std::filesystem::remove_all(directory);
    reopen();
  }
  void TearDown() override {
    workflows.reset();
    engine.reset();
    store.reset();
    std::filesystem::remove_all(directory);
  }
  void reopen() {
    workflows.reset();
    engine.reset();
    const std::string kind = GetParam();
    if (kind != "memory") store.reset();
    if (kind == "sqlite") store = open_sqlite_store(real_env(), directory).value();
    if (kind == "json") store = open_json_store(real_env(), directory).value();
    engine = Engine::open({.store = store}).value();
    workflows = WorkflowEngine::open({.engine = engine, .handle_key = HandleKey{1}, .threads = 4}).value();
  }

  std::filesystem::path directory;
};

TEST_P(StoreStory, AWorkflowIsStoppedAnsweredResumedAndForked) {
  int looked = 0;
  const auto build = [&] {
    ToolPtr look = make_tool("look", "Looks.", [&looked](const ToolCall&) {
      ++looked;
      return std::string("seen");
    });
    return SequentialBuilder("story")
        .add(agent_with("scout", counting_model("scout", "look"), {look}))
        .add(agent_with("writer", counting_model("writer")), {.review = true})
        .add(agent_with("editor", counting_model("editor")))
        .build()
        .value();
  };
  const WorkflowOutcome asked = workflows->run(build(), "Go.", {.session = "s"}).result().value();
  ASSERT_EQ(asked.status, WorkflowStatus::kWaiting);
  reopen();
  const StoredRun waiting = workflows->list(asked.key.tenant, asked.key.owner).value().at(0);
  ASSERT_TRUE(workflows->answer(waiting.key, waiting.run, waiting.requests.at(0).id, ""));
  reopen();
  const WorkflowOutcome done = workflows->resume(build(), waiting.key, waiting.run).result().value();
  EXPECT_EQ(done.status, WorkflowStatus::kCompleted);
  EXPECT_THAT(lines_of(done.snapshot.transcript),
              ElementsAre("user: Go.", "scout: {}", "scout: seen", "scout: scout heard 3, last: ",
                          "writer: writer heard 2, last: scout: scout heard 3, last: ",
                          "editor: editor heard 3, last: writer: writer heard 2, last: scout: scout heard 3, "
                          "last: "));
  EXPECT_EQ(looked, 1);
  reopen();
  const auto checkpoints = workflows->checkpoints(done.key, done.run).value();
  const WorkflowOutcome forked = workflows->fork(build(), done.key, checkpoints.at(1).id).result().value();
  EXPECT_EQ(forked.status, WorkflowStatus::kWaiting);
  EXPECT_EQ(forked.snapshot.transcript.size(), 5U);
  const auto second = workflows->run(build(), "Again.", {.session = "s", .branch = done.branch}).result();
  ASSERT_TRUE(second.ok()) << second.error().message();
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Every, StoreStory, testing::Values("memory", "json", "sqlite"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace store_story_test
}  // namespace tertulia
