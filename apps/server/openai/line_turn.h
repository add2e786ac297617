// The next turn of a conversation whose client keeps all its messages and sends them every time: pages with
// useChat, and AG-UI.
//
// What counts is how many messages of the user there are. One more than is stored is a new turn; as many or
// fewer mean that the last one was edited, or is to be answered again: the conversation goes on with a branch
// that ends before it.
#pragma once

#include <optional>
#include <string>

#include "tertulia/agent/engine.h"
#include "tertulia/agent/run_options.h"

#include "core/call.h"
#include "openai/client_tools.h"
#include "openai/run_events.h"

namespace tertulia::server {

struct LineTurn {
  AgentDefinitionPtr agent;
  ClientTools tools;
  SessionKey key;
  BranchId branch;
  RunOptions options;
  Input input;
};

// `messages` are those of a chat completion. What was sent under the same `once` before is the same turn;
// empty: the header says. Blocks.
Result<LineTurn> read_line_turn(const Call& call, const SessionKey& key, const std::string& model,
                                const JsonArray& messages, const Json* tools, const std::string& once = {});

RunPtr run_line_turn(Services& services, const LineTurn& turn);

// The turn that goes on in a session, or that a crash has left: it is taken up again. Null if there is none.
// Blocks.
Result<RunPtr> attach_to_session(const Call& call, const SessionKey& key, const std::string& model);

// Keeps what the turn hands back even if nobody reads it.
void follow_line_turn(Services& services, const LineTurn& turn, const TurnId& id);

// Keeps what the turn handed back, then calls `done`.
void keep_line_turn(Services& services, const LineTurn& turn, const TurnOutcome& outcome,
                    const std::function<void()>& done);

}  // namespace tertulia::server
