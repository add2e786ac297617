#include "tertulia/workflow/concurrent.h"

#include <utility>

#include "tertulia/workflow/sequential.h"

namespace tertulia {
namespace {

Node default_aggregator() {
  Node node;
  node.id = "aggregator";
  node.accepts = {message_type<std::vector<ConversationUpdate>>(), {}};
  node.kind = "aggregator";
  node.internal = true;
  node.body = [](NodeContext& context, const Done<void>& done) {
    const auto answers = context.message().as<std::vector<ConversationUpdate>>();
    if (!answers) return done(answers.error());
    JsonArray said;
    for (const ConversationUpdate& answer : *answers) {
      if (!answer.text.empty()) said.push_back(JsonType<ConversationUpdate>::write(answer));
    }
    if (said.empty()) return done(Error(ErrorCode::kEmptyMessage, "none of the participants said anything"));
    context.output(std::move(said));
    done({});
  };
  return node;
}

}  // namespace

ConcurrentBuilder& ConcurrentBuilder::add(AgentDefinitionPtr agent, AgentNodeOptions options) {
  participants_.push_back(agent_node(std::move(agent), std::move(options)));
  return *this;
}

ConcurrentBuilder& ConcurrentBuilder::add(const Agent& agent, AgentNodeOptions options) {
  return add(agent.definition_ptr(), std::move(options));
}

ConcurrentBuilder& ConcurrentBuilder::add(Node node) {
  participants_.push_back(std::move(node));
  return *this;
}

ConcurrentBuilder& ConcurrentBuilder::with_aggregator(Aggregator aggregator) {
  Node node = make_node<std::vector<ConversationUpdate>>(
      "aggregator",
      [aggregator = std::move(aggregator)](const std::vector<ConversationUpdate>& answers,
                                           NodeContext& context) -> Result<void> {
        TERTULIA_TRY_AS(Json output, aggregator(answers, context));
        if (!output.is_null()) context.output(std::move(output));
        return {};
      });
  node.kind = "aggregator of the caller";
  return with_aggregator(std::move(node));
}

ConcurrentBuilder& ConcurrentBuilder::with_aggregator(Node node) {
  aggregators_.push_back(std::move(node));
  return *this;
}

Result<Workflow> ConcurrentBuilder::build() const {
  if (participants_.size() < 2 || aggregators_.size() > 1) {
    std::vector<std::string> problems;
    if (participants_.size() < 2) problems.emplace_back("it needs two participants or more");
    if (aggregators_.size() > 1) problems.emplace_back("it has two aggregators");
    return Error(ErrorCode::kBadGraph, "workflow '" + name_ + "' cannot be built: " + problems.front())
        .with("problems", std::move(problems));
  }
  const Node entry = conversation_entry("dispatcher");
  const Node aggregator = aggregators_.empty() ? default_aggregator() : aggregators_.front();
  WorkflowBuilder builder(name_);
  builder.add(entry).start(entry.id);
  std::vector<std::string> names;
  for (const Node& node : participants_) {
    builder.add(node);
    names.push_back(node.id);
  }
  builder.add(aggregator).fan_out(entry.id, names).fan_in(names, aggregator.id);
  builder.output_from({aggregator.id}).intermediate_from(std::move(names));
  return builder.build();
}

}  // namespace tertulia
