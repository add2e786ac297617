// A workflow engine on a store that outlives it, and agents that follow scripts.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/agent/agent.h"
#include "tertulia/model/scripted_model.h"
#include "tertulia/store/memory_store.h"
#include "tertulia/workflow/agent_node.h"
#include "tertulia/workflow/workflow_engine.h"

namespace tertulia {

class WorkflowTest : public ::testing::Test {
 protected:
  std::shared_ptr<Store> store = open_memory_store();
  std::shared_ptr<Engine> engine = Engine::open({.store = store}).value();
  std::unique_ptr<WorkflowEngine> workflows =
      WorkflowEngine::open({.engine = engine, .handle_key = HandleKey{1}, .threads = 8}).value();

  // As if the process had ended and another one had begun.
  void restart() {
    workflows.reset();
    engine.reset();
    engine = Engine::open({.store = store}).value();
    workflows = WorkflowEngine::open({.engine = engine, .handle_key = HandleKey{1}, .threads = 8}).value();
  }

  static AgentDefinitionPtr agent_with(const std::string& id, std::shared_ptr<LanguageModel> model,
                                       std::vector<ToolPtr> tools = {}) {
    AgentDefinition definition{.spec = {},
                               .model = std::move(model),
                               .model_name = "script",
                               .tools = std::make_shared<ToolRegistry>()};
    definition.spec.id = AgentId::parse(id).value();
    definition.spec.name = id;
    definition.spec.model = "script";
    for (const ToolPtr& tool : tools) definition.tools->add(tool).value();
    return std::make_shared<const AgentDefinition>(std::move(definition));
  }
  static AgentDefinitionPtr saying(const std::string& id, std::vector<std::string> answers) {
    auto model = scripted_model();
    for (std::string& answer : answers) model->add(ModelStep().say(std::move(answer)));
    return agent_with(id, std::move(model));
  }

  // "author: text", "user: text".
  static std::vector<std::string> lines_of(const Transcript& transcript) {
    std::vector<std::string> lines;
    transcript.for_each(0, transcript.size(), [&](std::size_t, const Message& message) {
      std::string line(message.author().empty() ? name_of(message.role()) : message.author());
      for (std::size_t i = 0; i < message.part_count(); ++i) line += ": " + std::string(message.part(i).text);
      if (message.interrupted()) line += " [interrupted]";
      lines.push_back(std::move(line));
    });
    return lines;
  }
  static std::vector<std::string> seen_by(const ModelRequest& request) {
    std::vector<std::string> lines;
    for (const Message& message : request.view) {
      lines.push_back(std::string(name_of(message.role())) + ": " + message.text_content());
    }
    return lines;
  }

  static std::vector<std::string> names_of(WorkflowRun& run) {
    std::vector<std::string> names;
    for (const Event& event : run) {
      std::string name(name_of(event.kind));
      if (!event.name.empty()) name += " " + event.name;
      names.push_back(std::move(name));
    }
    return names;
  }
  static ErrorCode code_of(WorkflowRun run) {
    const auto outcome = run.result();
    EXPECT_FALSE(outcome.ok());
    return outcome ? ErrorCode::kWouldDeadlock : outcome.error().code();
  }
  static std::vector<std::string> outputs_of(const WorkflowOutcome& outcome) {
    std::vector<std::string> lines;
    for (const WorkflowOutput& output : outcome.outputs) {
      lines.push_back(output.node + ": " +
                      (output.data.as_string() != nullptr ? *output.data.as_string() : to_text(output.data)));
    }
    return lines;
  }
};

}  // namespace tertulia
