// Drawings of a workflow and of a run, as Mermaid, DOT and SVG.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tertulia/conversation/event.h"
#include "tertulia/workflow/node_mark.h"
#include "tertulia/workflow/workflow.h"

namespace tertulia {

// From the events of a run.
std::map<std::string, NodeMark> marks_of(const std::vector<Event>& events);

struct DrawingOptions {
  // Default: plumbing is left out, and edges lead through it.
  bool show_internal = false;
  // Of a run, from its events or as it is stored (StoredRun::marks); empty: the workflow itself.
  std::map<std::string, NodeMark> marks{};
};

// Workflows inside of it are drawn too, as groups.
std::string to_mermaid(const Workflow& workflow, const DrawingOptions& options = {});
std::string to_dot(const Workflow& workflow, const DrawingOptions& options = {});
std::string to_svg(const Workflow& workflow, const DrawingOptions& options = {});

}  // namespace tertulia
