// The graph engine: validation, supersteps, state, limits, failures and cancellation.
#include <algorithm>
#include <atomic>
#include <functional>

#include "graph_nodes.h"
#include "workflow_fixture.h"

namespace tertulia {
namespace graph_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using trial::append;
using trial::gather;
using trial::print;

using GraphTest = WorkflowTest;

Workflow chain() {
  return WorkflowBuilder("chain")
      .add(append("a", "A"))
      .add(append("b", "B"))
      .add(print("out"))
      .start("a")
      .edge("a", "b")
      .edge("b", "out")
      .build()
      .value();
}

TEST_F(GraphTest, AChainHandsItsMessageOn) {
  auto run = workflows->run(chain(), "x", {.session = "s"});
  EXPECT_THAT(names_of(run),
              ElementsAre("workflow_started chain", "superstep_started", "executor_invoked a",
                          "executor_completed a", "superstep_completed", "superstep_started",
                          "executor_invoked b", "executor_completed b", "superstep_completed",
                          "superstep_started", "executor_invoked out", "executor_completed out",
                          "workflow_output out", "superstep_completed", "workflow_status completed"));
  const WorkflowOutcome outcome = run.result().value();
  EXPECT_EQ(outcome.text(), "xAB");
  EXPECT_EQ(outcome.supersteps, 3U);
}

TEST_F(GraphTest, AnInternalNodeThatAnswersLateFailsTheRunAndNothingElse) {
  Done<void> kept;
  Node late;
  late.id = "late";
  late.internal = true;
  late.body = [&kept](NodeContext&, Done<void> done) { kept = std::move(done); };
  const Workflow workflow = WorkflowBuilder("late")
                                .add(append("a", "A"))
                                .add(late)
                                .add(print("out"))
                                .start("a")
                                .edge("a", "late")
                                .edge("late", "out")
                                .build()
                                .value();
  const auto ended = workflows->run(workflow, "x", {.session = "s"}).result();
  EXPECT_THAT(ended.error().message(), HasSubstr("'late' has not answered"));
  kept({});
  EXPECT_EQ(workflows->run(chain(), "x", {.session = "t"}).result().value().text(), "xAB");
}

TEST_F(GraphTest, EveryProblemOfAGraphIsListed) {
  Node number = make_node<int>("number", [](int value) { return value; });
  const auto built = WorkflowBuilder("bad")
                         .add(append("a", "A"))
                         .add(append("a", "B"))
                         .add(number)
                         .add(append("alone", "X"))
                         .start("nowhere")
                         .edge("a", "number")
                         .edge("a", "missing")
                         .fan_out("a", {"number"})
                         .fan_in({"a"}, "number")
                         .switch_case("a", {}, "a")
                         .output_from({"a", "a", "ghost"})
                         .build();
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().code(), ErrorCode::kBadGraph);
  const auto problems = std::get<std::vector<std::string>>(*built.error().fact("problems"));
  for (const char* part : {"two nodes 'a'", "start 'nowhere'", "'a' sends string, and 'number' takes integer",
                           "no node 'missing'", "two targets or more", "two sources or more",
                           "case beside its default", "'a' is named twice", "'ghost', which is not there"}) {
    EXPECT_THAT(problems, Contains(HasSubstr(part)));
  }
}

TEST_F(GraphTest, UnreachableNodesAndDuplicateEdgesAreRefused) {
  const auto unreachable =
      WorkflowBuilder("w").add(append("a", "A")).add(append("b", "B")).start("a").build();
  EXPECT_THAT(unreachable.error().message(), HasSubstr("'b' cannot be reached from 'a'"));
  const auto twice = WorkflowBuilder("w")
                         .add(append("a", "A"))
                         .add(append("b", "B"))
                         .start("a")
                         .edge("a", "b")
                         .edge("a", "b")
                         .build();
  EXPECT_THAT(twice.error().message(), HasSubstr("two of the single edge"));
}

TEST_F(GraphTest, SelfLoopsAndDeadEndsAreWarnings) {
  const Workflow workflow = WorkflowBuilder("w")
                                .add(append("a", "A"))
                                .add(append("b", "B"))
                                .start("a")
                                .edge("a", "a", "never", [](const WorkflowMessage&) { return false; })
                                .edge("a", "b")
                                .output_from({"a"})
                                .build()
                                .value();
  EXPECT_THAT(workflow.warnings(),
              ElementsAre("node 'a' leads to itself", "node 'b' leads nowhere, and nothing comes out of it"));
}

TEST_F(GraphTest, AMessageOfAnotherTypeIsDroppedWithAWarning) {
  Node a = make_node<std::string>("a", [](const std::string&, NodeContext& context) { context.send(7); });
  const Workflow workflow =
      WorkflowBuilder("w").add(a).add(print("b")).start("a").edge("a", "b").build().value();
  auto run = workflows->run(workflow, "x");
  bool warned = false;
  for (const Event& event : run) {
    if (event.kind != EventKind::kWarning) continue;
    warned = true;
    EXPECT_THAT(event.text, HasSubstr("type integer from 'a' was dropped"));
  }
  EXPECT_TRUE(warned);
}

TEST_F(GraphTest, NodesOfOneSuperstepRunSideBySideAndOneNodeNeverTwice) {
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::promise<void> both;
  const auto meet = [&](const std::string& text) {
    if (++inside == 2) both.set_value();
    // Each waits for the other: they only get on if they run at the same time.
    while (inside < 2) std::this_thread::yield();
    return text;
  };
  Node twice = make_node<std::string>("twice", [&](const std::string& text, NodeContext& context) {
    static std::atomic<int> here = 0;
    most = std::max(most.load(), ++here);
    context.output(text);
    --here;
  });
  const Workflow workflow = WorkflowBuilder("w")
                                .add(append("a", ""))
                                .add(make_node<std::string>("b", meet))
                                .add(make_node<std::string>("c", meet))
                                .add(twice)
                                .start("a")
                                .fan_out("a", {"b", "c"})
                                .edge("b", "twice")
                                .edge("c", "twice")
                                .build()
                                .value();
  EXPECT_THAT(outputs_of(workflows->run(workflow, "x").result().value()),
              ElementsAre("twice: x", "twice: x"));
  EXPECT_EQ(most, 1);
}

TEST_F(GraphTest, StateIsSeenByLaterSuperstepsAndByItsOwnNodeAtOnce) {
  Node a =
      make_node<std::string>("a", [](const std::string& text, NodeContext& context) -> Result<std::string> {
        context.set_state("k", "first");
        context.set_state("gone", 1);
        EXPECT_EQ(context.state("k"), Json("first"));
        TERTULIA_TRY(context.erase_state("gone"));
        EXPECT_FALSE(context.state("gone"));
        EXPECT_EQ(context.erase_state("gone").error().code(), ErrorCode::kNotFound);
        return text;
      });
  Node b = make_node<std::string>("b", [](const std::string&, NodeContext& context) {
    context.output(context.state("k").value_or("nothing"));
  });
  const Workflow workflow = WorkflowBuilder("w").add(a).add(b).start("a").edge("a", "b").build().value();
  EXPECT_THAT(outputs_of(workflows->run(workflow, "x").result().value()), ElementsAre("b: first"));
}

Workflow two_writers(bool merged) {
  const auto write = [](const std::string& id) {
    return make_node<std::string>(id, [id](const std::string&, NodeContext& context) {
      EXPECT_FALSE(context.state("k"));
      context.set_state("k", id);
      context.send(id);
    });
  };
  WorkflowBuilder builder("w");
  builder.add(append("a", ""))
      .add(write("b"))
      .add(write("c"))
      .add(make_node<Json>("out",
                           [](const Json&, NodeContext& context) { context.output(*context.state("k")); }))
      .start("a")
      .fan_out("a", {"b", "c"})
      .fan_in({"b", "c"}, "out");
  if (merged) {
    builder.merge_state("k", [](const Json& before, const std::vector<Json>& values) {
      EXPECT_TRUE(before.is_null());
      return Json(*values[0].as_string() + "+" + *values[1].as_string());
    });
  }
  return builder.build().value();
}

TEST_F(GraphTest, TwoWritersOfOneKeyAreAnErrorThatNamesBoth) {
  const auto outcome = workflows->run(two_writers(false), "x").result();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code(), ErrorCode::kStateConflict);
  EXPECT_THAT(outcome.error().message(), HasSubstr("'b' and 'c'"));
}

TEST_F(GraphTest, AMergeFunctionGetsTheValuesInDeclaredOrder) {
  EXPECT_THAT(outputs_of(workflows->run(two_writers(true), "x").result().value()), ElementsAre("out: b+c"));
}

TEST_F(GraphTest, AFailedSuperstepLeavesNoStateAndTheWorkflowCanRunAgain) {
  bool fails = true;
  Node a =
      make_node<std::string>("a", [&](const std::string& text, NodeContext& context) -> Result<std::string> {
        EXPECT_FALSE(context.state("k")) << "what a failed superstep staged is gone";
        context.set_state("k", 1);
        if (fails) return Error(ErrorCode::kModelUnavailable, "not now");
        return text;
      });
  const Workflow workflow =
      WorkflowBuilder("w").add(a).add(print("b")).start("a").edge("a", "b").build().value();
  auto run = workflows->run(workflow, "x", {.session = "s"});
  EXPECT_THAT(names_of(run), ElementsAre("workflow_started w", "superstep_started", "executor_invoked a",
                                         "executor_failed a", "workflow_failed model_unavailable",
                                         "workflow_status failed"));
  EXPECT_EQ(run.result().error().code(), ErrorCode::kModelUnavailable);
  fails = false;
  EXPECT_EQ(workflows->run(workflow, "again", {.session = "s"}).result().value().text(), "again");
}

TEST_F(GraphTest, AnExceptionIsAFailureOfItsNode) {
  Node a = make_node<std::string>(
      "a", [](const std::string&) -> std::string { throw std::runtime_error("boom"); });
  const Workflow workflow = WorkflowBuilder("w").add(a).start("a").build().value();
  const auto outcome = workflows->run(workflow, "x").result();
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message(), HasSubstr("boom"));
}

TEST_F(GraphTest, ANodeIsTriedAgainAndThenPassedOver) {
  std::atomic<int> tries = 0;
  Node flaky = make_node<std::string>("flaky", [&](const std::string& text) -> Result<std::string> {
    if (++tries < 3) return Error(ErrorCode::kModelUnavailable, "not yet");
    return text;
  });
  flaky.on_failure = {.retries = 2};
  Node broken = make_node<std::string>("broken", [](const std::string&) -> Result<std::string> {
    return Error(ErrorCode::kModelUnavailable, "never");
  });
  broken.on_failure = {.retries = 1, .skip = true};
  const Workflow workflow = WorkflowBuilder("w")
                                .add(append("a", ""))
                                .add(flaky)
                                .add(broken)
                                .add(print("out"))
                                .start("a")
                                .fan_out("a", {"flaky", "broken"})
                                .edge("flaky", "out")
                                .edge("broken", "out")
                                .build()
                                .value();
  auto run = workflows->run(workflow, "x");
  EXPECT_THAT(names_of(run), Contains("executor_bypassed broken"));
  // From flaky, and what broken was sent.
  EXPECT_THAT(outputs_of(run.result().value()), ElementsAre("out: x", "out: x"));
  EXPECT_EQ(tries, 3);
}

TEST_F(GraphTest, ALoopEndsAtTheLimitOfSupersteps) {
  const Workflow workflow = WorkflowBuilder("w")
                                .add(append("a", "."))
                                .add(append("b", "."))
                                .start("a")
                                .edge("a", "b")
                                .edge("b", "a")
                                .max_supersteps(7)
                                .build()
                                .value();
  const auto outcome = workflows->run(workflow, "x").result();
  EXPECT_EQ(outcome.error().code(), ErrorCode::kLimitReached);
  EXPECT_THAT(outcome.error().message(), HasSubstr("7 supersteps"));
}

TEST_F(GraphTest, OutputsComeFromTheNodesThatWereNamed) {
  const auto both = [](const std::string& id) {
    return make_node<std::string>(id, [](const std::string& text, NodeContext& context) {
      context.output(text);
      context.send(text);
    });
  };
  const Workflow workflow = WorkflowBuilder("w")
                                .add(both("hidden"))
                                .add(both("middle"))
                                .add(both("last"))
                                .start("hidden")
                                .edge("hidden", "middle")
                                .edge("middle", "last")
                                .output_from({"last"})
                                .intermediate_from({"middle"})
                                .build()
                                .value();
  auto run = workflows->run(workflow, "x");
  const std::vector<std::string> names = names_of(run);
  EXPECT_THAT(names, Contains("workflow_intermediate middle"));
  EXPECT_THAT(names, Contains("workflow_output last"));
  EXPECT_THAT(names, Not(Contains("workflow_output hidden")));
  EXPECT_THAT(outputs_of(run.result().value()), ElementsAre("last: x"));
}

TEST_F(GraphTest, CancellingStopsTheActiveNodeAndStartsNoOther) {
  std::promise<void> inside;
  std::atomic<bool> later = false;
  Node a =
      make_node<std::string>("a", [&](const std::string& text, NodeContext& context) -> Result<std::string> {
        EXPECT_TRUE(context.say("half a word"));
        inside.set_value();
        std::promise<void> stopped;
        const auto registration = context.cancel().on_cancel([&](CancelReason) { stopped.set_value(); });
        stopped.get_future().wait();
        TERTULIA_TRY(context.cancel().check());
        return text;
      });
  Node b = make_node<std::string>("b", [&](const std::string&) { later = true; });
  const Workflow workflow = WorkflowBuilder("w").add(a).add(b).start("a").edge("a", "b").build().value();
  auto run = workflows->run(workflow, "x", {.session = "s"});
  inside.get_future().wait();
  run.cancel();
  const WorkflowOutcome outcome = run.result().value();
  EXPECT_EQ(outcome.status, WorkflowStatus::kCancelled);
  EXPECT_FALSE(later);
  EXPECT_THAT(lines_of(outcome.snapshot.transcript), ElementsAre("a: half a word"));
  EXPECT_EQ(workflows->run(chain(), "x", {.session = "s"}).result().value().text(), "xAB");
}

TEST_F(GraphTest, CancellingBetweenTwoSuperstepsKeepsWhatWasSaidOnce) {
  Node a =
      make_node<std::string>("a", [](const std::string& text, NodeContext& context) -> Result<std::string> {
        TERTULIA_TRY(context.say("a whole word"));
        return text;
      });
  // Asked while the superstep is merged.
  std::function<void()> cancel;
  std::promise<void> ready;
  auto can_cancel = ready.get_future().share();
  const Workflow workflow = WorkflowBuilder("w")
                                .add(a)
                                .add(print("b"))
                                .start("a")
                                .edge("a", "b", "cancels",
                                      [&](const WorkflowMessage&) {
                                        can_cancel.wait();
                                        cancel();
                                        return true;
                                      })
                                .build()
                                .value();
  auto run = workflows->run(workflow, "x", {.session = "s"});
  cancel = [&run] { run.cancel(); };
  ready.set_value();
  const WorkflowOutcome outcome = run.result().value();
  EXPECT_EQ(outcome.status, WorkflowStatus::kCancelled);
  EXPECT_THAT(lines_of(outcome.snapshot.transcript), ElementsAre("a: a whole word"));
}

TEST_F(GraphTest, OneRunAtATimeOnABranch) {
  std::promise<void> inside;
  std::promise<void> go;
  auto gone = go.get_future().share();
  Node a = make_node<std::string>("a", [&](const std::string& text) {
    inside.set_value();
    gone.wait();
    return text;
  });
  const Workflow slow = WorkflowBuilder("w").add(a).start("a").build().value();
  auto run = workflows->run(slow, "x", {.session = "s"});
  inside.get_future().wait();
  EXPECT_EQ(code_of(workflows->run(chain(), "x", {.session = "s"})), ErrorCode::kTurnRunning);
  EXPECT_EQ(workflows->run(chain(), "x", {.session = "other"}).result().value().text(), "xAB");
  go.set_value();
  EXPECT_TRUE(run.result().ok());
}

TEST_F(GraphTest, AnInputThatTheStartDoesNotTakeIsRefusedBeforeAnythingRuns) {
  EXPECT_EQ(code_of(workflows->run(chain(), message_of(7))), ErrorCode::kWrongType);
  EXPECT_EQ(code_of(workflows->run(chain(), {})), ErrorCode::kEmptyMessage);
}

TEST_F(GraphTest, WithoutAStoreNothingElseDiffers) {
  auto passing = WorkflowEngine::open({.engine = Engine::open({}).value()}).value();
  EXPECT_EQ(passing->run(chain(), "x").result().value().text(), "xAB");
}

Node broken(const std::string& id) {
  Node node = make_node<std::string>(id, [](const std::string&) -> Result<std::string> {
    return Error(ErrorCode::kModelUnavailable, "never");
  });
  node.on_failure = {.skip = true};
  return node;
}

TEST_F(GraphTest, WhatANodeThatIsPassedOverWasSentGoesOnAlongItsEdge) {
  const Workflow workflow = WorkflowBuilder("w")
                                .add(append("a", "A"))
                                .add(broken("b"))
                                .add(print("out"))
                                .start("a")
                                .edge("a", "b")
                                .edge("b", "out")
                                .build()
                                .value();
  auto run = workflows->run(workflow, "x");
  const std::vector<std::string> names = names_of(run);
  EXPECT_THAT(names, Contains("executor_bypassed b"));
  EXPECT_THAT(names, Not(Contains("executor_failed b")));
  EXPECT_THAT(outputs_of(run.result().value()), ElementsAre("out: xA"));
}

TEST_F(GraphTest, AFanInDoesNotWaitForANodeThatWasPassedOver) {
  const Workflow workflow = WorkflowBuilder("w")
                                .add(append("a", ""))
                                .add(append("b", "B"))
                                .add(broken("c"))
                                .add(gather("join"))
                                .start("a")
                                .fan_out("a", {"b", "c"})
                                .fan_in({"c", "b"}, "join")
                                .build()
                                .value();
  EXPECT_THAT(outputs_of(workflows->run(workflow, "x").result().value()), ElementsAre("join: [xB]"));
}

TEST_F(GraphTest, ARunThatFailedTellsWhoseFaultItWasBeforeItTellsThatItFailed) {
  Node a = make_node<std::string>("a", [](const std::string&) -> Result<std::string> {
    return Error(ErrorCode::kModelUnavailable, "never");
  });
  auto run = workflows->run(WorkflowBuilder("w").add(a).start("a").build().value(), "x");
  const std::vector<std::string> names = names_of(run);
  const auto failed = std::find(names.begin(), names.end(), "executor_failed a");
  ASSERT_NE(failed, names.end());
  EXPECT_NE(std::find(failed, names.end(), "workflow_failed model_unavailable"), names.end());
}

}  // namespace graph_test
}  // namespace tertulia
