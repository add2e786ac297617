// A Transcript: the committed messages of one branch, in order. It only grows.
//
// A transcript is a value, and copying it is how one forks and snapshots: O(1), whatever its length. Inside
// it is a chain of shared chunks, each knowing what went before it, with jumps that find any message in O(log
// n) (docs/formats/transcript.md draws it). Appending writes behind what every other copy can see, so a copy
// never changes and a reader never waits.
//
// Concurrency
//   Copies may be read and appended to by different threads at the same time, also when they share chunks.
//   One object is for one thread at a time.
// Cost
//   append O(1) per message, 16 bytes beside the message itself; fork and prefix O(1) and O(log n); lookup by
//   index, by revision and by token budget O(log n).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "tertulia/base/result.h"
#include "tertulia/conversation/message.h"
#include "tertulia/conversation/revision.h"
#include "tertulia/conversation/turn.h"

namespace tertulia {

class Transcript {
 public:
  Transcript() = default;
  Transcript(const Transcript& other) noexcept;
  Transcript(Transcript&& other) noexcept
      : tip_(std::exchange(other.tip_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Transcript& operator=(Transcript other) noexcept {
    std::swap(tip_, other.tip_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Transcript() {
    if (tip_ != nullptr) release(tip_);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Adds a turn that was committed as `revision`, which must be above every revision in here. If memory runs
  // out the transcript is as it was.
  void append(const Turn& turn, Revision revision);
  // The same for a revision that comes from elsewhere, such as a store: kRevisionConflict {current} if it is
  // not above every one in here.
  Result<void> try_append(const Turn& turn, Revision revision);

  // `index` must be below size().
  const Message& operator[](std::size_t index) const;
  // The commit that brought the message; messages of one commit are one turn.
  Revision revision_at(std::size_t index) const;
  // Revision 0 if it is empty.
  Revision last_revision() const;

  // The tokens of the messages before `index` (at most size()).
  Tokens tokens_before(std::size_t index) const;
  Tokens tokens() const { return tokens_before(size_); }

  // The first message of a later commit than `revision`; size() if there is none.
  std::size_t first_after(Revision revision) const;
  // The smallest index from which the messages up to the end cost at most `budget`.
  std::size_t first_within(Tokens budget) const;
  // The start of the turn that the message belongs to.
  std::size_t turn_start(std::size_t index) const;
  // The start of the tool group, or of the single message, that the message belongs to; and one past its end.
  std::size_t group_start(std::size_t index) const;
  std::size_t group_end(std::size_t index) const;

  // The first `count` messages, sharing everything. Where a fork may be made is check_fork_point's business.
  Transcript prefix(std::size_t count) const;

  // True if both share the same memory up to `count`: the proof that a fork copied nothing.
  bool shares_prefix_with(const Transcript& other, std::size_t count) const;

  // Calls `visit(index, message)` for [begin, end) in order, as far as there are messages; faster than
  // operator[] for ranges. A visit that returns false ends it.
  template <class Visit>
  void for_each(std::size_t begin, std::size_t end, Visit&& visit) const;

 private:
  friend class View;

  struct Chunk;
  // A message with what the chunk knows of it: the tokens of the chunk's messages up to and with this one,
  // and how far its revision lies above that of the chunk's first message.
  struct Slot {
    Message message;
    std::uint32_t tokens_through;
    std::uint32_t revision_delta;
  };
  // A chunk, and the index at which its messages end as far as this transcript sees them.
  struct Place {
    const Chunk* chunk;
    std::size_t end;
  };

  static void release(Chunk* tip) noexcept;
  std::span<const Message> append_some(std::span<const Message> messages, Revision revision);
  std::size_t room_in_tip(std::span<const Message> messages, Revision revision) const;
  void add_chunk(std::size_t wanted, Revision revision);

  // The last chunk for which `before` holds, given that it holds for every chunk before that one as well.
  template <class Predicate>
  Place find(Predicate before) const;
  Place chunk_of(std::size_t index) const;
  const Slot& slot_at(std::size_t index) const;
  // The slots from `index` on that lie behind one another in memory: at least one.
  std::span<const Slot> run_at(std::size_t index) const;

  Chunk* tip_ = nullptr;  // holds the message at size_ - 1
  std::size_t size_ = 0;
};

template <class Visit>
void Transcript::for_each(std::size_t begin, std::size_t end, Visit&& visit) const {
  end = std::min(end, size_);
  while (begin < end) {
    const std::span<const Slot> run = run_at(begin);
    for (const Slot& slot : run.first(std::min(run.size(), end - begin))) {
      if constexpr (std::is_same_v<std::invoke_result_t<Visit&, std::size_t, const Message&>, bool>) {
        if (!visit(begin++, slot.message)) return;
      } else {
        visit(begin++, slot.message);
      }
    }
  }
}

}  // namespace tertulia
