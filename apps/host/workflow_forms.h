// Workflows and their runs as JSON (docs/contracts/api.md shows each form).
#pragma once

#include <string>

#include "tertulia/base/json.h"
#include "tertulia/workflow/workflow_engine.h"

namespace tertulia {

// `workflow` is its name in the configuration.
std::string outcome_text(const WorkflowOutcome& outcome, const std::string& workflow);
void write_run(JsonWriter& out, const StoredRun& run, const std::string& workflow, bool live);
// {"start", "nodes", "edges"}; without plumbing unless that is asked for.
void write_graph(JsonWriter& out, const Workflow& workflow, bool show_internal);

}  // namespace tertulia
