#include "tertulia/store/testing/history_checker.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace tertulia {

namespace {

using Kind = RevisionCall::Kind;

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

std::uint64_t end_of(const RevisionCall& call) { return call.kind == Kind::kUnknown ? kNever : call.ended; }

// The revision after the call, done at `revision`; nothing if it could not have ended so.
std::optional<std::uint64_t> step(const RevisionCall& call, std::uint64_t revision) {
  const bool fits = number(call.expected) == revision;
  switch (call.kind) {
    case Kind::kAppended:
      if (fits && number(call.result) == revision + 1) return revision + 1;
      return std::nullopt;
    case Kind::kConflict:
      if (!fits && number(call.result) == revision) return revision;
      return std::nullopt;
    case Kind::kUnknown:
      if (fits) return revision + 1;
      return std::nullopt;
    case Kind::kRead:
      if (number(call.result) == revision) return revision;
      return std::nullopt;
  }
  return std::nullopt;
}

std::string describe(const RevisionCall& call) {
  const std::string expected = std::to_string(number(call.expected));
  const std::string result = std::to_string(number(call.result));
  switch (call.kind) {
    case Kind::kAppended:
      return "a commit at " + expected + " that made " + result;
    case Kind::kConflict:
      return "a commit at " + expected + " that was refused because of " + result;
    case Kind::kUnknown:
      return "a commit at " + expected + " without an answer";
    case Kind::kRead:
      return "a reader that saw " + result;
  }
  return {};
}

// The search for an order of the calls of one session.
class Search {
 public:
  explicit Search(std::vector<const RevisionCall*> calls)
      : calls_(std::move(calls)), done_(calls_.size(), false) {
    std::sort(calls_.begin(), calls_.end(), [](const auto* a, const auto* b) { return a->began < b->began; });
    left_ = static_cast<std::size_t>(std::count_if(
        calls_.begin(), calls_.end(), [](const auto* call) { return call->kind != Kind::kUnknown; }));
    deepest_left_ = left_ + 1;
  }

  bool run(std::uint64_t revision) {
    // Depth first, with the path on a stack of its own: histories are longer than stacks are deep.
    std::vector<Frame> path;
    enter(path, revision);
    while (left_ > 0 && !path.empty()) {
      Frame& frame = path.back();
      if (frame.next == frame.candidates.size()) {
        leave(path);
        continue;
      }
      const std::size_t index = frame.candidates[frame.next++];
      const auto after = step(*calls_[index], frame.revision);
      if (!after) continue;
      mark(index, true);
      if (!seen_.insert(state(*after)).second) {
        mark(index, false);
        continue;
      }
      path.back().chosen = index;
      enter(path, *after);
    }
    return left_ == 0;
  }

  // A call that could not be placed in the longest order that was found.
  const RevisionCall& culprit() const { return *calls_[stuck_at_]; }

 private:
  struct Frame {
    std::uint64_t revision = 0;
    std::vector<std::size_t> candidates;
    std::size_t next = 0;
    std::size_t chosen = 0;
  };

  void mark(std::size_t index, bool done) {
    done_[index] = done;
    if (calls_[index]->kind == Kind::kUnknown) return;
    left_ = done ? left_ - 1 : left_ + 1;
  }

  // The calls that may come next: those that began before any other that is left has ended.
  void enter(std::vector<Frame>& path, std::uint64_t revision) {
    Frame frame{.revision = revision};
    std::uint64_t first_end = kNever;
    for (std::size_t i = first_left(); i < calls_.size() && calls_[i]->began <= first_end; ++i) {
      if (done_[i]) continue;
      frame.candidates.push_back(i);
      first_end = std::min(first_end, end_of(*calls_[i]));
    }
    std::erase_if(frame.candidates, [&](std::size_t i) { return calls_[i]->began > first_end; });
    prefer_readers(frame);
    if (left_ < deepest_left_ && !frame.candidates.empty()) {
      deepest_left_ = left_;
      stuck_at_ = *std::min_element(frame.candidates.begin(), frame.candidates.end(),
                                    [&](auto a, auto b) { return end_of(*calls_[a]) < end_of(*calls_[b]); });
    }
    path.push_back(std::move(frame));
  }

  // A call that changes nothing and fits now can be done now: an order that has it later stays one when it is
  // moved here. So nothing else needs to be tried, which keeps the search from growing with the number of
  // readers.
  void prefer_readers(Frame& frame) const {
    for (const std::size_t index : frame.candidates) {
      if (step(*calls_[index], frame.revision) == frame.revision) {
        frame.candidates = {index};
        return;
      }
    }
  }

  void leave(std::vector<Frame>& path) {
    path.pop_back();
    if (!path.empty()) mark(path.back().chosen, false);
  }

  // Unknown calls may stay behind for ever, so those at the front are passed over only when done.
  std::size_t first_left() const {
    return static_cast<std::size_t>(std::find(done_.begin(), done_.end(), false) - done_.begin());
  }

  std::string state(std::uint64_t revision) const {
    const std::size_t first = first_left();
    std::string text = std::to_string(revision) + ":" + std::to_string(first) + ":";
    std::size_t last = done_.size();
    while (last > first && !done_[last - 1]) --last;
    for (std::size_t i = first; i < last; ++i) text += done_[i] ? '1' : '0';
    return text;
  }

  std::vector<const RevisionCall*> calls_;
  std::vector<bool> done_;
  std::size_t left_ = 0;
  std::set<std::string> seen_;
  std::size_t deepest_left_ = 0;
  std::size_t stuck_at_ = 0;
};

}  // namespace

Result<void> check_history(std::span<const RevisionCall> calls, Revision start) {
  std::map<std::string_view, std::vector<const RevisionCall*>> sessions;
  for (const RevisionCall& call : calls) sessions[call.session].push_back(&call);
  for (auto& [session, own] : sessions) {
    Search search(std::move(own));
    if (search.run(number(start))) continue;
    return Error(ErrorCode::kDamaged, "session '" + std::string(session) +
                                          "': no order of the calls explains " + describe(search.culprit()));
  }
  return {};
}

std::uint64_t HistoryRecorder::now() {
  MutexLock lock(mutex_);
  return moment_++;
}

void HistoryRecorder::add(RevisionCall call, std::uint64_t began) {
  MutexLock lock(mutex_);
  call.began = began;
  call.ended = moment_++;
  calls_.push_back(std::move(call));
}

std::vector<RevisionCall> HistoryRecorder::calls() const {
  MutexLock lock(mutex_);
  return calls_;
}

}  // namespace tertulia
