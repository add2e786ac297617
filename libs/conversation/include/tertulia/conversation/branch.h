// A Branch: one path through a session.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/conversation/branch_rules.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/transcript.h"

namespace tertulia {

// The state of middleware by the name of its owner. Carried, never looked into.
using MiddlewareState = std::map<std::string, JsonText>;

// A value: copying one copies a pointer to the messages, whatever their number.
struct Branch {
  BranchId id;
  SessionId session;
  Transcript transcript;
  // Branch-scoped: a fork begins with a copy, then they diverge.
  MiddlewareState state;
  std::optional<ForkOrigin> forked_from;
  std::string label;
  std::string description;
  std::vector<std::string> tags;
  Time created_at{};
  Time last_activity{};
  // Fields of a newer minor version, as an object.
  JsonText extra;
  // A store has it: it was loaded, or saved. One that was only made lives in memory. Not part of its JSON.
  bool stored = false;
};

// The branch `id` that keeps the messages 0..at_index of `parent`, copying nothing. kBadForkPoint as
// check_fork_point says it.
Result<Branch> fork_branch(const Branch& parent, BranchId id, std::int64_t at_index, Time now);

// What the branch rules need to know of it.
BranchInfo info_of(const Branch& branch);

}  // namespace tertulia
