// A NodeMark: what became of a node in a run.
#pragma once

#include <cstdint>
#include <string_view>

#include "tertulia/base/clock.h"
#include "tertulia/base/result.h"

namespace tertulia {

struct NodeMark {
  enum class State : std::uint8_t { kRunning, kCompleted, kFailed, kBypassed, kWaiting };
  State state = State::kRunning;
  // In all its calls.
  Duration time{};
  std::uint32_t calls = 0;

  bool operator==(const NodeMark&) const = default;
};
std::string_view name_of(NodeMark::State state);
Result<NodeMark::State> node_state_named(std::string_view name);

}  // namespace tertulia
