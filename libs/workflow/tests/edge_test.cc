// The edges of a graph: conditions, cases, selections, fan-in and targeted messages.
#include "graph_nodes.h"
#include "workflow_fixture.h"

namespace tertulia {
namespace edge_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using trial::append;
using trial::gather;
using trial::print;

using EdgeTest = WorkflowTest;

TEST_F(EdgeTest, AConditionDecidesWhetherAnEdgeIsTaken) {
  const auto is = [](const std::string& wanted) {
    return [wanted](const WorkflowMessage& message) { return *message.data.as_string() == wanted; };
  };
  const Workflow workflow = WorkflowBuilder("w")
                                .add(append("a", ""))
                                .add(print("left"))
                                .add(print("right"))
                                .start("a")
                                .edge("a", "left", "l", is("l"))
                                .edge("a", "right", "r", is("r"))
                                .build()
                                .value();
  EXPECT_THAT(outputs_of(workflows->run(workflow, "l").result().value()), ElementsAre("left: l"));
  EXPECT_THAT(outputs_of(workflows->run(workflow, "r").result().value()), ElementsAre("right: r"));
  EXPECT_THAT(outputs_of(workflows->run(workflow, "x").result().value()), IsEmpty());
}

TEST_F(EdgeTest, ASwitchTakesTheFirstCaseThatHoldsAndElseItsDefault) {
  const auto starts = [](char first) {
    return [first](const WorkflowMessage& message) { return message.data.as_string()->front() == first; };
  };
  const Workflow workflow =
      WorkflowBuilder("w")
          .add(append("a", ""))
          .add(print("one"))
          .add(print("two"))
          .add(print("other"))
          .start("a")
          .switch_case("a", {{"x", starts('x'), "one"}, {"also x", starts('x'), "two"}}, "other")
          .build()
          .value();
  EXPECT_THAT(outputs_of(workflows->run(workflow, "x").result().value()), ElementsAre("one: x"));
  EXPECT_THAT(outputs_of(workflows->run(workflow, "y").result().value()), ElementsAre("other: y"));
}

Workflow fan(EdgeSelection selection = {}) {
  return WorkflowBuilder("fan")
      .add(append("a", ""))
      .add(append("b", "B"))
      .add(append("c", "C"))
      .add(gather("join"))
      .add(print("single"))
      .start("a")
      .fan_out("a", {"b", "c"}, std::move(selection))
      .fan_in({"c", "b"}, "join")
      .edge("b", "single")
      .build()
      .value();
}

TEST_F(EdgeTest, AFanInWaitsForEverySourceAndKeepsTheOrderOfTheEdge) {
  EXPECT_THAT(outputs_of(workflows->run(fan(), "x").result().value()),
              ElementsAre("join: [xC][xB]", "single: xB"));
}

TEST_F(EdgeTest, ASelectionSendsToSomeAndAFanInThenWaits) {
  const Workflow some = fan([](const WorkflowMessage&) { return std::vector<std::string>{"b"}; });
  EXPECT_THAT(outputs_of(workflows->run(some, "x").result().value()), ElementsAre("single: xB"));
}

TEST_F(EdgeTest, ASelectionThatNamesAStrangerFailsTheRun) {
  const Workflow wrong = fan([](const WorkflowMessage&) { return std::vector<std::string>{"join"}; });
  EXPECT_EQ(code_of(workflows->run(wrong, "x")), ErrorCode::kBadGraph);
}

TEST_F(EdgeTest, ATargetedMessageGoesAlongOneEdgeOnly) {
  Node a = make_node<std::string>("a", [](const std::string& text, NodeContext& context) {
    context.send(text, "c");
    context.send(text, "nobody");
  });
  const Workflow workflow = WorkflowBuilder("w")
                                .add(a)
                                .add(print("b"))
                                .add(print("c"))
                                .start("a")
                                .fan_out("a", {"b", "c"})
                                .build()
                                .value();
  auto run = workflows->run(workflow, "x");
  EXPECT_THAT(names_of(run), Contains("warning"));
  EXPECT_THAT(outputs_of(run.result().value()), ElementsAre("c: x"));
}

TEST_F(EdgeTest, MessagesAlongOneEdgeArriveInTheOrderInWhichTheyWereSent) {
  Node a = make_node<std::string>("a", [](const std::string&, NodeContext& context) {
    for (const char* text : {"1", "2", "3"}) context.send(std::string(text));
  });
  const Workflow workflow =
      WorkflowBuilder("w").add(a).add(print("b")).start("a").edge("a", "b").build().value();
  EXPECT_THAT(outputs_of(workflows->run(workflow, "x").result().value()),
              ElementsAre("b: 1", "b: 2", "b: 3"));
}

TEST_F(EdgeTest, AFanInPairsTheMessagesOfItsSourcesOneByOne) {
  const auto twice = [](const std::string& id) {
    return make_node<std::string>(id, [id](const std::string&, NodeContext& context) {
      context.send(id + "1");
      context.send(id + "2");
    });
  };
  const Workflow workflow = WorkflowBuilder("w")
                                .add(append("a", ""))
                                .add(twice("b"))
                                .add(twice("c"))
                                .add(gather("join"))
                                .start("a")
                                .fan_out("a", {"b", "c"})
                                .fan_in({"b", "c"}, "join")
                                .build()
                                .value();
  EXPECT_THAT(outputs_of(workflows->run(workflow, "x").result().value()),
              ElementsAre("join: [b1][c1]", "join: [b2][c2]"));
}

TEST_F(EdgeTest, ATargetedMessageThatTheSelectionLeavesOutIsDroppedWithAWarning) {
  Node a = make_node<std::string>(
      "a", [](const std::string& text, NodeContext& context) { context.send(text, "c"); });
  const Workflow workflow =
      WorkflowBuilder("w")
          .add(a)
          .add(print("b"))
          .add(print("c"))
          .start("a")
          .fan_out("a", {"b", "c"}, [](const WorkflowMessage&) { return std::vector<std::string>{"b"}; })
          .build()
          .value();
  auto run = workflows->run(workflow, "x");
  EXPECT_THAT(names_of(run), Contains("warning"));
  EXPECT_THAT(outputs_of(run.result().value()), IsEmpty());
}

TEST_F(EdgeTest, ASelectionMayNameNobody) {
  const Workflow none = fan([](const WorkflowMessage&) { return std::vector<std::string>(); });
  const WorkflowOutcome outcome = workflows->run(none, "x").result().value();
  EXPECT_EQ(outcome.status, WorkflowStatus::kCompleted);
  EXPECT_THAT(outputs_of(outcome), IsEmpty());
}

TEST_F(EdgeTest, AConditionThatThrowsFailsTheRunWithWhatItSaid) {
  const Workflow workflow =
      WorkflowBuilder("w")
          .add(append("a", ""))
          .add(print("b"))
          .start("a")
          .edge("a", "b", "never", [](const WorkflowMessage&) -> bool { throw std::runtime_error("boom"); })
          .build()
          .value();
  const auto outcome = workflows->run(workflow, "x").result();
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message(), HasSubstr("boom"));
  EXPECT_EQ(code_of(workflows->run(workflow, "x")), ErrorCode::kToolFailed) << "and can be run again";
}

}  // namespace edge_test
}  // namespace tertulia
