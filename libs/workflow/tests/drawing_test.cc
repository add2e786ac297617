#include "tertulia/workflow/drawing.h"

#include "tertulia/workflow/concurrent.h"
#include "tertulia/workflow/nested.h"

#include "workflow_fixture.h"

namespace tertulia {
namespace drawing_test {

using testing::HasSubstr;
using testing::Not;

using DrawingTest = WorkflowTest;

Node pass(const std::string& id) {
  return make_node<std::string>(id, [](const std::string& text) { return text; });
}

Workflow branching() {
  return WorkflowBuilder("w")
      .add(pass("a"))
      .add(pass("b"))
      .add(pass("c"))
      .start("a")
      .switch_case("a", {{"x | \"y\"\nü", [](const WorkflowMessage&) { return true; }, "b"}}, "c")
      .edge("b", "c")
      .build()
      .value();
}

TEST_F(DrawingTest, MermaidShowsTheStartAndConditionsAndEscapesLabels) {
  EXPECT_EQ(to_mermaid(branching()),
            "flowchart TD\n"
            "  n0[\"a (start)\"];\n"
            "  style n0 fill:#d8f0d8;\n"
            "  n1[\"b\"];\n"
            "  n2[\"c\"];\n"
            "  n0 -.->|\"x #124; #quot;y#quot;<br/>ü\"| n1;\n"
            "  n0 -.->|\"else\"| n2;\n"
            "  n1 --> n2;\n");
}

TEST_F(DrawingTest, DotShowsTheSame) {
  const std::string dot = to_dot(branching());
  EXPECT_THAT(dot, HasSubstr("\"a\" -> \"b\" [style=dashed, label=\"x | \\\"y\\\"\\nü\"];"));
  EXPECT_THAT(dot, HasSubstr("\"b\" -> \"c\";"));
}

TEST_F(DrawingTest, PlumbingIsHiddenUnlessAskedAndLinesLeadThroughIt) {
  const Workflow workflow = ConcurrentBuilder().add(saying("x", {})).add(saying("y", {})).build().value();
  EXPECT_THAT(to_mermaid(workflow), Not(HasSubstr("dispatcher")));
  EXPECT_THAT(to_mermaid(workflow), HasSubstr("x (start)"));
  EXPECT_THAT(to_mermaid(workflow, {.show_internal = true}), HasSubstr("dispatcher (start)"));
  EXPECT_THAT(to_dot(workflow, {.show_internal = true}), HasSubstr("shape=ellipse"));
}

TEST_F(DrawingTest, ARunIsDrawnWithWhatBecameOfItsNodes) {
  auto run = workflows->run(branching(), "text");
  std::vector<Event> events;
  for (const Event& event : run) events.push_back(event);
  const auto marks = marks_of(events);
  EXPECT_EQ(marks.at("b").state, NodeMark::State::kCompleted);
  EXPECT_EQ(marks.at("b").calls, 1U);
  EXPECT_THAT(to_svg(branching(), {.marks = marks}), HasSubstr("completed"));
}

TEST_F(DrawingTest, SvgIsWellFormedWhateverTheLabels) {
  const std::string svg = to_svg(branching());
  EXPECT_THAT(svg, HasSubstr("x | &quot;y&quot; ü"));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
}

TEST_F(DrawingTest, AFanInIsABoxOfItsOwn) {
  const Workflow workflow = WorkflowBuilder("w")
                                .add(pass("a"))
                                .add(pass("b"))
                                .add(pass("c"))
                                .add(make_node<Json>("d", [](const Json&) {}))
                                .start("a")
                                .fan_out("a", {"b", "c"})
                                .fan_in({"b", "c"}, "d")
                                .build()
                                .value();
  EXPECT_THAT(to_mermaid(workflow), HasSubstr("n4((\"all\"));"));
  EXPECT_THAT(to_mermaid(workflow), HasSubstr("n1 --> n4;"));
  EXPECT_THAT(to_mermaid(workflow), HasSubstr("n4 --> n3;"));
}

TEST_F(DrawingTest, AWorkflowInsideOfAnotherIsDrawnAsAGroup) {
  const Workflow deepest = WorkflowBuilder("deepest").add(pass("z")).start("z").build().value();
  const Workflow inner = WorkflowBuilder("inner")
                             .add(pass("x"))
                             .add(workflow_node("y", deepest))
                             .start("x")
                             .edge("x", "y")
                             .build()
                             .value();
  const Workflow outer = WorkflowBuilder("outer")
                             .add(pass("a"))
                             .add(workflow_node("team", inner))
                             .start("a")
                             .edge("a", "team")
                             .build()
                             .value();
  EXPECT_EQ(to_mermaid(outer),
            "flowchart TD\n"
            "  n0[\"a (start)\"];\n"
            "  style n0 fill:#d8f0d8;\n"
            "  subgraph g1[\"team\"]\n"
            "  n1[\"team\"];\n"
            "  n2[\"x\"];\n"
            "  subgraph g3[\"y\"]\n"
            "  n3[\"y\"];\n"
            "  n4[\"z\"];\n"
            "  end\n"
            "  end\n"
            "  n0 --> n1;\n"
            "  n2 --> n3;\n"
            "  n3 -.-> n4;\n"
            "  n1 -.-> n2;\n");
  EXPECT_THAT(to_dot(outer), HasSubstr("subgraph \"cluster_team/y\""));
  EXPECT_THAT(to_svg(outer), HasSubstr(">z</text>"));
}

TEST_F(DrawingTest, AStoredRunIsDrawnWithWhatBecameOfItsNodesAlsoByAnotherProcess) {
  bool broken = true;
  const auto build = [&] {
    Node fails = make_node<std::string>("b", [&](const std::string& text) -> Result<std::string> {
      if (broken) return Error(ErrorCode::kModelUnavailable, "not now");
      return text;
    });
    Node asks = make_node<std::string>(
        "c", [](const std::string&, NodeContext& context) { context.request_info("May I?"); },
        [](const InfoAnswer&, NodeContext&) { return Result<void>(); });
    return WorkflowBuilder("w")
        .add(pass("a"))
        .add(fails)
        .add(asks)
        .start("a")
        .edge("a", "b")
        .edge("b", "c")
        .build()
        .value();
  };
  auto run = workflows->run(build(), "x", {.session = "s"});
  EXPECT_FALSE(run.result());
  restart();
  const SessionKey key = local_key(SessionId::parse("s").value());
  const auto states = [&] {
    std::string text;
    for (const auto& [node, mark] : workflows->show(key, run.id()).value().marks)
      text += node + " " + std::string(name_of(mark.state)) + " " + std::to_string(mark.calls) + ", ";
    return text;
  };
  EXPECT_EQ(states(), "a completed 1, b failed 1, ");
  broken = false;
  const WorkflowOutcome asked = workflows->resume(build(), key, run.id()).result().value();
  EXPECT_EQ(states(), "a completed 1, b completed 2, c waiting 1, ");
  EXPECT_THAT(to_mermaid(build(), {.marks = workflows->show(key, run.id()).value().marks}),
              HasSubstr("waiting"));
  workflows->resume(build(), key, run.id(), {.answers = {{asked.requests.at(0).id, "yes"}}}).result().value();
  EXPECT_EQ(states(), "a completed 1, b completed 2, c completed 2, ");
}

}  // namespace drawing_test
}  // namespace tertulia
