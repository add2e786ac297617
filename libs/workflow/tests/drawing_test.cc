#include "tertulia/workflow/drawing.h"

#include "tertulia/workflow/concurrent.h"

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

}  // namespace drawing_test
}  // namespace tertulia
