// The keys of a workflow file that several kinds share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/workflow/agent_node.h"
#include "tertulia/workflow/workflow.h"

namespace tertulia {

std::vector<std::string> texts_in(JsonReader& in, std::string_view key);
std::uint64_t supersteps_in(JsonReader& in);

// Ends reading a table; a key that is not known is named with the nearest of these.
Result<void> finish_table(JsonReader& in, const std::vector<std::string>& known);

// The text, if it is one of these; kBadConfig that names the nearest.
Result<std::string> one_of(const std::string& text, std::string_view what,
                           const std::vector<std::string>& known);
ContextMode context_named(const std::string& name);

// [participants.NAME]: how an agent takes part.
Result<AgentNodeOptions> read_participant(const Json& form, const std::string& where);

// [[workflow.edges]]: from and to, each one name or several; when; or cases and otherwise.
Result<void> add_edge(const Json& form, WorkflowBuilder& builder);

}  // namespace tertulia
