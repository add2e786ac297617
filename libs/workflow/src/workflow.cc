#include "tertulia/workflow/workflow.h"

#include <algorithm>
#include <utility>

#include "validate.h"

namespace tertulia {

std::string_view name_of(Edge::Kind kind) {
  switch (kind) {
    case Edge::Kind::kSingle:
      return "single";
    case Edge::Kind::kFanOut:
      return "fan_out";
    case Edge::Kind::kFanIn:
      return "fan_in";
    case Edge::Kind::kSwitch:
      return "switch";
  }
  return "invalid";
}

const std::string& Workflow::name() const { return graph_->name; }
const std::vector<std::string>& Workflow::signature() const { return graph_->signature; }
const std::vector<std::string>& Workflow::warnings() const { return graph_->warnings; }

std::size_t Workflow::Graph::index_of(std::string_view id) const {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.id == id; });
  return static_cast<std::size_t>(found - nodes.begin());
}

const Node* Workflow::Graph::find(std::string_view id) const {
  const std::size_t index = index_of(id);
  return index == nodes.size() ? nullptr : &nodes[index];
}

WorkflowBuilder::WorkflowBuilder(std::string name) { graph_.name = std::move(name); }

WorkflowBuilder& WorkflowBuilder::add(Node node) {
  graph_.nodes.push_back(std::move(node));
  return *this;
}

WorkflowBuilder& WorkflowBuilder::start(std::string node) {
  graph_.start = std::move(node);
  return *this;
}

WorkflowBuilder& WorkflowBuilder::edge(std::string from, std::string to) {
  graph_.edges.push_back({.sources = {std::move(from)}, .targets = {std::move(to)}});
  return *this;
}

WorkflowBuilder& WorkflowBuilder::edge(std::string from, std::string to, std::string label,
                                       EdgeCondition condition) {
  graph_.edges.push_back({.sources = {std::move(from)},
                          .targets = {std::move(to)},
                          .label = std::move(label),
                          .condition = std::move(condition)});
  return *this;
}

WorkflowBuilder& WorkflowBuilder::fan_out(std::string from, std::vector<std::string> to,
                                          EdgeSelection selection) {
  graph_.edges.push_back({.kind = Edge::Kind::kFanOut,
                          .sources = {std::move(from)},
                          .targets = std::move(to),
                          .selection = std::move(selection)});
  return *this;
}

WorkflowBuilder& WorkflowBuilder::fan_in(std::vector<std::string> from, std::string to) {
  graph_.edges.push_back(
      {.kind = Edge::Kind::kFanIn, .sources = std::move(from), .targets = {std::move(to)}});
  return *this;
}

WorkflowBuilder& WorkflowBuilder::switch_case(std::string from, std::vector<EdgeCase> cases,
                                              std::string otherwise) {
  Edge edge{.kind = Edge::Kind::kSwitch, .sources = {std::move(from)}};
  for (const EdgeCase& one : cases) edge.targets.push_back(one.target);
  edge.targets.push_back(std::move(otherwise));
  edge.cases = std::move(cases);
  graph_.edges.push_back(std::move(edge));
  return *this;
}

WorkflowBuilder& WorkflowBuilder::output_from(std::vector<std::string> nodes) {
  graph_.output_from = std::move(nodes);
  outputs_named_ = true;
  return *this;
}

WorkflowBuilder& WorkflowBuilder::intermediate_from(std::vector<std::string> nodes) {
  graph_.intermediate_from = std::move(nodes);
  return *this;
}

WorkflowBuilder& WorkflowBuilder::merge_state(std::string key, StateMerge merge) {
  graph_.merges[std::move(key)] = std::move(merge);
  return *this;
}

WorkflowBuilder& WorkflowBuilder::max_supersteps(std::uint64_t most) {
  graph_.max_supersteps = most;
  return *this;
}

Result<Workflow> WorkflowBuilder::build() const {
  auto graph = std::make_shared<Workflow::Graph>(graph_);
  std::vector<std::string> problems = problems_of(*graph, outputs_named_);
  if (!problems.empty()) {
    std::string sentence = "workflow '" + graph->name + "' cannot be built: ";
    for (std::size_t i = 0; i < problems.size(); ++i) sentence += (i == 0 ? "" : "; ") + problems[i];
    return Error(ErrorCode::kBadGraph, std::move(sentence)).with("problems", std::move(problems));
  }
  if (!outputs_named_) {
    for (const Node& node : graph->nodes) {
      const auto& others = graph->intermediate_from;
      if (std::find(others.begin(), others.end(), node.id) == others.end())
        graph->output_from.push_back(node.id);
    }
  }
  graph->warnings = warnings_of(*graph);
  graph->signature = signature_of(*graph);
  return Workflow(std::move(graph));
}

}  // namespace tertulia
