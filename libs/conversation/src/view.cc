#include "tertulia/conversation/view.h"

#include <algorithm>
#include <utility>

namespace tertulia {

namespace {

bool admits(const ViewFilter& filter, const Message& message) {
  const auto admits_role = [&filter](Role role) {
    return filter.roles.empty() ||
           std::find(filter.roles.begin(), filter.roles.end(), role) != filter.roles.end();
  };
  if (message.internal() && !filter.show_internal) return false;
  if (!admits_role(message.role())) return false;
  if (message.has_tool_calls() && !admits_role(Role::kTool)) return false;
  return filter.participants.empty() || std::find(filter.participants.begin(), filter.participants.end(),
                                                  message.author()) != filter.participants.end();
}

Result<void> check_loose(const std::vector<Message>& messages) {
  for (const Message& message : messages) {
    bool tools = message.role() == Role::kTool;
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const PartKind kind = message.part(i).kind;
      tools = tools || kind == PartKind::kToolCall || kind == PartKind::kToolResult;
    }
    if (tools) {
      return Error(ErrorCode::kUnpairedToolCall,
                   "a message that calls tools or is a result enters a view only inside a turn");
    }
  }
  return {};
}

// Whether `shorter` may stand where `original` does: the same role, and the same results in the same order.
Result<void> check_instead(const Message& original, const Message& shorter) {
  bool same = original.role() == Role::kTool && shorter.role() == Role::kTool &&
              original.part_count() == shorter.part_count();
  for (std::size_t i = 0; same && i < original.part_count(); ++i) {
    const Part one = original.part(i);
    const Part other = shorter.part(i);
    same = one.kind == other.kind && one.call_id == other.call_id && one.name == other.name;
  }
  if (same) return {};
  return Error(ErrorCode::kUnpairedToolCall,
               "only results of the same calls may stand in place of tool results");
}

}  // namespace

View::View(Transcript transcript) : transcript_(std::move(transcript)) {
  if (!transcript_.empty()) ranges_.push_back({0, transcript_.size()});
}

Result<View> View::of(Transcript transcript, std::vector<MessageRange> ranges) {
  std::size_t free_from = 0;
  for (const MessageRange& range : ranges) {
    if (range.begin < free_from || range.begin >= range.end || range.end > transcript.size()) {
      return Error(ErrorCode::kOutOfRange,
                   "the messages " + std::to_string(range.begin) + " to " + std::to_string(range.end) +
                       " are no slice of a transcript of " + std::to_string(transcript.size()))
          .with("param", "ranges");
    }
    if (transcript.group_start(range.begin) != range.begin ||
        transcript.group_end(range.end - 1) != range.end) {
      return Error(ErrorCode::kUnpairedToolCall, "a slice may not begin or end inside a tool group");
    }
    free_from = range.end + 1;
  }
  View view;
  view.transcript_ = std::move(transcript);
  view.ranges_ = std::move(ranges);
  return view;
}

// What is left of the transcript's part from `index` on. `index` is not inside a tool group.
View View::from(std::size_t index) const {
  View view;
  view.transcript_ = transcript_;
  view.leading_ = leading_;
  view.trailing_ = trailing_;
  view.instead_ = instead_;
  view.cut_ = cut_;
  const auto first = std::partition_point(ranges_.begin(), ranges_.end(),
                                          [index](const MessageRange& range) { return range.end <= index; });
  view.ranges_.assign(first, ranges_.end());
  if (!view.ranges_.empty()) view.ranges_.front().begin = std::max(view.ranges_.front().begin, index);
  return view;
}

View View::since(Revision revision) const { return from(transcript_.first_after(revision)); }

View View::last_turns(std::size_t count) const {
  std::size_t start = transcript_.size();
  auto range = ranges_.rbegin();
  for (; count > 0; --count) {
    // The last message before `start` that is in the view; its turn is the next one to keep.
    while (range != ranges_.rend() && range->begin >= start) ++range;
    if (range == ranges_.rend()) break;
    start = transcript_.turn_start(std::min(range->end, start) - 1);
  }
  return from(start);
}

// The last message of the view that does not fit, given that not all of them do.
std::size_t View::last_left_out(Tokens budget) const {
  std::uint64_t left = number(budget);
  for (auto range = ranges_.rbegin();; ++range) {
    const std::uint64_t before_end = number(transcript_.tokens_before(range->end));
    const std::uint64_t cost = before_end - number(transcript_.tokens_before(range->begin));
    if (cost > left) return transcript_.prefix(range->end).first_within(Tokens{left}) - 1;
    left -= cost;
  }
}

View View::within(Tokens budget) const {
  std::uint64_t total = 0;
  for (const MessageRange& range : ranges_) {
    total += number(transcript_.tokens_before(range.end)) - number(transcript_.tokens_before(range.begin));
  }
  View view;
  if (total <= number(budget)) {
    view = *this;
    view.cut_ = Cut::kNone;
    return view;
  }
  const std::size_t out = last_left_out(budget);
  const std::size_t next_turn = transcript_.first_after(transcript_.revision_at(out));
  const bool by_turns = next_turn <= last_index();
  view = from(by_turns ? next_turn : transcript_.group_end(out));
  view.cut_ = by_turns ? Cut::kTurns : Cut::kGroups;
  return view;
}

View View::only(const ViewFilter& filter) const {
  View view = from(transcript_.size());
  bool keep = false;
  for (const MessageRange& range : ranges_) {
    transcript_.for_each(range.begin, range.end, [&](std::size_t index, const Message& message) {
      if (message.role() != Role::kTool) keep = admits(filter, message);
      if (!keep) return;
      if (!view.ranges_.empty() && view.ranges_.back().end == index) {
        ++view.ranges_.back().end;
      } else {
        view.ranges_.push_back({index, index + 1});
      }
    });
  }
  return view;
}

Result<View> View::with_leading(std::vector<Message> messages) const {
  TERTULIA_TRY(check_loose(messages));
  View view = *this;
  view.leading_.insert(view.leading_.begin(), messages.begin(), messages.end());
  return view;
}

Result<View> View::with_trailing(std::vector<Message> messages) const {
  TERTULIA_TRY(check_loose(messages));
  View view = *this;
  view.trailing_.insert(view.trailing_.end(), messages.begin(), messages.end());
  return view;
}

Result<View> View::with_instead(std::size_t index, Message message) const {
  if (index >= transcript_.size() || (!instead_.empty() && instead_.back().index >= index)) {
    return Error(ErrorCode::kOutOfRange, "message " + std::to_string(index) + " cannot be replaced here")
        .with("param", "index");
  }
  TERTULIA_TRY(check_instead(transcript_[index], message));
  View view = *this;
  view.instead_.push_back({index, std::move(message)});
  return view;
}

View View::with_trailing(const TurnDraft& turn) const {
  View view = *this;
  view.trailing_.insert(view.trailing_.end(), turn.messages().begin(), turn.messages().end());
  return view;
}

std::size_t View::size() const {
  std::size_t size = leading_.size() + trailing_.size();
  for (const MessageRange& range : ranges_) size += range.end - range.begin;
  return size;
}

Tokens View::tokens() const {
  std::uint64_t tokens = 0;
  for (const Message& message : leading_) tokens += number(message.tokens());
  for (const MessageRange& range : ranges_) {
    tokens += number(transcript_.tokens_before(range.end)) - number(transcript_.tokens_before(range.begin));
  }
  for (const Message& message : trailing_) tokens += number(message.tokens());
  for (const Instead& shorter : instead_) {
    const auto range = std::partition_point(
        ranges_.begin(), ranges_.end(), [&](const MessageRange& one) { return one.end <= shorter.index; });
    if (range == ranges_.end() || range->begin > shorter.index) continue;
    tokens += number(shorter.message.tokens());
    tokens -= number(transcript_[shorter.index].tokens());
  }
  return Tokens{tokens};
}

std::vector<Message> View::to_vector() const {
  std::vector<Message> messages;
  messages.reserve(size());
  for (const Message& message : *this) messages.push_back(message);
  return messages;
}

View::Iterator View::begin() const {
  Iterator first(*this, 0);
  first.index_ = ranges_.empty() ? 0 : ranges_.front().begin;
  first.settle();
  return first;
}

View::Iterator View::end() const { return {*this, size()}; }

// Finds the current message where it does not simply lie behind the last one.
void View::Iterator::settle() {
  const auto& ranges = view_->ranges_;
  if (position_ < view_->leading_.size()) {
    current_ = &view_->leading_[position_];
  } else if (range_ < ranges.size()) {
    const auto run = view_->transcript_.run_at(index_);
    slot_ = run.data();
    run_left_ = std::min(run.size(), ranges[range_].end - index_) - 1;
    current_ = &slot_->message;
    look_for_instead();
  } else {
    current_ = index_ < view_->trailing_.size() ? &view_->trailing_[index_] : nullptr;
  }
}

void View::Iterator::look_for_instead() {
  const auto& instead = view_->instead_;
  while (instead_ < instead.size() && instead[instead_].index < index_) ++instead_;
  if (instead_ < instead.size() && instead[instead_].index == index_) current_ = &instead[instead_].message;
}

View::Iterator& View::Iterator::operator++() {
  const bool leading = position_++ < view_->leading_.size();
  if (leading) {
    settle();
    return *this;
  }
  ++index_;
  if (run_left_ > 0) {
    --run_left_;
    current_ = &(++slot_)->message;
    if (!view_->instead_.empty()) look_for_instead();
    return *this;
  }
  const auto& ranges = view_->ranges_;
  if (range_ < ranges.size() && index_ == ranges[range_].end) {
    ++range_;
    index_ = range_ < ranges.size() ? ranges[range_].begin : 0;
  }
  settle();
  return *this;
}

}  // namespace tertulia
