#include "history_pruning.h"

#include <algorithm>

namespace tertulia {
namespace {

// Results of the newest tool groups that are never shortened.
constexpr std::size_t kWholeToolGroups = 4;

// The stepped pruner leaves this share of the steady budget to what changes from turn to turn, and cuts off
// this share of it at a time.
constexpr std::uint64_t kStepRoom = 8;
constexpr std::uint64_t kStepSize = 4;

// How far back from the end the search for a cut looks first, in messages.
constexpr std::size_t kFirstStride = 32;

bool admits(const ConversationPolicy* policy, const Message& message) {
  if (policy == nullptr) return true;
  if (message.internal() && !policy->show_internal) return false;
  if (!policy->admits(message.role())) return false;
  return !message.has_tool_calls() || policy->admits(Role::kTool);
}

class Pruner {
 public:
  explicit Pruner(const PruneRequest& request) : request_(request), history_(request.history) {}

  // By the sums that the transcript keeps: touches nothing but the bounds of what is kept.
  PrunedHistory by_sums() {
    const std::size_t bound = bound_start();
    const std::size_t cut = cut_for(bound, request_.budget);
    const std::size_t start = std::min(cut, std::max(least_start(), bound));
    add_dropped({0, request_.from}, request_.before);
    add_dropped({request_.from, bound}, FateReason::kWindow);
    add_dropped({bound, start}, FateReason::kBudget);
    add({start, cut}, cost({start, cut}), Fate::kKept, FateReason::kMinHistory);
    add({cut, history_.size()}, cost({cut, history_.size()}), Fate::kKept, FateReason::kFits);
    return finish();
  }

  // One group after the other, the newest first, as long as there is room: for views that leave out some of
  // them, shorten others, or count again.
  PrunedHistory by_groups(bool elide);

  std::uint64_t cost_of_all() const { return cost({request_.from, history_.size()}); }
  std::uint64_t cost_of_pins() const {
    std::uint64_t sum = 0;
    for (const MessageRange& pin : request_.pins) {
      if (pin.begin < request_.from) sum += cost(pin);
    }
    return sum;
  }

 private:
  struct Group {
    MessageRange range;
    std::uint64_t tokens = 0;
    Fate fate = Fate::kKept;
    FateReason reason = FateReason::kFits;
    std::vector<std::pair<std::size_t, Message>> instead{};

    std::size_t size() const { return range.end - range.begin; }
    // Whether it was weighed against the budget.
    bool counts() const { return fate != Fate::kDropped && reason != FateReason::kPinned; }
  };

  // What was taken on the way back from the newest message.
  struct Walk {
    bool elide = false;
    std::uint64_t left = 0;
    std::vector<Group> groups{};  // the newest first
    std::size_t kept = 0;         // messages that count
    std::size_t tool_groups = 0;
    std::size_t whole_turns = 0;  // groups up to the last turn that was taken as a whole
  };

  std::uint64_t cost(MessageRange range) const {
    if (range.begin >= range.end) return 0;
    return number(history_.tokens_before(range.end)) - number(history_.tokens_before(range.begin)) +
           kTokensPerMessage * (range.end - range.begin);
  }

  // What is shown if everything from `cut` on is, and the pinned messages before it.
  std::uint64_t cost_from(std::size_t cut) const {
    std::uint64_t sum = cost({cut, history_.size()});
    for (const MessageRange& pin : request_.pins) {
      if (pin.begin >= cut) break;
      sum += cost(pin);
    }
    return sum;
  }

  // Where the newest turns begin that a window or the participant's policy leaves.
  std::size_t window_start() const {
    std::uint64_t turns = UINT64_MAX;
    if (request_.config.pruning == Pruning::kSlidingWindow) turns = request_.config.sliding_window_turns;
    if (request_.policy != nullptr && request_.policy->max_turns) {
      turns = std::min<std::uint64_t>(turns, *request_.policy->max_turns);
    }
    if (turns == UINT64_MAX) return request_.from;
    std::size_t start = history_.size();
    for (; turns > 0 && start > request_.from; --turns) start = history_.turn_start(start - 1);
    return std::max(start, request_.from);
  }

  // Before this, nothing is shown but what is pinned, whatever room there is.
  std::size_t bound_start() const {
    const std::size_t window = window_start();
    if (request_.config.pruning != Pruning::kStepped) return window;
    return std::min(std::max(window, stepped_cut(window)), std::max(least_start(), window));
  }

  // The start of the newest messages that stay whatever they cost.
  std::size_t least_start() const {
    const std::size_t least = std::min<std::size_t>(request_.config.min_history_messages, history_.size());
    return least == 0 ? history_.size() : history_.group_start(history_.size() - least);
  }

  // The first message from `start` on for which `holds`, given that it holds for all behind that one; size()
  // if it holds for none. Looks back from the end in strides that grow, because what is shown ends there: a
  // history of any length costs the same.
  template <class Holds>
  std::size_t first_from(std::size_t start, Holds holds) const {
    std::size_t low = start;
    std::size_t high = history_.size();
    for (std::size_t stride = kFirstStride; high > low; stride *= 2) {
      const std::size_t at = high - low > stride ? high - stride : low;
      if (!holds(at)) {
        low = at + 1;
        break;
      }
      high = at;
    }
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (holds(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  // The first whole turn from which everything fits; inside the last turn, the first whole group.
  std::size_t cut_for(std::size_t start, std::uint64_t budget) const {
    const std::size_t low = first_from(start, [&](std::size_t at) { return cost_from(at) <= budget; });
    if (low == start || low == history_.size()) return low;
    const std::size_t turn = history_.turn_start(low) == low ? low : next_turn(low);
    if (turn < history_.size()) return turn;
    return history_.group_start(low) == low ? low : history_.group_end(low);
  }

  std::size_t next_turn(std::size_t index) const { return history_.first_after(history_.revision_at(index)); }

  // A cut that depends on nothing but the length of the history and moves in large steps, so that most turns
  // begin exactly as the one before.
  std::size_t stepped_cut(std::size_t start) const {
    const std::uint64_t limit = request_.steady_budget - request_.steady_budget / kStepRoom;
    const std::uint64_t step = std::max<std::uint64_t>(request_.steady_budget / kStepSize, 1);
    const std::uint64_t all = cost({start, history_.size()});
    if (all <= limit) return start;
    const std::uint64_t off = (all - limit + step - 1) / step * step;
    const std::size_t low = first_from(start, [&](std::size_t at) { return cost({start, at}) >= off; });
    if (low >= history_.size() || history_.turn_start(low) == low) return low;
    return next_turn(low);
  }

  std::uint64_t count(std::size_t index) const {
    const Message& message = history_[index];
    const bool counted = message.counted() == counted_by(request_.tokenizer);
    const Tokens tokens = counted ? message.tokens() : count_tokens(message, request_.tokenizer);
    return number(tokens) + kTokensPerMessage;
  }
  std::uint64_t count(MessageRange range) const {
    std::uint64_t sum = 0;
    for (std::size_t i = range.begin; i < range.end; ++i) sum += count(i);
    return sum;
  }

  bool is_pinned(MessageRange group) const {
    const auto pin = std::partition_point(request_.pins.begin(), request_.pins.end(),
                                          [&](const MessageRange& one) { return one.begin < group.begin; });
    return pin != request_.pins.end() && pin->begin == group.begin;
  }
  // The group, with its results shortened if `elide`.
  Group look_at(MessageRange range, bool elide) const;
  // False if there is no room for it.
  bool take(Walk& walk, MessageRange range) const;
  // A turn that does not fit as a whole goes as a whole, unless it is the only one or must stay.
  void give_back_cut_turn(Walk& walk) const;

  void add(MessageRange range, std::uint64_t tokens, Fate fate, FateReason reason) {
    if (range.begin >= range.end) return;
    if (!runs_.empty() && runs_.back().fate == fate && runs_.back().reason == reason) {
      runs_.back().range.end = range.end;
      runs_.back().tokens = runs_.back().tokens + Tokens{tokens};
      return;
    }
    runs_.push_back({range, Tokens{tokens}, fate, reason});
  }

  // All of it is left out, except what is pinned.
  void add_dropped(MessageRange range, FateReason reason) {
    std::size_t next = range.begin;
    for (const MessageRange& pin : request_.pins) {
      if (pin.end <= range.begin || pin.begin >= range.end) continue;
      add({next, pin.begin}, cost({next, pin.begin}), Fate::kDropped, reason);
      add(pin, cost(pin), Fate::kKept, FateReason::kPinned);
      next = pin.end;
    }
    add({next, range.end}, cost({next, range.end}), Fate::kDropped, reason);
  }

  PrunedHistory finish() {
    PrunedHistory pruned;
    for (const HistoryRun& run : runs_) {
      if (run.fate == Fate::kDropped) continue;
      pruned.tokens += number(run.tokens);
      if (!pruned.kept.empty() && pruned.kept.back().end == run.range.begin) {
        pruned.kept.back().end = run.range.end;
      } else {
        pruned.kept.push_back(run.range);
      }
    }
    const Counted counted = counted_by(request_.tokenizer);
    for (const MessageRange& range : pruned.kept) {
      history_.for_each(range.begin, range.end, [&](std::size_t, const Message& message) {
        pruned.exact = message.counted() == counted;
        return pruned.exact;
      });
      if (!pruned.exact) break;
    }
    pruned.runs = std::move(runs_);
    return pruned;
  }

  const PruneRequest& request_;
  const Transcript& history_;
  std::vector<HistoryRun> runs_;
};

Pruner::Group Pruner::look_at(MessageRange range, bool elide) const {
  if (is_pinned(range)) return {range, count(range), Fate::kKept, FateReason::kPinned};
  if (!admits(request_.policy, history_[range.begin])) {
    return {range, cost(range), Fate::kDropped, FateReason::kFiltered};
  }
  Group group{.range = range};
  for (std::size_t i = range.begin; i < range.end; ++i) {
    std::uint64_t tokens = count(i);
    if (elide && history_[i].role() == Role::kTool) {
      Result<Message> shorter = elided_result(history_[i], request_.tokenizer);
      if (shorter && number(shorter->tokens()) + kTokensPerMessage < tokens) {
        tokens = number(shorter->tokens()) + kTokensPerMessage;
        group.instead.emplace_back(i, *std::move(shorter));
        group.fate = Fate::kTruncated;
        group.reason = FateReason::kElided;
      }
    }
    group.tokens += tokens;
  }
  return group;
}

bool Pruner::take(Walk& walk, MessageRange range) const {
  const bool calls = history_[range.begin].has_tool_calls();
  Group group = look_at(range, walk.elide && calls && walk.tool_groups >= kWholeToolGroups);
  if (group.counts()) {
    if (group.tokens > walk.left) {
      if (walk.kept >= request_.config.min_history_messages) return false;
      group.reason = FateReason::kMinHistory;
    }
    walk.left -= std::min(walk.left, group.tokens);
    walk.kept += group.size();
  }
  if (calls) ++walk.tool_groups;
  walk.groups.push_back(std::move(group));
  if (history_.turn_start(range.begin) == range.begin) walk.whole_turns = walk.groups.size();
  return true;
}

void Pruner::give_back_cut_turn(Walk& walk) const {
  if (walk.whole_turns == 0) return;
  while (walk.groups.size() > walk.whole_turns) {
    const Group& last = walk.groups.back();
    if (last.counts()) {
      if (walk.kept - last.size() < request_.config.min_history_messages) return;
      walk.kept -= last.size();
    }
    walk.groups.pop_back();
  }
}

PrunedHistory Pruner::by_groups(bool elide) {
  std::uint64_t pinned = 0;
  for (const MessageRange& pin : request_.pins) pinned += count(pin);
  Walk walk{.elide = elide, .left = request_.budget - std::min(request_.budget, pinned)};
  const std::size_t bound = bound_start();
  std::size_t at = history_.size();
  while (at > bound) {
    const MessageRange range{history_.group_start(at - 1), at};
    if (!take(walk, range)) {
      give_back_cut_turn(walk);
      break;
    }
    at = range.begin;
  }
  const std::size_t start = walk.groups.empty() ? history_.size() : walk.groups.back().range.begin;
  add_dropped({0, request_.from}, request_.before);
  add_dropped({request_.from, bound}, FateReason::kWindow);
  add_dropped({bound, start}, FateReason::kBudget);
  for (auto group = walk.groups.rbegin(); group != walk.groups.rend(); ++group) {
    add(group->range, group->tokens, group->fate, group->reason);
  }
  PrunedHistory pruned = finish();
  for (auto group = walk.groups.rbegin(); group != walk.groups.rend(); ++group) {
    for (auto& shorter : group->instead) pruned.instead.push_back(std::move(shorter));
  }
  pruned.exact = true;
  return pruned;
}

}  // namespace

PrunedHistory prune_history(const PruneRequest& request) {
  const bool filters =
      request.policy != nullptr && (!request.policy->roles.empty() || !request.policy->show_internal);
  Pruner pruner(request);
  const bool fits = pruner.cost_of_all() + pruner.cost_of_pins() <= request.budget;
  const bool elide = request.config.pruning == Pruning::kElideTools && !fits;
  if (!filters && !elide) {
    PrunedHistory pruned = pruner.by_sums();
    if (pruned.exact) return pruned;
  }
  return Pruner(request).by_groups(elide);
}

}  // namespace tertulia
