// What a client asks for when it sends a turn.
#pragma once

#include <optional>
#include <string>

#include "tertulia/agent/engine.h"
#include "tertulia/agent/run_options.h"
#include "tertulia/base/json.h"
#include "tertulia/base/result.h"

#include "core/call.h"

namespace tertulia::server {

struct TurnRequest {
  // Empty: a new one.
  std::string session;
  std::string agent;
  Input input;
  RunOptions options;
  bool stream = false;
};

// Which parts of a turn the path says already.
enum class TurnPlace : std::uint8_t {
  kFree,      // the body names session and branch
  kInTurn,    // the path names a turn of a session
  kResuming,  // no message
};

// Reads the body, strictly. Errors of JsonReader, kBadId, kEmptyMessage.
Result<TurnRequest> read_turn_request(const Call& call, TurnPlace place);

}  // namespace tertulia::server
