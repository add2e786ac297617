// ConcurrentBuilder: participants answer the same conversation side by side; none hears the others before all
// have spoken, and their words stand in declared order.
//
//   Workflow workflow = ConcurrentBuilder().add(legal).add(technical).add(sales).build().value();
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tertulia/workflow/agent_node.h"
#include "tertulia/workflow/workflow.h"

namespace tertulia {

// Makes one output of what the participants said, in declared order. Null: no output. May block.
using Aggregator = std::function<Result<Json>(const std::vector<ConversationUpdate>&, NodeContext&)>;

class ConcurrentBuilder {
 public:
  explicit ConcurrentBuilder(std::string name = "concurrent") : name_(std::move(name)) {}

  ConcurrentBuilder& add(AgentDefinitionPtr agent, AgentNodeOptions options = {});
  ConcurrentBuilder& add(const Agent& agent, AgentNodeOptions options = {});
  ConcurrentBuilder& add(Node node);
  // Default: an array of {from, text}, without those who said nothing; an error if nobody said anything.
  ConcurrentBuilder& with_aggregator(Aggregator aggregator);
  // Instead: a node that takes the array.
  ConcurrentBuilder& with_aggregator(Node node);

  // kBadGraph {problems}: fewer than two participants, two of one name, two aggregators.
  Result<Workflow> build() const;

 private:
  std::string name_;
  std::vector<Node> participants_;
  std::vector<Node> aggregators_;
};

}  // namespace tertulia
