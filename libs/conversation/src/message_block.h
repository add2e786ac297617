// The bytes of a message, little-endian (docs/formats/message.md has the full grammar and an example):
//
//   block := head [names] [extra] [count row*] text
//   head  := size u32, version u8, role u8, flags u8, origin:4 counted:4, id 16 bytes, time i64, tokens u32
//   names := author u16, source u16, source id u16                    if kNamed: their lengths
//   extra := length u32                                               if kExtended
//   count := u16                                                      unless kPlain: the number of rows
//   row   := kind u8, outcome u8, name u16, call id u32, end u32, [extra u32 if kExtended]
//   text  := author, source, source id, extra, then for each part: name, call id, text, extra
//
// `end` is where the part ends, counted from the start of the first part, so any part is found in one step.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#include "tertulia/base/result.h"
#include "tertulia/conversation/message.h"

namespace tertulia::block {

static_assert(std::endian::native == std::endian::little, "a block is used as it is stored: little-endian");

inline constexpr std::uint8_t kBlockVersion = 1;
inline constexpr std::size_t kMaxBlockBytes = 64U << 20U;
inline constexpr std::size_t kMaxShort = std::numeric_limits<std::uint16_t>::max();
inline constexpr std::uint64_t kMaxTokens = std::numeric_limits<std::uint32_t>::max();

// Where the fields of the head stand.
inline constexpr std::size_t kAtSize = 0;
inline constexpr std::size_t kAtVersion = 4;
inline constexpr std::size_t kAtRole = 5;
inline constexpr std::size_t kAtFlags = 6;
inline constexpr std::size_t kAtOrigin = 7;
inline constexpr std::size_t kAtId = 8;
inline constexpr std::size_t kAtTime = 24;
inline constexpr std::size_t kAtTokens = 32;
inline constexpr std::size_t kHeadBytes = 36;

inline constexpr std::size_t kNamesBytes = 6;
inline constexpr std::size_t kRowBytes = 12;

enum Flag : std::uint8_t {
  kInterrupted = 1,
  kInternal = 2,
  kNamed = 4,     // there is an author, a source or a source id
  kExtended = 8,  // there are extra fields, of the message or of a part
  kPlain = 16,    // one text part without extra fields, and no table of parts
  kAllFlags = 31,
};

template <class T>
inline T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <class T>
inline void store(char* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

// Reads a block whose form is known to be right.
class BlockReader {
 public:
  explicit BlockReader(const char* block)
      : block_(block),
        flags_(load<std::uint8_t>(block + kAtFlags)),
        names_at_(kHeadBytes),
        extra_at_(names_at_ + (has(kNamed) ? kNamesBytes : 0)),
        table_at_(extra_at_ + (has(kExtended) ? 4 : 0)),
        count_(has(kPlain) ? 1 : load<std::uint16_t>(block + table_at_)),
        row_bytes_(kRowBytes + (has(kExtended) ? 4 : 0)),
        text_at_(has(kPlain) ? table_at_ : table_at_ + 2 + count_ * row_bytes_) {}

  bool has(Flag flag) const { return (flags_ & flag) != 0; }
  std::size_t size() const { return load<std::uint32_t>(block_ + kAtSize); }
  std::size_t count() const { return count_; }
  std::size_t text_at() const { return text_at_; }
  std::size_t row_bytes() const { return row_bytes_; }

  std::size_t author_size() const { return name_size(0); }
  std::size_t source_size() const { return name_size(2); }
  std::size_t source_id_size() const { return name_size(4); }
  std::size_t extra_size() const { return has(kExtended) ? load<std::uint32_t>(block_ + extra_at_) : 0; }
  std::size_t parts_at() const {
    return text_at_ + author_size() + source_size() + source_id_size() + extra_size();
  }
  const char* row(std::size_t index) const { return block_ + table_at_ + 2 + index * row_bytes_; }

  std::string_view bytes(std::size_t at, std::size_t size) const { return {block_ + at, size}; }
  std::string_view author() const { return bytes(text_at_, author_size()); }
  std::string_view source() const { return bytes(text_at_ + author_size(), source_size()); }
  std::string_view source_id() const {
    return bytes(text_at_ + author_size() + source_size(), source_id_size());
  }
  std::string_view extra() const { return bytes(parts_at() - extra_size(), extra_size()); }

  Part part(std::size_t index) const {
    const std::size_t first = parts_at();
    if (has(kPlain)) return {.text = bytes(first, size() - first)};
    const char* own = row(index);
    const std::size_t begin = first + (index == 0 ? 0 : load<std::uint32_t>(row(index - 1) + 8));
    const std::size_t end = first + load<std::uint32_t>(own + 8);
    const std::size_t name = load<std::uint16_t>(own + 2);
    const std::size_t call_id = load<std::uint32_t>(own + 4);
    const std::size_t extra = has(kExtended) ? load<std::uint32_t>(own + 12) : 0;
    const std::size_t text_begin = begin + name + call_id;
    return {.kind = PartKind{load<std::uint8_t>(own)},
            .outcome = ToolOutcome{load<std::uint8_t>(own + 1)},
            .name = bytes(begin, name),
            .call_id = bytes(begin + name, call_id),
            .text = bytes(text_begin, end - extra - text_begin),
            .extra = bytes(end - extra, extra)};
  }

  PartKind kind(std::size_t index) const {
    return has(kPlain) ? PartKind::kText : PartKind{load<std::uint8_t>(row(index))};
  }

 private:
  std::size_t name_size(std::size_t offset) const {
    return has(kNamed) ? load<std::uint16_t>(block_ + names_at_ + offset) : 0;
  }

  const char* block_;
  std::uint8_t flags_;
  std::size_t names_at_;
  std::size_t extra_at_;
  std::size_t table_at_;
  std::size_t count_;
  std::size_t row_bytes_;
  std::size_t text_at_;
};

// Whether a message can be made from the draft.
Result<void> check_draft(const MessageDraft& draft);

// The flags and the size of the block of a checked draft.
std::uint8_t flags_of(const MessageDraft& draft);
std::size_t size_of(const MessageDraft& draft, std::uint8_t flags);

// Writes the block of a checked draft into `size` bytes.
void write(char* block, std::size_t size, const MessageDraft& draft, std::uint8_t flags);

// Whether BlockReader may read these bytes, and write() could have written them.
Result<void> check(std::string_view block);

// kTooLarge for a thing of `actual` where `limit` is the most.
Error too_large(std::string_view what, std::uint64_t limit, std::uint64_t actual);

}  // namespace tertulia::block
