#include "tertulia/conversation/branch_rules.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "tertulia/base/nearest.h"

namespace tertulia {

namespace {

const BranchInfo* find_branch(std::span<const BranchInfo> branches, const BranchId& id) {
  const auto found =
      std::find_if(branches.begin(), branches.end(), [&](const auto& branch) { return branch.id == id; });
  return found == branches.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(std::span<const BranchInfo> branches) {
  std::vector<std::string> names;
  for (const BranchInfo& branch : branches) names.push_back(branch.id.text());
  std::sort(names.begin(), names.end());
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Error no_branch(std::span<const BranchInfo> branches, const BranchId& wanted) {
  std::vector<std::string> names = names_of(branches);
  Error error(ErrorCode::kNoBranch,
              "the session has no branch '" + wanted.text() + "'" + did_you_mean(wanted.text(), names));
  if (auto near = nearest(wanted.text(), names)) error = std::move(error).with("nearest", *std::move(near));
  return std::move(error).with("branches", std::move(names));
}

bool older(const BranchInfo* a, const BranchInfo* b) {
  return std::tie(a->created_at, a->id) < std::tie(b->created_at, b->id);
}

// The branches forked from each branch, oldest first.
using Children = std::map<std::string_view, std::vector<const BranchInfo*>>;

Children children_of(std::span<const BranchInfo> branches) {
  Children children;
  for (const BranchInfo& branch : branches) {
    if (branch.origin) children[branch.origin->parent.text()].push_back(&branch);
  }
  for (auto& [parent, forks] : children) std::sort(forks.begin(), forks.end(), older);
  return children;
}

Error bad_fork_point(std::string sentence, const std::vector<std::size_t>& nearest) {
  std::vector<std::string> points;
  for (const std::size_t point : nearest) points.push_back(std::to_string(point));
  if (!points.empty()) sentence += "; the nearest points are: " + joined(points);
  return Error(ErrorCode::kBadForkPoint, std::move(sentence)).with("nearest", std::move(points));
}

Error damaged(const BranchInfo& branch, std::string_view what) {
  return Error(ErrorCode::kDamaged, "branch '" + branch.id.text() + "' " + std::string(what))
      .with("branch", branch.id.text());
}

}  // namespace

const BranchId& main_branch() {
  static const BranchId id = *BranchId::parse("main");
  return id;
}

Result<BranchChoice> resolve_branch(std::span<const BranchInfo> branches,
                                    const std::optional<BranchId>& wanted) {
  if (branches.empty() && (!wanted || *wanted == main_branch())) {
    return BranchChoice{.id = main_branch(), .create = true};
  }
  if (wanted) {
    if (find_branch(branches, *wanted) == nullptr) return no_branch(branches, *wanted);
    return BranchChoice{.id = *wanted};
  }
  if (branches.size() == 1) return BranchChoice{.id = branches.front().id};
  std::vector<std::string> names = names_of(branches);
  return Error(ErrorCode::kAmbiguousBranch, "the session has " + std::to_string(names.size()) +
                                                " branches; name the one you mean: " + joined(names))
      .with("branches", std::move(names));
}

Result<std::size_t> check_fork_point(const Transcript& transcript, std::int64_t index) {
  if (transcript.empty()) return bad_fork_point("the branch has no messages to fork from", {});
  const std::size_t last = transcript.size() - 1;
  if (index < 0) {
    return bad_fork_point(
        "a fork keeps the messages up to an index of 0 or more, not " + std::to_string(index),
        {transcript.group_end(0) - 1});
  }
  if (static_cast<std::uint64_t>(index) > last) {
    return bad_fork_point(
        "there is no message " + std::to_string(index) + "; the last one is " + std::to_string(last), {last});
  }
  const auto at = static_cast<std::size_t>(index);
  const std::size_t end = transcript.group_end(at);
  if ((transcript[at].role() == Role::kTool || transcript[at].has_tool_calls()) && end != at + 1) {
    std::vector<std::size_t> nearest;
    if (const std::size_t start = transcript.group_start(at); start > 0) nearest.push_back(start - 1);
    nearest.push_back(end - 1);
    return bad_fork_point("message " + std::to_string(index) + " stands between a tool call and its results",
                          nearest);
  }
  return at + 1;
}

Result<std::size_t> find_message(const Transcript& transcript, MessageId id) {
  std::optional<std::size_t> found;
  transcript.for_each(0, transcript.size(), [&](std::size_t index, const Message& message) {
    if (message.id() == id) found = index;
    return !found;
  });
  if (!found) return Error(ErrorCode::kNoMessage, "the branch has no message '" + id.text() + "'");
  return *found;
}

Result<std::vector<BranchId>> plan_delete(std::span<const BranchInfo> branches, const BranchId& id,
                                          bool recursive) {
  if (find_branch(branches, id) == nullptr) return no_branch(branches, id);
  const Children children = children_of(branches);
  // Parents before children, then turned round. A branch that is in the plan already is not followed again,
  // so a damaged lineage cannot make this endless.
  std::vector<BranchId> plan = {id};
  std::set<std::string_view> planned = {id.text()};
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i] == main_branch()) {
      return Error(ErrorCode::kProtectedBranch,
                   "the branch 'main' cannot be deleted; delete the session instead");
    }
    const auto forks = children.find(plan[i].text());
    if (forks == children.end()) continue;
    for (const BranchInfo* fork : forks->second) {
      if (planned.insert(fork->id.text()).second) plan.push_back(fork->id);
    }
    if (!recursive) {
      const std::size_t count = forks->second.size();
      return Error(ErrorCode::kHasChildren, "branch '" + id.text() + "' has " + std::to_string(count) +
                                                (count == 1 ? " child" : " children") +
                                                "; delete them first, or ask for a recursive delete")
          .with("n", static_cast<std::int64_t>(count));
    }
  }
  std::reverse(plan.begin(), plan.end());
  return plan;
}

std::vector<BranchId> siblings_at(std::span<const BranchInfo> branches, const ForkOrigin& point) {
  std::vector<const BranchInfo*> forks;
  for (const BranchInfo& branch : branches) {
    if (branch.origin == point) forks.push_back(&branch);
  }
  std::sort(forks.begin(), forks.end(), older);
  std::vector<BranchId> siblings = {point.parent};
  for (const BranchInfo* fork : forks) siblings.push_back(fork->id);
  return siblings;
}

Result<SiblingInfo> sibling_info(std::span<const BranchInfo> branches, const BranchId& id) {
  const BranchInfo* branch = find_branch(branches, id);
  if (branch == nullptr) return no_branch(branches, id);
  SiblingInfo info;
  std::size_t earliest = std::numeric_limits<std::size_t>::max();
  for (const BranchInfo& other : branches) {
    if (!other.origin || other.origin->parent != id) continue;
    ++info.total_forks;
    earliest = std::min(earliest, other.origin->at_index);
  }
  const ForkOrigin point = branch->origin.value_or(ForkOrigin{.parent = id, .at_index = earliest});
  const std::vector<BranchId> siblings = siblings_at(branches, point);
  info.original = point.parent;
  info.total = siblings.size();
  info.index = static_cast<std::size_t>(std::find(siblings.begin(), siblings.end(), id) - siblings.begin());
  if (info.index > 0) info.previous = siblings[info.index - 1];
  if (info.index + 1 < info.total) info.next = siblings[info.index + 1];
  return info;
}

Result<void> check_lineage(std::span<const BranchInfo> branches) {
  std::map<std::string_view, const BranchInfo*> by_id;
  for (const BranchInfo& branch : branches) {
    if (!by_id.emplace(branch.id.text(), &branch).second) return damaged(branch, "exists twice");
  }
  for (const BranchInfo& branch : branches) {
    if (!branch.origin) continue;
    const auto parent = by_id.find(branch.origin->parent.text());
    if (parent == by_id.end()) return damaged(branch, "was forked from a branch that does not exist");
    if (branch.origin->at_index >= parent->second->message_count) {
      return damaged(branch, "was forked behind the end of its parent");
    }
    if (branch.origin->at_index >= branch.message_count) {
      return damaged(branch, "has fewer messages than it was forked with");
    }
  }
  // Walks up from each branch until a root or a branch that is known to reach one; `walk` numbers the walks.
  std::map<const BranchInfo*, std::size_t> reached;
  for (std::size_t walk = 0; walk < branches.size(); ++walk) {
    const BranchInfo* at = &branches[walk];
    while (at->origin && reached.emplace(at, walk).second) at = by_id.at(at->origin->parent.text());
    if (at->origin && reached.at(at) == walk) return damaged(*at, "descends from itself");
  }
  return {};
}

}  // namespace tertulia
