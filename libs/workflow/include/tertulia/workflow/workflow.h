// A Workflow: nodes and the edges between them, checked when it is built and never changed after.
//
//   auto workflow = WorkflowBuilder("review")
//                       .add(draft).add(check).add(publish)
//                       .start("draft")
//                       .edge("draft", "check")
//                       .switch_case("check", {{"good", is_good, "publish"}}, "draft")
//                       .build();
//
// It holds no state of runs: any number may run at a time, and one that failed leaves it as it was.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/workflow/node.h"

namespace tertulia {

// Whether a message goes along an edge. Must give the same answer for the same message.
using EdgeCondition = std::function<bool(const WorkflowMessage&)>;
// To which of the targets it goes: a part of them, or it is an error.
using EdgeSelection = std::function<std::vector<std::string>(const WorkflowMessage&)>;
// Makes one value out of those that several nodes gave a key in one superstep, in the declared order of the
// nodes. `before` is null if there was none.
using StateMerge = std::function<Json(const Json& before, const std::vector<Json>& values)>;

struct EdgeCase {
  // What the drawing says, and what tells a changed graph.
  std::string label;
  EdgeCondition condition;
  std::string target;
};

struct Edge {
  enum class Kind : std::uint8_t { kSingle, kFanOut, kFanIn, kSwitch };
  Kind kind = Kind::kSingle;
  // One, but for a fan-in.
  std::vector<std::string> sources{};
  // One, but for a fan-out. Of a switch: those of the cases, then the default's.
  std::vector<std::string> targets{};
  std::string label{};
  EdgeCondition condition{};
  EdgeSelection selection{};
  // Of a switch, without its default.
  std::vector<EdgeCase> cases{};
};
std::string_view name_of(Edge::Kind kind);

// The most supersteps of a run, unless the builder says otherwise.
inline constexpr std::uint64_t kMaxSupersteps = 100;

class Workflow {
 public:
  struct Graph;
  explicit Workflow(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)) {}

  const std::string& name() const;
  const Graph& graph() const { return *graph_; }
  // What must be the same for a run to be resumed: one line for each node, edge and setting.
  const std::vector<std::string>& signature() const;
  // Things that are allowed and probably not meant: loops of one node, dead ends.
  const std::vector<std::string>& warnings() const;

 private:
  std::shared_ptr<const Graph> graph_;
};

struct Workflow::Graph {
  std::string name;
  // In the order in which they were added, which is the order of everything that is merged.
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::string start;
  // Whose outputs come out, and whose are told as intermediate. Others' are hidden.
  std::vector<std::string> output_from;
  std::vector<std::string> intermediate_from;
  std::map<std::string, StateMerge, std::less<>> merges;
  std::uint64_t max_supersteps = kMaxSupersteps;
  std::vector<std::string> signature;
  std::vector<std::string> warnings;

  const Node* find(std::string_view id) const;
  // Its place among the nodes.
  std::size_t index_of(std::string_view id) const;
};

// Problems are kept until build(), which lists all of them.
class WorkflowBuilder {
 public:
  explicit WorkflowBuilder(std::string name);

  WorkflowBuilder& add(Node node);
  WorkflowBuilder& start(std::string node);
  WorkflowBuilder& edge(std::string from, std::string to);
  WorkflowBuilder& edge(std::string from, std::string to, std::string label, EdgeCondition condition);
  // To all of the targets, or those that `selection` names.
  WorkflowBuilder& fan_out(std::string from, std::vector<std::string> to, EdgeSelection selection = {});
  // Waits until every source has sent, then gives an array in this order.
  WorkflowBuilder& fan_in(std::vector<std::string> from, std::string to);
  // To the first case that holds, else to `otherwise`.
  WorkflowBuilder& switch_case(std::string from, std::vector<EdgeCase> cases, std::string otherwise);
  // Default: the outputs of every node come out.
  WorkflowBuilder& output_from(std::vector<std::string> nodes);
  WorkflowBuilder& intermediate_from(std::vector<std::string> nodes);
  // Without one, two nodes that set a key in one superstep are an error.
  WorkflowBuilder& merge_state(std::string key, StateMerge merge);
  WorkflowBuilder& max_supersteps(std::uint64_t most);

  // kBadGraph {problems} with every problem there is.
  Result<Workflow> build() const;

 private:
  Workflow::Graph graph_;
  bool outputs_named_ = false;
};

}  // namespace tertulia
