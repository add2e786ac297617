// A node in a superstep: its calls, and what came of them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "node_call.h"
#include "run_machine.h"

namespace tertulia {

struct RunMachine::NodeRun {
  explicit NodeRun(const Node& spec) : node(spec), effects{.node = spec.id} {}

  const Node& node;
  std::vector<Delivery> calls;
  // The call that runs.
  std::size_t next = 0;
  std::unique_ptr<NodeCall> call;
  NodeEffects effects;
  // As they were before the call, for trying it again.
  NodeEffects before;
  std::uint32_t tries = 0;
  bool finished = false;
  // When its first call began, and when its last one ended.
  Time began{};
  Time ended{};
  std::optional<Error> error;
};

}  // namespace tertulia
