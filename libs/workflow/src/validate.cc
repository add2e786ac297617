#include "validate.h"

#include <algorithm>
#include <map>
#include <set>

#include "tertulia/base/id.h"

namespace tertulia {
namespace {

// Ids stand in keys of 128 bytes together with the run, the superstep and the call.
constexpr std::size_t kMaxNodeIdBytes = 64;

std::string quoted(const std::string& id) { return "'" + id + "'"; }

std::string listed(const std::vector<std::string>& types) {
  std::string text;
  for (const std::string& type : types) text += (text.empty() ? "" : " or ") + describe_type(type);
  return text;
}

class Problems {
 public:
  Problems(const Workflow::Graph& graph, bool outputs_named) : graph_(graph), outputs_named_(outputs_named) {}

  std::vector<std::string> find() {
    if (graph_.nodes.empty()) add("it has no nodes");
    if (graph_.max_supersteps == 0) add("it may take no superstep at all");
    check_nodes();
    check_edges();
    check_outputs();
    // What else is wrong could only follow from what has been found.
    if (problems_.empty()) check_reach();
    return std::move(problems_);
  }

 private:
  void add(std::string problem) { problems_.push_back(std::move(problem)); }

  void check_nodes() {
    std::set<std::string> seen;
    for (const Node& node : graph_.nodes) {
      if (auto checked = check_id(node.id, "node"); !checked) add(checked.error().message());
      if (node.id.size() > kMaxNodeIdBytes)
        add("node " + quoted(node.id) + ": its id has more than 64 bytes");
      if (!seen.insert(node.id).second) add("there are two nodes " + quoted(node.id));
      if (!node.body) add("node " + quoted(node.id) + " does nothing: it has no body");
      if (!node.problem.empty()) add("node " + quoted(node.id) + ": " + node.problem);
      if (node.internal && node.blocks) add("node " + quoted(node.id) + " is internal, and blocks");
    }
    if (graph_.start.empty()) {
      add("it has no start");
    } else if (graph_.find(graph_.start) == nullptr) {
      add("its start " + quoted(graph_.start) + " is not one of its nodes");
    }
  }

  static std::string name_of_edge(const Edge& edge) {
    std::string text = std::string(name_of(edge.kind)) + " edge from ";
    for (const std::string& source : edge.sources) text += (&source == &edge.sources[0] ? "" : ", ") + source;
    text += " to ";
    for (const std::string& target : edge.targets) text += (&target == &edge.targets[0] ? "" : ", ") + target;
    return text;
  }

  void check_ends(const Edge& edge, const std::vector<std::string>& ends, const char* what) {
    std::set<std::string> seen;
    for (const std::string& id : ends) {
      if (graph_.find(id) == nullptr) add(name_of_edge(edge) + ": there is no node " + quoted(id));
      if (!seen.insert(id).second && edge.kind != Edge::Kind::kSwitch)
        add(name_of_edge(edge) + ": " + what + " " + quoted(id) + " stands in it twice");
    }
  }

  void check_edges() {
    std::set<std::string> seen;
    for (const Edge& edge : graph_.edges) {
      check_ends(edge, edge.sources, "source");
      check_ends(edge, edge.targets, "target");
      if (edge.kind == Edge::Kind::kFanOut && edge.targets.size() < 2)
        add(name_of_edge(edge) + ": it needs two targets or more");
      if (edge.kind == Edge::Kind::kFanIn && edge.sources.size() < 2)
        add(name_of_edge(edge) + ": it needs two sources or more");
      if (edge.kind == Edge::Kind::kSwitch && edge.cases.empty())
        add(name_of_edge(edge) + ": it needs a case beside its default");
      for (const EdgeCase& one : edge.cases) {
        if (!one.condition) add(name_of_edge(edge) + ": case '" + one.label + "' has no condition");
      }
      const std::string name = name_of_edge(edge) + "/" + edge.label;
      if (!seen.insert(name).second) add("there are two of the " + name_of_edge(edge));
      check_types(edge);
    }
  }

  void check_types(const Edge& edge) {
    for (const std::string& target : edge.targets) {
      const Node* to = graph_.find(target);
      if (to == nullptr) continue;
      if (edge.kind == Edge::Kind::kFanIn) {
        const bool array = to->accepts.empty() ||
                           std::any_of(to->accepts.begin(), to->accepts.end(), [](const std::string& type) {
                             return type.empty() || describe_type(type) == "array";
                           });
        if (!array)
          add(name_of_edge(edge) + ": " + quoted(target) + " takes " + listed(to->accepts) +
              ", and a fan-in gives an array");
        continue;
      }
      for (const std::string& source : edge.sources) {
        const Node* from = graph_.find(source);
        if (from == nullptr || types_meet(from->sends, to->accepts)) continue;
        add(name_of_edge(edge) + ": " + quoted(source) + " sends " + listed(from->sends) + ", and " +
            quoted(target) + " takes " + listed(to->accepts));
      }
    }
  }

  void check_outputs() {
    if (outputs_named_ && graph_.output_from.empty()) add("its outputs come from no node");
    std::set<std::string> seen;
    const auto check = [&](const std::vector<std::string>& ids) {
      for (const std::string& id : ids) {
        if (graph_.find(id) == nullptr) add("its output comes from " + quoted(id) + ", which is not there");
        if (!seen.insert(id).second) add("its output from " + quoted(id) + " is named twice");
      }
    };
    if (outputs_named_) check(graph_.output_from);
    check(graph_.intermediate_from);
  }

  void check_reach() {
    std::set<std::string> reached;
    std::vector<std::string> open = {graph_.start};
    while (!open.empty()) {
      const std::string id = open.back();
      open.pop_back();
      if (!reached.insert(id).second) continue;
      for (const Edge& edge : graph_.edges) {
        if (std::find(edge.sources.begin(), edge.sources.end(), id) == edge.sources.end()) continue;
        open.insert(open.end(), edge.targets.begin(), edge.targets.end());
      }
    }
    for (const Node& node : graph_.nodes) {
      if (!reached.contains(node.id))
        add("node " + quoted(node.id) + " cannot be reached from " + quoted(graph_.start));
    }
  }

  const Workflow::Graph& graph_;
  const bool outputs_named_;
  std::vector<std::string> problems_;
};

}  // namespace

bool types_meet(const std::vector<std::string>& sent, const std::vector<std::string>& accepted) {
  if (sent.empty() || accepted.empty()) return true;
  for (const std::string& one : sent) {
    for (const std::string& other : accepted) {
      if (one.empty() || other.empty() || one == other) return true;
    }
  }
  return false;
}

std::vector<std::string> problems_of(const Workflow::Graph& graph, bool outputs_named) {
  return Problems(graph, outputs_named).find();
}

std::vector<std::string> warnings_of(const Workflow::Graph& graph) {
  std::vector<std::string> warnings;
  std::set<std::string> leads_on;
  for (const Edge& edge : graph.edges) {
    for (const std::string& source : edge.sources) {
      leads_on.insert(source);
      if (edge.kind != Edge::Kind::kFanIn &&
          std::find(edge.targets.begin(), edge.targets.end(), source) != edge.targets.end())
        warnings.push_back("node '" + source + "' leads to itself");
    }
  }
  for (const Node& node : graph.nodes) {
    const auto& out = graph.output_from;
    if (!leads_on.contains(node.id) && std::find(out.begin(), out.end(), node.id) == out.end())
      warnings.push_back("node '" + node.id + "' leads nowhere, and nothing comes out of it");
  }
  return warnings;
}

std::vector<std::string> signature_of(const Workflow::Graph& graph) {
  std::vector<std::string> lines = {"workflow " + graph.name, "start " + graph.start};
  for (const Node& node : graph.nodes) {
    lines.push_back("node " + node.id + " (" + node.kind + ")");
  }
  for (const Edge& edge : graph.edges) {
    std::string line = "edge " + std::string(name_of(edge.kind));
    for (const std::string& source : edge.sources) line += " " + source;
    line += " ->";
    for (const std::string& target : edge.targets) line += " " + target;
    if (!edge.label.empty()) line += " [" + edge.label + "]";
    for (const EdgeCase& one : edge.cases) line += " [" + one.label + "]";
    if (edge.selection) line += " selected";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace tertulia
