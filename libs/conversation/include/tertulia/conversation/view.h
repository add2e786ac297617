// A View: the messages that somebody is to see, as slices of a transcript. Built in RAM, never stored.
//
//   View view = View(transcript).within(Tokens{8000});
//   for (const Message& message : view) send(message);
//
// Each operation gives a narrower view and leaves its own as it was. A tool group is one thing to all of
// them: it is kept whole or left out whole, so no view holds a call without its results.
//
// Cost
//   A view holds the transcript it was made from, which costs nothing and keeps it valid, and a list of index
//   ranges. last_turns, since and within take O(log n), also on a million messages; only() looks at each
//   message it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/conversation/message.h"
#include "tertulia/conversation/revision.h"
#include "tertulia/conversation/transcript.h"
#include "tertulia/conversation/turn.h"

namespace tertulia {

// Which messages to show. A tool group is judged by its call.
struct ViewFilter {
  // The roles admitted; none named: all. A tool group needs both `assistant` and `tool`.
  std::vector<Role> roles{};
  // The authors admitted; none named: all.
  std::vector<std::string> participants{};
  // Internal messages are left out unless this is set.
  bool show_internal = false;
};

// Where a budget made its cut.
enum class Cut : std::uint8_t {
  kNone,    // everything fitted
  kTurns,   // between two turns
  kGroups,  // inside the last turn, which did not fit as a whole, between two tool groups or messages
};

// The messages begin <= index < end of a transcript.
struct MessageRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  bool operator==(const MessageRange&) const = default;
};

class View {
 public:
  // An empty view.
  View() = default;
  // The whole transcript, internal messages too. O(1).
  explicit View(Transcript transcript);
  // These slices of it: ascending, none empty, none touching the next. kOutOfRange for others;
  // kUnpairedToolCall for a bound inside a tool group.
  static Result<View> of(Transcript transcript, std::vector<MessageRange> ranges);

  // What came with later commits than `revision`.
  View since(Revision revision) const;
  // The last `count` turns that this view has messages of.
  View last_turns(std::size_t count) const;
  // The latest whole turns that cost at most `budget` together. If the last turn alone costs more, the latest
  // whole tool groups and messages of it; cut() tells. Leading and trailing messages are not counted.
  View within(Tokens budget) const;
  View only(const ViewFilter& filter) const;

  // The same with messages before or behind everything else in it, such as instructions or recalled memory.
  // They are not touched by narrowing. kUnpairedToolCall for a message that calls tools or is a result.
  Result<View> with_leading(std::vector<Message> messages) const;
  Result<View> with_trailing(std::vector<Message> messages) const;
  // The same with a shorter form of the tool results at `index` of the transcript: it answers the same calls,
  // in their order, else kUnpairedToolCall. Ascending, behind every index given before: kOutOfRange.
  Result<View> with_instead(std::size_t index, Message message) const;
  // The same with the messages of the turn under way behind everything else.
  View with_trailing(const TurnDraft& turn) const;

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  Tokens tokens() const;
  // How the last within() cut.
  Cut cut() const { return cut_; }
  // What it was made from.
  const Transcript& transcript() const { return transcript_; }

  std::vector<Message> to_vector() const;
  // What it shows of the transcript.
  const std::vector<MessageRange>& ranges() const { return ranges_; }

  class Iterator;
  // Valid while the view lives.
  Iterator begin() const;
  Iterator end() const;

 private:
  struct Instead {
    std::size_t index;
    Message message;
  };

  View from(std::size_t index) const;
  std::size_t last_index() const { return ranges_.back().end - 1; }
  std::size_t last_left_out(Tokens budget) const;

  Transcript transcript_;
  std::vector<MessageRange> ranges_;  // ascending, none empty, bounds never inside a tool group
  std::vector<Message> leading_;
  std::vector<Message> trailing_;
  std::vector<Instead> instead_;  // ascending; perhaps of messages that are not in the ranges
  Cut cut_ = Cut::kNone;
};

class View::Iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = Message;
  using difference_type = std::ptrdiff_t;
  using pointer = const Message*;
  using reference = const Message&;

  Iterator() = default;

  reference operator*() const { return *current_; }
  pointer operator->() const { return current_; }
  Iterator& operator++();
  Iterator operator++(int) {
    Iterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const Iterator& other) const { return position_ == other.position_; }

 private:
  friend class View;
  Iterator(const View& view, std::size_t position) : view_(&view), position_(position) {}
  void settle();
  // What stands in place of the message at index_, if anything does.
  void look_for_instead();

  const View* view_ = nullptr;
  const Message* current_ = nullptr;
  std::size_t position_ = 0;  // among all messages of the view
  std::size_t range_ = 0;     // the range it is in or comes to next
  std::size_t index_ = 0;     // in the transcript; behind the last range, in the trailing messages
  const Transcript::Slot* slot_ = nullptr;  // of the current message
  std::size_t instead_ = 0;                 // the next replacement
  std::size_t run_left_ = 0;                // slots behind that one which are in the range too
};

}  // namespace tertulia
