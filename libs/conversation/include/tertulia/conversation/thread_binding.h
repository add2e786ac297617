// A ThreadBinding: where a participant keeps its own side of a conversation, and how much of ours it has
// seen.
#pragma once

#include <cstdint>
#include <string>

#include "tertulia/base/id.h"
#include "tertulia/conversation/json_text.h"

namespace tertulia {

// A participant has one per branch, because the cursor counts messages of one transcript. A fork begins with
// a copy whose cursor is cut to the fork point and whose service thread, if any, is not shared.
struct ThreadBinding {
  ParticipantId participant;
  BranchId branch;
  // The thread the provider keeps; empty if the participant is served from our own transcript.
  std::string service_thread;
  // How many messages of the transcript the thread has been given. Moves only when they were really
  // delivered.
  std::uint64_t applied = 0;
  // Fields of a newer minor version, as an object.
  JsonText extra;

  bool is_local() const { return service_thread.empty(); }
  bool operator==(const ThreadBinding&) const = default;
};

// The binding of a branch that was forked off after `kept` messages: starts as local, knows nothing more than
// was kept.
ThreadBinding forked(const ThreadBinding& binding, const BranchId& branch, std::uint64_t kept);

}  // namespace tertulia
