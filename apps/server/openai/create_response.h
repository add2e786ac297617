// Begins a response: over HTTP, or for a message of a WebSocket.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  // Of one that is not stored: what came before, and when its end has been read, the turn.
  std::shared_ptr<const Branch> branch{};
};

// A response that is not stored, where whoever asked may still go on from it: as long as a WebSocket is open.
struct RememberedResponse {
  std::string id;
  std::shared_ptr<const Branch> branch;
  std::vector<Message> handed_back;
};
using RememberedPtr = std::shared_ptr<const RememberedResponse>;

// Reads the body, begins the turn, and keeps what was asked. A stored response goes on to its end, whatever
// becomes of whoever asked for it. It may go on from `remembered`, which may be null.
void begin_response(const CallPtr& call, const JsonObject& body, Done<BegunResponse> done,
                    const RememberedPtr& remembered = nullptr);

// The events of a response that was begun. `remember` is called before the last one, with a response that is
// not stored and did not fail.
std::shared_ptr<ByteStream> stream_of(Services& services, BegunResponse begun,
                                      std::function<void(RememberedPtr)> remember = nullptr);

}  // namespace tertulia::server
