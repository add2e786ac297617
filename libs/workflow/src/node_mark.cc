#include "tertulia/workflow/node_mark.h"

#include <string>

namespace tertulia {

std::string_view name_of(NodeMark::State state) {
  switch (state) {
    case NodeMark::State::kRunning:
      return "running";
    case NodeMark::State::kCompleted:
      return "completed";
    case NodeMark::State::kFailed:
      return "failed";
    case NodeMark::State::kBypassed:
      return "bypassed";
    case NodeMark::State::kWaiting:
      return "waiting";
  }
  return "invalid";
}

Result<NodeMark::State> node_state_named(std::string_view name) {
  for (const auto state : {NodeMark::State::kRunning, NodeMark::State::kCompleted, NodeMark::State::kFailed,
                           NodeMark::State::kBypassed, NodeMark::State::kWaiting}) {
    if (name_of(state) == name) return state;
  }
  return Error(ErrorCode::kOutOfRange, "there is no state '" + std::string(name) + "' of a node");
}

}  // namespace tertulia
