// What checkpoints promise: where they are made, what they hold, who may go on from them, and from where.
#include <mutex>

#include "tertulia/tools/function_tool.h"
#include "tertulia/workflow/concurrent.h"
#include "tertulia/workflow/sequential.h"

#include "fault_store.h"
#include "rule_model.h"
#include "workflow_fixture.h"

namespace tertulia {
namespace checkpoint_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class CheckpointTest : public WorkflowTest {
 protected:
  SessionKey key = local_key(SessionId::parse("s").value());
  std::vector<std::string> ran;
  std::mutex mutex;

  void note_run(const std::string& name) {
    const std::lock_guard lock(mutex);
    ran.push_back(name);
  }
  Node step(const std::string& id) {
    return make_node<std::string>(id, [this, id](const std::string& text) {
      note_run(id);
      return text + id;
    });
  }
  static Node out() {
    return make_node<Json>("out", [](const Json& value, NodeContext& context) { context.output(value); });
  }
  // a, then b and c side by side, joined.
  Workflow diamond() {
    return WorkflowBuilder("diamond")
        .add(step("a"))
        .add(step("b"))
        .add(step("c"))
        .add(step("d"))
        .add(out())
        .start("a")
        .fan_out("a", {"b", "c"})
        .edge("c", "d")
        .fan_in({"b", "d"}, "out")
        .build()
        .value();
  }
  Workflow asking() {
    Node ask = make_node<std::string>(
        "ask",
        [this](const std::string&, NodeContext& context) {
          note_run("ask");
          context.request_info("May I?");
        },
        [this](const InfoAnswer& answer, NodeContext& context) -> Result<void> {
          note_run("answered");
          context.send("answered " + *answer.answer.as_string());
          return {};
        });
    return WorkflowBuilder("asking").add(ask).add(out()).start("ask").edge("ask", "out").build().value();
  }
  std::vector<std::string> ids_of(const std::string& run) {
    std::vector<std::string> ids;
    for (const CheckpointInfo& one : workflows->checkpoints(key, run).value()) ids.push_back(one.id);
    return ids;
  }
};

TEST_F(CheckpointTest, AForkFromTheEntryReplaysTheWholeRun) {
  auto run = workflows->run(diamond(), "x", {.session = "s"});
  const std::string first = run.result().value().text();
  ran.clear();
  EXPECT_EQ(workflows->fork(diamond(), key, run.id() + "/1").result().value().text(), first);
  EXPECT_THAT(ran, SizeIs(4));
  EXPECT_EQ(ran.front(), "a");
}

TEST_F(CheckpointTest, OneCheckpointIsGoneOnFromTwiceAndNeitherSeesTheOther) {
  auto run = workflows->run(diamond(), "x", {.session = "s"});
  const WorkflowOutcome first = run.result().value();
  // The fan-in waits with b's message there.
  for (int i = 0; i < 2; ++i) {
    ran.clear();
    const WorkflowOutcome again = workflows->fork(diamond(), key, run.id() + "/3").result().value();
    EXPECT_EQ(again.outputs, first.outputs);
    EXPECT_THAT(ran, ElementsAre("d"));
  }
}

TEST_F(CheckpointTest, AForkFromBeforeTheAnswerAsksAgainAndOneFromBehindItDoesNot) {
  auto run = workflows->run(asking(), "x", {.session = "s"});
  const std::string request = run.result().value().requests.at(0).id;
  const std::size_t before = ids_of(run.id()).size();
  ASSERT_TRUE(workflows->answer(key, run.id(), request, "yes"));
  EXPECT_EQ(workflows->resume(asking(), key, run.id()).result().value().text(), "answered yes");
  const std::vector<std::string> ids = ids_of(run.id());
  ASSERT_GT(ids.size(), before);
  const WorkflowOutcome asked = workflows->fork(asking(), key, ids.at(before - 1)).result().value();
  EXPECT_EQ(asked.status, WorkflowStatus::kWaiting);
  EXPECT_EQ(asked.requests.at(0).id, request);
  // Behind it the answer is in flight.
  ran.clear();
  auto behind = workflows->fork(asking(), key, ids.at(before));
  EXPECT_THAT(names_of(behind), Not(Contains("request_info ask")));
  EXPECT_EQ(behind.result().value().text(), "answered yes");
  EXPECT_THAT(ran, ElementsAre("answered"));
  // Each fork is answered by itself.
  ASSERT_TRUE(workflows->answer(asked.key, asked.run, request, "no"));
  EXPECT_EQ(workflows->resume(asking(), asked.key, asked.run).result().value().text(), "answered no");
}

TEST_F(CheckpointTest, TheFirstCheckpointAfterAResumeStandsBehindTheOneItWentOnFrom) {
  bool broken = true;
  Node flaky = make_node<std::string>("b", [&](const std::string& text) -> Result<std::string> {
    if (broken) return Error(ErrorCode::kModelUnavailable, "not now");
    return text;
  });
  const Workflow workflow =
      WorkflowBuilder("w").add(step("a")).add(flaky).start("a").edge("a", "b").build().value();
  auto run = workflows->run(workflow, "x", {.session = "s"});
  EXPECT_FALSE(run.result());
  const std::string last = ids_of(run.id()).back();
  broken = false;
  restart();
  workflows->resume(workflow, key, run.id()).result().value();
  const auto list = workflows->checkpoints(key, run.id()).value();
  for (std::size_t i = 1; i < list.size(); ++i) EXPECT_EQ(list[i].parent, list[i - 1].id);
  EXPECT_THAT(ids_of(run.id()), Contains(last));
  EXPECT_EQ(list.back().status, WorkflowStatus::kCompleted);
  EXPECT_EQ(workflows->show(key, run.id()).value().checkpoint, list.back().id);
}

TEST_F(CheckpointTest, ACheckpointThatCannotBeWrittenStopsTheRunAndItGoesOnFromTheLast) {
  auto disk = std::shared_ptr<Store>(open_memory_store());
  {
    auto dying = std::make_shared<FaultStore>(disk, 3, FaultStore::When::kBefore);
    auto on = WorkflowEngine::open({.engine = Engine::open({.store = dying}).value(), .threads = 2}).value();
    const auto outcome = on->run(diamond(), "x", {.session = "s", .run = "r"}).result();
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code(), ErrorCode::kStorageIo);
  }
  auto on = WorkflowEngine::open({.engine = Engine::open({.store = disk}).value(), .threads = 2}).value();
  ran.clear();
  EXPECT_EQ(to_text(on->resume(diamond(), key, "r").result().value().outputs.at(0).data),
            R"(["xab","xacd"])");
  EXPECT_THAT(ran, Not(Contains("a")));
}

TEST_F(CheckpointTest, ARunIsResumedByOneAtATime) {
  std::promise<void> inside;
  std::promise<void> go;
  auto gone = go.get_future().share();
  std::atomic<int> calls = 0;
  Node slow = make_node<std::string>("slow", [&](const std::string& text) -> Result<std::string> {
    if (++calls == 1) return Error(ErrorCode::kModelUnavailable, "not now");
    inside.set_value();
    gone.wait();
    return text;
  });
  const Workflow workflow = WorkflowBuilder("w").add(slow).start("slow").build().value();
  auto run = workflows->run(workflow, "x", {.session = "s"});
  EXPECT_FALSE(run.result());
  auto first = workflows->resume(workflow, key, run.id());
  inside.get_future().wait();
  EXPECT_EQ(code_of(workflows->resume(workflow, key, run.id())), ErrorCode::kTurnRunning);
  go.set_value();
  EXPECT_TRUE(first.result().ok());
  EXPECT_EQ(calls, 2);
}

TEST_F(CheckpointTest, ARunIsNamedLikeEverythingElseAndNeverAPath) {
  for (const char* name : {"../../outside", "a/b", ".hidden", "", "with space"}) {
    if (std::string(name).empty()) continue;
    EXPECT_EQ(code_of(workflows->run(diamond(), "x", {.session = "s", .run = name})), ErrorCode::kBadId)
        << name;
    EXPECT_EQ(code_of(workflows->resume(diamond(), key, name)), ErrorCode::kBadId) << name;
  }
}

TEST_F(CheckpointTest, ACheckpointOfANewerVersionIsRefusedAndHidesNoOtherRun) {
  auto run = workflows->run(diamond(), "x", {.session = "s"});
  run.result().value();
  workflows->run(diamond(), "x", {.session = "other"}).result().value();
  const std::size_t count = ids_of(run.id()).size();
  Note newer{.key = key, .conditions = {}, .changes = {}};
  newer.changes.emplace_back(
      AddRecord{{.stream = {.kind = RecordKind::kCheckpoint, .branch = {}, .scope = run.id()},
                 .number = count + 1,
                 .time = Time{},
                 .key = run.id() + "/9",
                 .name = "running",
                 .payload = R"({"v":2,"whole":true})"}});
  ASSERT_TRUE(note(*store, std::move(newer)));
  EXPECT_EQ(code_of(workflows->resume(diamond(), key, run.id())), ErrorCode::kNeedsVersion);
  // Nor is it taken for a run that is not there.
  EXPECT_EQ(code_of(workflows->run(diamond(), "x", {.session = "s", .run = run.id()})),
            ErrorCode::kNeedsVersion);
  EXPECT_THAT(workflows->list(key.tenant, key.owner).value(), SizeIs(1));
}

TEST_F(CheckpointTest, PoliciesOfOneRunDoNotLeakIntoTheNext) {
  auto model = scripted_model();
  for (int i = 0; i < 3; ++i) model->add(ModelStep().say(std::to_string(i)));
  const Workflow workflow = SequentialBuilder().add(agent_with("a", model)).build().value();
  ConversationPolicy latest;
  latest.retention = Retention::kLatestOnly;
  workflows->run(workflow, "one", {.session = "s"}).result().value();
  workflows->run(workflow, "two", {.session = "s", .policies = {{"a", latest}}}).result().value();
  workflows->run(workflow, "three", {.session = "s"}).result().value();
  EXPECT_THAT(seen_by(model->requests().at(1)), ElementsAre("user: two"));
  EXPECT_THAT(seen_by(model->requests().at(2)),
              ElementsAre("user: one", "assistant: 0", "user: two", "assistant: 1", "user: three"));
}

TEST_F(CheckpointTest, ARunWhoseThreadsAreForksCanBeForked) {
  const Workflow workflow =
      SequentialBuilder()
          .add(agent_with("a", counting_model("a")), {.thread = ThreadKind::kFork, .review = true})
          .add(agent_with("b", counting_model("b")), {.thread = ThreadKind::kFork})
          .build()
          .value();
  workflows->run(workflow, "Before.", {.session = "s", .run = "zero"}).result().value();
  workflows->resume(workflow, key, "zero", {.answers = {{"1.a.0", ""}}}).result().value();
  auto run = workflows->run(workflow, "Go.", {.session = "s"});
  ASSERT_EQ(run.result().value().status, WorkflowStatus::kWaiting);
  const std::string asked = ids_of(run.id()).back();
  const auto say_more = [&](const WorkflowOutcome& at) {
    return workflows->resume(workflow, at.key, at.run, {.answers = {{"1.a.0", "More."}}}).result().value();
  };
  const auto forked = workflows->fork(workflow, key, asked).result();
  ASSERT_TRUE(forked.ok()) << forked.error().message();
  const WorkflowOutcome one = say_more(run.result().value());
  const WorkflowOutcome other = say_more(*forked);
  EXPECT_EQ(transcript_hash(one.snapshot.transcript), transcript_hash(other.snapshot.transcript));
  EXPECT_THAT(lines_of(other.snapshot.transcript), Contains(HasSubstr("a heard 6")));
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

TEST_F(CheckpointTest, ThePermissionThatATurnWaitsForIsGivenByAnotherProcess) {
  int paid = 0;
  ToolPtr pay = make_tool("pay", "Pays.", [&paid](const ToolCall&) {
    ++paid;
    return std::string("paid");
  });
  const auto build = [&] {
    auto asks =
        std::make_shared<AgentDefinition>(*agent_with("payer", counting_model("payer", "pay"), {pay}));
    asks->permissions = PermissionPolicy{};
    return SequentialBuilder("pays").add(asks).add(agent_with("b", counting_model("b"))).build().value();
  };
  std::string run;
  {
    auto first = workflows->run(build(), "Go.", {.session = "s"});
    run = first.id();
    for (const Event& event : first) {
      if (event.kind == EventKind::kPermissionAsked) break;
    }
  }
  EXPECT_EQ(paid, 0);
  restart();
  const std::vector<Question> open = engine->questions(key.tenant, key.owner).value();
  ASSERT_THAT(open, SizeIs(1));
  EXPECT_EQ(open[0].tool, "pay");
  ASSERT_TRUE(engine->answer(key, open[0].id(), {.choice = Answer::Choice::kOnce}));
  const WorkflowOutcome outcome = workflows->resume(build(), key, run).result().value();
  EXPECT_EQ(outcome.status, WorkflowStatus::kCompleted);
  EXPECT_EQ(paid, 1);
  EXPECT_THAT(lines_of(outcome.snapshot.transcript), Contains("payer: paid"));
}

TEST_F(CheckpointTest, ADeniedToolIsAnOrdinaryResultAndTheWorkflowGoesOn) {
  ToolPtr pay = make_tool("pay", "Pays.", [](const ToolCall&) -> std::string {
    ADD_FAILURE() << "it must not run";
    return {};
  });
  auto asks = std::make_shared<AgentDefinition>(*agent_with("payer", counting_model("payer", "pay"), {pay}));
  asks->permissions = PermissionPolicy{.rules = {{.tool = "pay", .permission = Permission::kDeny}}};
  const Workflow workflow = SequentialBuilder()
                                .add(AgentDefinitionPtr(asks))
                                .add(agent_with("b", counting_model("b")))
                                .build()
                                .value();
  const WorkflowOutcome outcome = workflows->run(workflow, "Go.", {.session = "s"}).result().value();
  EXPECT_THAT(lines_of(outcome.snapshot.transcript), Contains(HasSubstr("does not allow this call")));
  EXPECT_THAT(outcome.text(), HasSubstr("b heard"));
}

}  // namespace checkpoint_test
}  // namespace tertulia
