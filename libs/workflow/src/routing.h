// Routing: along which edges a message goes, and what fan-ins wait with.
#pragma once

#include <string>
#include <vector>

#include "run_state.h"

namespace tertulia {

// The deliveries that a message makes, in the order of the edges. Fan-ins that are not complete keep it in
// `buffers`. What cannot be delivered is dropped, and `warnings` says so. kBadGraph for a selection that is
// not among the targets; what a condition throws is an error.
Result<std::vector<Delivery>> route(const Workflow::Graph& graph, const WorkflowMessage& message,
                                    RunState& state, std::vector<std::string>& warnings);

// The deliveries that are made in place of those of a node that was passed over: what it was given goes on
// along its edge, if it has only one without a condition, and fan-ins do not wait for it.
Result<std::vector<Delivery>> route_past(const Workflow::Graph& graph, const Delivery& given,
                                         RunState& state);

}  // namespace tertulia
