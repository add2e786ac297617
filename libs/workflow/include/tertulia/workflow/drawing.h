// Drawings of a workflow and of a run, as Mermaid, DOT and SVG.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/conversation/event.h"
#include "tertulia/workflow/workflow.h"

namespace tertulia {

// What became of a node in a run.
struct NodeMark {
  enum class State : std::uint8_t { kRunning, kCompleted, kFailed, kBypassed, kWaiting };
  State state = State::kRunning;
  // In all its calls.
  Duration time{};
  std::uint32_t calls = 0;
};
std::string_view name_of(NodeMark::State state);
// From the events of a run.
std::map<std::string, NodeMark> marks_of(const std::vector<Event>& events);

struct DrawingOptions {
  // Default: plumbing is left out, and edges lead through it.
  bool show_internal = false;
  // Of a run; empty: the workflow itself.
  std::map<std::string, NodeMark> marks{};
};

std::string to_mermaid(const Workflow& workflow, const DrawingOptions& options = {});
std::string to_dot(const Workflow& workflow, const DrawingOptions& options = {});
std::string to_svg(const Workflow& workflow, const DrawingOptions& options = {});

}  // namespace tertulia
