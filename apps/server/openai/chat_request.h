// What a client asks for with a chat completion.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tertulia/agent/engine.h"
#include "tertulia/agent/run_options.h"
#include "tertulia/base/result.h"

#include "core/call.h"
#include "openai/client_tools.h"

namespace tertulia::server {

struct ChatRequest {
  // As the client named it, and the agent behind it with the client's tools.
  std::string model;
  AgentDefinitionPtr agent;
  ClientTools tools;
  RunOptions options;
  // What came before the turn, and what it begins with.
  std::vector<Message> history;
  Input input;
  // None: nothing is stored.
  std::optional<SessionKey> session;
  bool stream = false;
  bool usage = false;
};

// Reads the body. With a session, what it holds already is not taken from the messages again. Blocks.
Result<ChatRequest> read_chat_request(const Call& call);

// The session that a request names, by header or in its body: `conversation` or metadata.session.
Result<std::optional<SessionKey>> named_session(const Call& call, const JsonObject& body);

// Idempotency-Key, tenant and owner.
Result<void> read_call_options(const Call& call, RunOptions& options);

}  // namespace tertulia::server
