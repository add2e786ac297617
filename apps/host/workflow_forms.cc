#include "workflow_forms.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "iso_time.h"

namespace tertulia {
namespace {

void write_requests(JsonWriter& out, const std::vector<InfoRequest>& requests) {
  out.key("requests").begin_array();
  for (const InfoRequest& request : requests) {
    out.begin_object().key("id").string(request.id).key("node").string(request.node);
    out.key("data").value(request.data).key("asked_at").string(iso_time(request.asked_at)).end_object();
  }
  out.end_array();
}

struct Line {
  std::string from;
  std::string to;
  std::string_view kind;
  std::string label;
};

std::string label_of(const Edge& edge, std::size_t target) {
  if (edge.kind != Edge::Kind::kSwitch) return edge.label;
  return target < edge.cases.size() ? edge.cases[target].label : "else";
}

std::vector<Line> lines_of(const Workflow::Graph& graph) {
  std::vector<Line> lines;
  for (const Edge& edge : graph.edges) {
    for (const std::string& from : edge.sources) {
      for (std::size_t i = 0; i < edge.targets.size(); ++i) {
        lines.push_back({from, edge.targets[i], name_of(edge.kind), label_of(edge, i)});
      }
    }
  }
  return lines;
}

// Leads the lines through a node that is not shown.
void bypass(const std::string& id, std::vector<Line>& lines) {
  std::vector<Line> kept;
  for (const Line& line : lines) {
    if (line.from != id && line.to != id) kept.push_back(line);
    if (line.to != id || line.from == id) continue;
    for (const Line& after : lines) {
      if (after.from != id || after.to == id) continue;
      const bool plain = line.kind == name_of(Edge::Kind::kSingle);
      kept.push_back({line.from, after.to, plain ? after.kind : line.kind,
                      line.label.empty() ? after.label : line.label});
    }
  }
  lines = std::move(kept);
}

// What follows the first word of its kind is for comparing graphs.
std::string_view kind_of(const Node& node) {
  if (node.speaker && node.speaker->agent) return "agent";
  return std::string_view(node.kind).substr(0, node.kind.find_first_of(" ,"));
}

void write_node(JsonWriter& out, const Node& node) {
  out.begin_object().key("id").string(node.id).key("kind").string(kind_of(node));
  if (node.speaker && node.speaker->agent) out.key("agent").string(node.speaker->agent->spec.id.text());
  if (node.internal) out.key("internal").boolean(true);
  out.end_object();
}

}  // namespace

std::string outcome_text(const WorkflowOutcome& outcome, const std::string& workflow) {
  std::string text;
  JsonWriter out(text);
  out.begin_object().key("run").string(outcome.run).key("workflow").string(workflow);
  out.key("session").string(outcome.key.session.text()).key("branch").string(outcome.branch.text());
  out.key("status").string(name_of(outcome.status)).key("supersteps").number(outcome.supersteps);
  out.key("text").string(outcome.text()).key("outputs").begin_array();
  for (const WorkflowOutput& output : outcome.outputs) {
    out.begin_object().key("node").string(output.node).key("data").value(output.data).end_object();
  }
  out.end_array();
  write_requests(out, outcome.requests);
  out.key("handle").string(outcome.snapshot.handle).end_object();
  return text;
}

void write_run(JsonWriter& out, const StoredRun& run, const std::string& workflow, bool live) {
  out.begin_object().key("run").string(run.run).key("workflow").string(workflow);
  out.key("session").string(run.key.session.text()).key("branch").string(run.branch.text());
  out.key("status").string(name_of(run.status)).key("live").boolean(live);
  out.key("supersteps").number(run.supersteps).key("started_at").string(iso_time(run.started_at));
  out.key("last_activity").string(iso_time(run.last_activity));
  write_requests(out, run.requests);
  out.key("checkpoint").string(run.checkpoint);
  if (!run.forked_from.empty()) out.key("forked_from").string(run.forked_from);
  out.end_object();
}

void write_graph(JsonWriter& out, const Workflow& workflow, bool show_internal) {
  const Workflow::Graph& graph = workflow.graph();
  std::vector<Line> lines = lines_of(graph);
  std::string start = graph.start;
  for (const Node& node : graph.nodes) {
    if (show_internal || !node.internal) continue;
    const auto next = std::ranges::find_if(
        lines, [&](const Line& line) { return line.from == node.id && line.to != node.id; });
    if (node.id == start && next != lines.end()) start = next->to;
    bypass(node.id, lines);
  }
  out.begin_object().key("start").string(start).key("nodes").begin_array();
  for (const Node& node : graph.nodes) {
    if (show_internal || !node.internal) write_node(out, node);
  }
  out.end_array().key("edges").begin_array();
  for (const Line& line : lines) {
    out.begin_object().key("from").string(line.from).key("to").string(line.to).key("kind").string(line.kind);
    if (!line.label.empty()) out.key("label").string(line.label);
    out.end_object();
  }
  out.end_array().end_object();
}

}  // namespace tertulia
