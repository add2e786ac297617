// agent_node: an agent as a node of a workflow.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tertulia/agent/agent.h"
#include "tertulia/workflow/node.h"

namespace tertulia {

struct AgentNodeOptions {
  // Its name in the workflow and in the conversation. Empty: the agent's id.
  std::string id{};
  ConversationPolicy policy{};
  ViewSelection selection{};
  // Default: an agent with tools keeps its own branch, one without does not.
  std::optional<ThreadKind> thread{};
  OnFailure on_failure{};
  // A person looks at each answer before it is handed on: an answer without words approves it, words are said
  // to the agent, which speaks again.   Default: false.
  bool review = false;
  // Its words are not part of the shared transcript.   Default: false.
  bool silent = false;
  // For one turn, where it differs from what the agent usually does. Session, branch and key are not taken
  // from here.
  RunOptions run{};
  // What happens after its turn. Default: its words come out of the workflow, and its update is sent.
  std::function<Result<void>(const TurnOutcome&, NodeContext&)> after{};
};

// Takes its turn whatever it is sent, unless it is text, which is said first, in the name of the user.
//
// Its turn is what Engine::run makes of it, with its promises: no tool that must not runs twice, also not
// when the run is resumed. The turn of an agent without tools is durable with its superstep
// (docs/decisions/0014-workflows.md).
Node agent_node(AgentDefinitionPtr agent, AgentNodeOptions options = {});
Node agent_node(const Agent& agent, AgentNodeOptions options = {});

}  // namespace tertulia
