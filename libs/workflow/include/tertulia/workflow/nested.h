// Workflows inside of other things: of a workflow, of an agent, of an agent's tools.
#pragma once

#include <string>

#include "tertulia/tools/tool.h"
#include "tertulia/workflow/workflow.h"
#include "tertulia/workflow/workflow_engine.h"

namespace tertulia {

struct WorkflowNodeOptions {
  // On a fork of the parent's branch, hearing what was said. Default: in a session of its own, of which it is
  // given the last words.
  bool share_session = false;
};

// A workflow as a node of another. Its run is a run of its own, under an id made from the parent's, so it is
// found again when the parent is resumed. What it asks, the parent asks; what comes out of it, the node says.
Node workflow_node(std::string id, Workflow workflow, WorkflowNodeOptions options = {});

// A workflow as a tool: {"message": "…"} in, the text of its outcome out. The same call is the same run, also
// after a crash. What it asks is a question of the turn that called the tool (Engine::questions), answered
// with
// {"answer": …}. `workflows` must outlive the tool, and run beside the engine whose agents use it.
ToolPtr workflow_tool(WorkflowEngine& workflows, Workflow workflow, std::string name,
                      std::string description);

// A workflow as an agent: for each turn it is given the conversation and runs to its end; nothing is kept of
// the run beside what it says. One that asks a person is kUnsupportedParameter.
AgentDefinitionPtr workflow_agent(Workflow workflow, std::string_view id);

// The same with runs that are kept until the turn has its answer, in a session of their own: a turn that a
// crash cut goes on with its run. What the run asks is a call of the client tool `request_info` under the id
// of the request, so a question of the turn (Engine::questions): its output is the answer, a text or
// {"answer": any JSON}. A question that is refused ends the turn. `workflows` must outlive the agent's turns.
AgentDefinitionPtr workflow_agent(WorkflowEngine& workflows, Workflow workflow, std::string_view id);

}  // namespace tertulia
