// A conversation: a session as OpenAI's clients see it, one line of items.
//
// The line is a branch, `main` at first. Items are never taken out of a transcript: deleting one goes on with
// a new branch that does not have it, and the session remembers which branch that is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tertulia/store/store.h"

#include "core/call.h"
#include "openai/assembler.h"

namespace tertulia::server {

struct Conversation {
  SessionKey key;
  SessionState state;
  BranchId branch;
  std::vector<StoredTurn> turns;
  // Calls at the end that have no output yet.
  std::vector<Message> open;

  // The turn that the open calls stand behind; nil if there is none.
  TurnId last() const { return turns.empty() ? TurnId() : turns.back().turn.id(); }
  // JSON text, the oldest first.
  std::vector<std::string> items() const;
};

// The branch that is the conversation.
Result<BranchId> current_branch(const SessionState& state);

// kNotFound. Blocks.
Result<SessionState> load_conversation_state(const Call& call, std::string_view id, SessionKey& key);
Result<Conversation> load_conversation(const Call& call, std::string_view id);

// A branch that keeps the turns before the one at `turn`, and is the conversation from now on. Blocks.
Result<BranchId> cut_before(const Call& call, const Conversation& conversation, std::size_t turn);

// Adds items as a turn of their own, and gives them as they are now. Blocks.
Result<std::vector<std::string>> add_items(const Call& call, const Conversation& conversation,
                                           const JsonArray& items);
// kNotFound; kUnpairedToolCall if a call in the middle would lose its output. Blocks.
Result<void> delete_item(const Call& call, const Conversation& conversation, const std::string& id);

}  // namespace tertulia::server
