#include "tertulia/conversation/transcript.h"

#include <atomic>
#include <limits>
#include <new>

#include "tertulia/base/check.h"

namespace tertulia {

namespace {

constexpr std::size_t kFirstChunk = 4;
constexpr std::size_t kLargestChunk = 512;
constexpr std::uint64_t kMaxDelta = std::numeric_limits<std::uint32_t>::max();

}  // namespace

// A run of messages, the chain of chunks before it, and room for more behind it.
//
// Everything but the two counters is written once, before the chunk is shared. A slot is written by whoever
// claimed it, after the claim, and read only through transcripts whose size covers it: those are copies of
// the one that wrote it, made later, and what hands a copy to another thread orders the two. So slots need no
// synchronisation of their own.
struct Transcript::Chunk {
  std::atomic<std::uint32_t> references{1};
  // Slots that belong to somebody. The first transcript whose end is here and that moves it goes on in this
  // chunk; every other that ended here begins a chunk of its own.
  std::atomic<std::uint32_t> claimed{0};
  std::uint32_t capacity;
  std::uint32_t depth;  // chunks before this one
  Chunk* previous;      // owned; null in the first chunk
  const Chunk* jump;    // some chunk before this one, kept alive by `previous`; itself in the first chunk
  std::size_t first_index;
  std::uint64_t tokens_before;
  std::uint64_t first_revision;

  Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }
  const Slot* slots() const { return reinterpret_cast<const Slot*>(this + 1); }

  // Takes over the reference to `previous`.
  static Chunk* make(std::size_t capacity, Chunk* previous, std::size_t first_index, Tokens before,
                     Revision revision) {
    static_assert(alignof(Slot) <= alignof(Chunk) && sizeof(Chunk) % alignof(Slot) == 0);
    void* memory = ::operator new(sizeof(Chunk) + capacity * sizeof(Slot));
    auto* chunk = new (memory) Chunk{.capacity = static_cast<std::uint32_t>(capacity),
                                     .depth = previous == nullptr ? 0 : previous->depth + 1,
                                     .previous = previous,
                                     .jump = nullptr,
                                     .first_index = first_index,
                                     .tokens_before = number(before),
                                     .first_revision = number(revision)};
    chunk->jump = previous == nullptr ? chunk : previous->jump_of_next();
    return chunk;
  }

  // Where the next chunk's jump leads. Two jumps of the same length in a row become one of both, as in a
  // skew-binary number; so from any chunk any earlier one is O(log n) steps of `jump` and `previous` away.
  const Chunk* jump_of_next() const {
    const Chunk* far = jump->jump;
    return depth - jump->depth == jump->depth - far->depth ? far : this;
  }

  static void destroy(Chunk* chunk) noexcept {
    std::destroy_n(chunk->slots(), chunk->claimed.load(std::memory_order_relaxed));
    chunk->~Chunk();
    ::operator delete(chunk);
  }
};

Transcript::Transcript(const Transcript& other) noexcept : tip_(other.tip_), size_(other.size_) {
  if (tip_ != nullptr) tip_->references.fetch_add(1, std::memory_order_relaxed);
}

// A loop, not a recursion: a chain may have millions of chunks.
void Transcript::release(Chunk* tip) noexcept {
  while (tip != nullptr && tip->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Chunk* previous = tip->previous;
    Chunk::destroy(tip);
    tip = previous;
  }
}

void Transcript::append(const Turn& turn, Revision revision) {
  TERTULIA_CHECK(empty() || revision > last_revision(),
                 "each commit has a higher revision than the one before");
  Transcript grown(*this);
  for (std::span<const Message> rest = turn.messages(); !rest.empty();)
    rest = grown.append_some(rest, revision);
  *this = std::move(grown);
}

Result<void> Transcript::try_append(const Turn& turn, Revision revision) {
  if (!empty() && revision <= last_revision()) {
    return Error(ErrorCode::kRevisionConflict, "a turn of revision " + std::to_string(number(revision)) +
                                                   " cannot stand behind one of revision " +
                                                   std::to_string(number(last_revision())))
        .with("current", static_cast<std::int64_t>(number(last_revision())));
  }
  append(turn, revision);
  return {};
}

// Adds as many of the messages as go into one chunk, and gives back the rest.
std::span<const Message> Transcript::append_some(std::span<const Message> messages, Revision revision) {
  std::size_t count = room_in_tip(messages, revision);
  std::size_t begin = count == 0 ? 0 : size_ - tip_->first_index;
  auto expected = static_cast<std::uint32_t>(begin);
  if (count == 0 || !tip_->claimed.compare_exchange_strong(
                        expected, static_cast<std::uint32_t>(begin + count), std::memory_order_relaxed)) {
    add_chunk(messages.size(), revision);
    count = room_in_tip(messages, revision);
    begin = 0;
    tip_->claimed.store(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
  }
  Slot* slots = tip_->slots();
  std::uint64_t tokens = begin == 0 ? 0 : slots[begin - 1].tokens_through;
  const auto delta = static_cast<std::uint32_t>(number(revision) - tip_->first_revision);
  for (std::size_t i = 0; i < count; ++i) {
    tokens += number(messages[i].tokens());
    new (slots + begin + i) Slot{messages[i], static_cast<std::uint32_t>(tokens), delta};
  }
  size_ += count;
  return messages.subspan(count);
}

// How many of the messages the last chunk can take behind ours, if nobody else has begun to.
std::size_t Transcript::room_in_tip(std::span<const Message> messages, Revision revision) const {
  if (tip_ == nullptr || number(revision) - tip_->first_revision > kMaxDelta) return 0;
  const std::size_t used = size_ - tip_->first_index;
  std::uint64_t tokens = used == 0 ? 0 : tip_->slots()[used - 1].tokens_through;
  const std::size_t most = std::min(messages.size(), tip_->capacity - used);
  for (std::size_t i = 0; i < most; ++i) {
    tokens += number(messages[i].tokens());
    if (tokens > kMaxDelta) return i;
  }
  return most;
}

// Chunks grow as a transcript fills them, so that a short conversation stays small. A fork begins small
// again.
void Transcript::add_chunk(std::size_t wanted, Revision revision) {
  std::size_t capacity = kFirstChunk;
  if (tip_ != nullptr && size_ - tip_->first_index == tip_->capacity) {
    capacity = std::size_t{tip_->capacity} + tip_->capacity / 2;
  }
  capacity = std::min(std::max(capacity, wanted), kLargestChunk);
  tip_ = Chunk::make(capacity, tip_, size_, tokens(), revision);
}

template <class Predicate>
Transcript::Place Transcript::find(Predicate before) const {
  const Chunk* chunk = tip_;
  std::size_t end = size_;
  while (!before(*chunk)) {
    // A jump that passes over the one we look for is not taken, so the last step is always to `previous`, and
    // tells where the chunk ends for us.
    if (!before(*chunk->jump)) {
      chunk = chunk->jump;
    } else {
      end = chunk->first_index;
      chunk = chunk->previous;
    }
  }
  return {chunk, end};
}

Transcript::Place Transcript::chunk_of(std::size_t index) const {
  TERTULIA_CHECK(index < size_, "a message of a transcript is asked for by an index below size()");
  return find([index](const Chunk& chunk) { return chunk.first_index <= index; });
}

const Transcript::Slot& Transcript::slot_at(std::size_t index) const {
  const Chunk& chunk = *chunk_of(index).chunk;
  return chunk.slots()[index - chunk.first_index];
}

std::span<const Transcript::Slot> Transcript::run_at(std::size_t index) const {
  const Place place = chunk_of(index);
  return {place.chunk->slots() + (index - place.chunk->first_index), place.end - index};
}

const Message& Transcript::operator[](std::size_t index) const { return slot_at(index).message; }

Revision Transcript::revision_at(std::size_t index) const {
  const Chunk& chunk = *chunk_of(index).chunk;
  return Revision{chunk.first_revision + chunk.slots()[index - chunk.first_index].revision_delta};
}

Revision Transcript::last_revision() const { return empty() ? Revision{} : revision_at(size_ - 1); }

Tokens Transcript::tokens_before(std::size_t index) const {
  if (index == 0) return Tokens{};
  const Chunk& chunk = *chunk_of(index - 1).chunk;
  return Tokens{chunk.tokens_before + chunk.slots()[index - 1 - chunk.first_index].tokens_through};
}

std::size_t Transcript::first_after(Revision revision) const {
  if (empty()) return 0;
  const auto at_most = [revision](const Chunk& chunk) {
    return chunk.first_index == 0 || chunk.first_revision <= number(revision);
  };
  const auto [chunk, end] = find(at_most);
  if (chunk->first_revision > number(revision)) return chunk->first_index;
  const std::uint64_t delta = number(revision) - chunk->first_revision;
  const std::span slots(chunk->slots(), end - chunk->first_index);
  const auto later = std::partition_point(slots.begin(), slots.end(),
                                          [delta](const Slot& slot) { return slot.revision_delta <= delta; });
  return chunk->first_index + static_cast<std::size_t>(later - slots.begin());
}

std::size_t Transcript::first_within(Tokens budget) const {
  const std::uint64_t total = number(tokens());
  if (total <= number(budget)) return 0;
  const std::uint64_t excess = total - number(budget);  // what has to be left out, at least
  const auto [chunk, end] =
      find([excess](const Chunk& candidate) { return candidate.tokens_before < excess; });
  const std::uint64_t inside = excess - chunk->tokens_before;
  const std::span slots(chunk->slots(), end - chunk->first_index);
  const auto last_out = std::partition_point(
      slots.begin(), slots.end(), [inside](const Slot& slot) { return slot.tokens_through < inside; });
  return chunk->first_index + static_cast<std::size_t>(last_out - slots.begin()) + 1;
}

std::size_t Transcript::turn_start(std::size_t index) const {
  const Revision revision = revision_at(index);
  return revision == Revision{} ? 0 : first_after(Revision{number(revision) - 1});
}

std::size_t Transcript::group_start(std::size_t index) const {
  const Chunk* chunk = chunk_of(index).chunk;
  while (chunk->slots()[index - chunk->first_index].message.role() == Role::kTool) {
    if (index == chunk->first_index) chunk = chunk->previous;
    --index;
  }
  return index;
}

std::size_t Transcript::group_end(std::size_t index) const {
  std::size_t end = index + 1;
  for_each(end, size_, [&end](std::size_t, const Message& message) {
    if (message.role() != Role::kTool) return false;
    ++end;
    return true;
  });
  return end;
}

Transcript Transcript::prefix(std::size_t count) const {
  TERTULIA_CHECK(count <= size_, "a prefix is no longer than the transcript");
  Transcript result;
  if (count == 0) return result;
  result.tip_ = const_cast<Chunk*>(chunk_of(count - 1).chunk);
  result.tip_->references.fetch_add(1, std::memory_order_relaxed);
  result.size_ = count;
  return result;
}

bool Transcript::shares_prefix_with(const Transcript& other, std::size_t count) const {
  if (count > size_ || count > other.size_) return false;
  return count == 0 || chunk_of(count - 1).chunk == other.chunk_of(count - 1).chunk;
}

}  // namespace tertulia
