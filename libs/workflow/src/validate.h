// What is wrong with a graph, what is odd about it, and what it is.
#pragma once

#include <string>
#include <vector>

#include "tertulia/workflow/workflow.h"

namespace tertulia {

// Every problem, in the order of the nodes and edges.
std::vector<std::string> problems_of(const Workflow::Graph& graph, bool outputs_named);
std::vector<std::string> warnings_of(const Workflow::Graph& graph);
std::vector<std::string> signature_of(const Workflow::Graph& graph);

// Whether a message of one of `sent` can be taken by one that takes `accepted`; an empty list is anything.
bool types_meet(const std::vector<std::string>& sent, const std::vector<std::string>& accepted);

}  // namespace tertulia
