// Runs of workflows as a person or a script sees them.
#pragma once

#include <string>
#include <string_view>

#include "tertulia/base/json.h"
#include "tertulia/workflow/workflow_engine.h"

#include "commands.h"

namespace tertulia::cli {

// A run that is stored as running, while nobody else can have the data, was cut: "interrupted".
std::string_view status_word(WorkflowStatus status);
JsonObject json_of(const StoredRun& run);
// What a run asks, and how it is answered.
void show_request(const Context& context, const std::string& run, const InfoRequest& request);

// From here on Ctrl-C says how to go on with the run that is followed, and ends the program: what was
// committed stays. Called before any thread is started.
void keep_interrupts();
// Shows a run to its end. `file` is named in what is said of it.
Result<void> follow(const Context& context, const std::string& file, WorkflowRun run);

}  // namespace tertulia::cli
