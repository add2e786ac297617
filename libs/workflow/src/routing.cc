#include "routing.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "validate.h"

namespace tertulia {
namespace {

// The type of what stands in a fan-in for a source that was passed over.
constexpr std::string_view kPassedOver = "~passed-over";

class Router {
 public:
  Router(const Workflow::Graph& graph, const WorkflowMessage& message, RunState& state,
         std::vector<std::string>& warnings)
      : graph_(graph), message_(message), state_(state), warnings_(warnings) {}

  Result<std::vector<Delivery>> go() {
    for (std::size_t i = 0; i < graph_.edges.size(); ++i) {
      const Edge& edge = graph_.edges[i];
      const auto source = std::find(edge.sources.begin(), edge.sources.end(), message_.source);
      if (source == edge.sources.end()) continue;
      if (edge.kind == Edge::Kind::kFanIn) {
        if (wanted(edge.targets[0])) join(i, static_cast<std::size_t>(source - edge.sources.begin()));
        continue;
      }
      TERTULIA_TRY_AS(const std::vector<std::string> targets, targets_of(edge));
      for (const std::string& target : targets) {
        if (wanted(target)) deliver(target, message_);
      }
    }
    if (!message_.target.empty() && !reached_) {
      warnings_.push_back("a message from '" + message_.source + "' to '" + message_.target +
                          "' was dropped: no edge leads there");
    }
    return std::move(deliveries_);
  }

  // The fan-ins only, which need not wait for the source.
  Result<std::vector<Delivery>> go_without() {
    for (std::size_t i = 0; i < graph_.edges.size(); ++i) {
      const Edge& edge = graph_.edges[i];
      const auto source = std::find(edge.sources.begin(), edge.sources.end(), message_.source);
      if (edge.kind != Edge::Kind::kFanIn || source == edge.sources.end()) continue;
      join(i, static_cast<std::size_t>(source - edge.sources.begin()));
    }
    return std::move(deliveries_);
  }

 private:
  bool wanted(const std::string& target) const {
    return message_.target.empty() || message_.target == target;
  }

  void deliver(const std::string& target, WorkflowMessage message) {
    reached_ = true;
    const Node& node = *graph_.find(target);
    if (!types_meet({message.type}, node.accepts)) {
      warnings_.push_back("a message of type " + describe_type(message.type) + " from '" + message_.source +
                          "' was dropped: '" + target + "' does not take it");
      return;
    }
    message.target.clear();
    deliveries_.push_back({.to = target, .message = std::move(message)});
  }

  Result<std::vector<std::string>> targets_of(const Edge& edge) const {
    try {
      if (edge.kind == Edge::Kind::kSwitch) return std::vector<std::string>{chosen(edge)};
      if (edge.selection) return selected(edge);
      if (edge.condition && !edge.condition(message_)) return std::vector<std::string>();
      return edge.targets;
    } catch (const std::exception& thrown) {
      return Error(ErrorCode::kToolFailed, "a condition of an edge from '" + message_.source +
                                               "' threw an exception: " + std::string(thrown.what()));
    }
  }

  std::string chosen(const Edge& edge) const {
    for (const EdgeCase& one : edge.cases) {
      if (one.condition(message_)) return one.target;
    }
    return edge.targets.back();
  }

  Result<std::vector<std::string>> selected(const Edge& edge) const {
    const std::vector<std::string> names = edge.selection(message_);
    for (const std::string& name : names) {
      if (std::find(edge.targets.begin(), edge.targets.end(), name) != edge.targets.end()) continue;
      return Error(ErrorCode::kBadGraph, "the selection of the fan-out from '" + message_.source +
                                             "' names '" + name + "', which is not one of its targets");
    }
    // In the declared order, whatever order they were named in.
    std::vector<std::string> targets;
    for (const std::string& target : edge.targets) {
      if (std::find(names.begin(), names.end(), target) != names.end()) targets.push_back(target);
    }
    return targets;
  }

  void join(std::size_t index, std::size_t source) {
    const Edge& edge = graph_.edges[index];
    reached_ = true;
    auto& queues = state_.buffers[index];
    queues.resize(edge.sources.size());
    queues[source].push_back(message_);
    if (std::any_of(queues.begin(), queues.end(), [](const auto& queue) { return queue.empty(); })) return;
    WorkflowMessage joined{.type = {}, .data = {}, .source = message_.source};
    JsonArray values;
    for (auto& queue : queues) {
      if (queue.front().type != kPassedOver) values.push_back(std::move(queue.front().data));
      queue.pop_front();
    }
    if (std::all_of(queues.begin(), queues.end(), [](const auto& queue) { return queue.empty(); })) {
      state_.buffers.erase(index);
    }
    joined.data = std::move(values);
    deliver(edge.targets[0], std::move(joined));
  }

  const Workflow::Graph& graph_;
  const WorkflowMessage& message_;
  RunState& state_;
  std::vector<std::string>& warnings_;
  std::vector<Delivery> deliveries_;
  bool reached_ = false;
};

}  // namespace

Result<std::vector<Delivery>> route(const Workflow::Graph& graph, const WorkflowMessage& message,
                                    RunState& state, std::vector<std::string>& warnings) {
  return Router(graph, message, state, warnings).go();
}

Result<std::vector<Delivery>> route_past(const Workflow::Graph& graph, const Delivery& given,
                                         RunState& state) {
  const std::string& node = given.to;
  std::vector<const Edge*> others;
  for (const Edge& edge : graph.edges) {
    const bool from = std::find(edge.sources.begin(), edge.sources.end(), node) != edge.sources.end();
    if (from && edge.kind != Edge::Kind::kFanIn) others.push_back(&edge);
  }
  std::vector<std::string> warnings;
  const WorkflowMessage nothing{.type = std::string(kPassedOver), .data = {}, .source = node};
  TERTULIA_TRY_AS(std::vector<Delivery> deliveries, Router(graph, nothing, state, warnings).go_without());
  const bool plain = others.size() == 1 && others[0]->kind == Edge::Kind::kSingle && !others[0]->condition;
  // The answer to a question of its own is nothing to anybody else.
  if (plain && !given.answer &&
      types_meet({given.message.type}, graph.find(others[0]->targets[0])->accepts)) {
    WorkflowMessage message = given.message;
    message.source = node;
    deliveries.push_back({.to = others[0]->targets[0], .message = std::move(message)});
  }
  return deliveries;
}

}  // namespace tertulia
