// What a client asks for with a response.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tertulia/agent/engine.h"
#include "tertulia/agent/run_options.h"

#include "core/call.h"
#include "openai/assembler.h"
#include "openai/response_plan.h"

namespace tertulia::server {

struct ResponseRequest {
  ResponsePlan plan;
  RunOptions options;
  std::string previous;
  bool conversation = false;
  bool store = true;
  bool background = false;
  bool stream = false;
};

// Everything but the input. Errors of Fields; kModelNotFound; kUnsupportedParameter.
Result<ResponseRequest> read_response_request(const Call& call, const JsonObject& body);

// Finds items by the ids that responses gave them: among what they were asked and what they said.
Result<Json> find_item(const Call& call, const std::string& id);

// The input behind what was handed back.
Result<Assembled> read_response_input(const Call& call, const JsonObject& body,
                                      const std::vector<Message>& handed_back);

// "conv_SESSION", or the id of a session as it is.
std::string conversation_id(const SessionId& session);
Result<SessionKey> conversation_key(const Call& call, std::string_view id);

}  // namespace tertulia::server
