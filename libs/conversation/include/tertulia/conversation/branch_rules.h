// The rules of branches: which one is meant, where one may fork, what may be deleted, who stands beside whom.
//
// Pure functions over plain data, so that every store and every interface applies the same rules. A refusal
// changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/transcript.h"

namespace tertulia {

// Where a branch left its parent. The fork keeps the parent's messages 0..at_index, that one included.
struct ForkOrigin {
  BranchId parent{};
  std::size_t at_index = 0;

  bool operator==(const ForkOrigin&) const = default;
};

// What the rules need to know of a branch.
struct BranchInfo {
  BranchId id{};
  std::optional<ForkOrigin> origin{};
  // With the messages that it shares with its parent.
  std::size_t message_count = 0;
  Time created_at{};

  bool operator==(const BranchInfo&) const = default;
};

// The branch that a session begins with, and that cannot be deleted: "main".
const BranchId& main_branch();

struct BranchChoice {
  BranchId id{};
  // The branch does not exist yet: the session has none.
  bool create = false;

  bool operator==(const BranchChoice&) const = default;
};

// Which branch is meant. The named one: kNoBranch {branches, nearest} if it does not exist, without `nearest`
// if no name comes near. None named: the only one there is, `main` to be created if there is none,
// kAmbiguousBranch {branches} if there are several.
Result<BranchChoice> resolve_branch(std::span<const BranchInfo> branches,
                                    const std::optional<BranchId>& wanted);

// How many messages a fork at `index` keeps: index + 1. kBadForkPoint {nearest} if there is no such message,
// or if the cut would part a tool call from its results; `nearest` lists the legal points before and after
// it.
Result<std::size_t> check_fork_point(const Transcript& transcript, std::int64_t index);

// The index of a message. kNoMessage if it is not there. Looks at every message: O(n).
Result<std::size_t> find_message(const Transcript& transcript, MessageId id);

// The branches to delete in order to delete `id`, each after all its children. kNoBranch; kProtectedBranch
// for `main`, and for a branch that `main` was forked from; kHasChildren {n} unless `recursive`.
Result<std::vector<BranchId>> plan_delete(std::span<const BranchInfo> branches, const BranchId& id,
                                          bool recursive);

// The branches that go different ways from the same message: the original, then its forks by age.
std::vector<BranchId> siblings_at(std::span<const BranchInfo> branches, const ForkOrigin& point);

// The place of a branch among its siblings. A fork stands among those of its own fork point. A branch that is
// no fork stands among those of the earliest point at which it was forked, and alone if it never was.
struct SiblingInfo {
  std::size_t index = 0;
  std::size_t total = 1;
  std::optional<BranchId> previous{};
  std::optional<BranchId> next{};
  BranchId original{};
  // How many branches were forked from this one, at any point.
  std::size_t total_forks = 0;

  bool operator==(const SiblingInfo&) const = default;
};
Result<SiblingInfo> sibling_info(std::span<const BranchInfo> branches, const BranchId& id);

// Ok if ids are unique, parents exist, no branch descends from itself, and each fork point is inside its
// parent and inside what the fork keeps. kDamaged {branch} otherwise.
Result<void> check_lineage(std::span<const BranchInfo> branches);

}  // namespace tertulia
