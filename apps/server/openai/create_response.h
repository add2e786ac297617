// Begins a response: over HTTP, or for a message of a WebSocket.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tertulia/base/done.h"
#include "tertulia/base/json.h"

#include "core/call.h"
#include "openai/response_plan.h"
#include "openai/response_store.h"

namespace tertulia::server {

// A response that is being said.
struct BegunResponse {
  std::shared_ptr<const ResponsePlan> plan;
  // Of a stored one: how it ends, whoever reads it. Null otherwise.
  std::shared_ptr<ResponseEnd> end;
  // For whoever tells it.
  StartedRun run;
  bool background = false;
  bool stream = false;
};

// Reads the body, begins the turn, and keeps what was asked. A stored response goes on to its end, whatever
// becomes of whoever asked for it.
void begin_response(const CallPtr& call, const JsonObject& body, Done<BegunResponse> done);

// The events of a response that was begun, beyond `after`.
std::shared_ptr<ByteStream> stream_of(Services& services, BegunResponse begun);

}  // namespace tertulia::server
