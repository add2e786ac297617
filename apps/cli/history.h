// Reading branches and their messages for commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/conversation/transcript.h"
#include "tertulia/store/store.h"

namespace tertulia::cli {

// A message with its place.
struct PlacedMessage {
  std::uint64_t index = 0;
  Revision revision{};
  Message message;
};

// The branch of this name; the only one if the name is empty. Errors of resolve_branch, and kNoBranch for a
// session without branches.
Result<const BranchHead*> choose_branch(const SessionState& state, const std::string& name);

// The messages begin..end-1, exactly.
Result<std::vector<PlacedMessage>> read_messages(Store& store, const SessionKey& key,
                                                 const BranchHead& branch, std::uint64_t begin,
                                                 std::uint64_t end);

// The whole branch.
Result<Transcript> read_transcript(Store& store, const SessionKey& key, const BranchHead& branch);

// The index that a person means: a number, -1 for the last message, or the id of a message. kNoMessage.
Result<std::uint64_t> message_index(Store& store, const SessionKey& key, const BranchHead& branch,
                                    const std::string& text);

// What a message says, on one line: its text, or the tools it calls.
std::string preview(const Message& message);

}  // namespace tertulia::cli
