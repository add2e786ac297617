// Merging: the lowest pair first, the one furthest left among equals, until no neighbours are a pair.
//
// The pairs of a piece stand in a row of keys, merge above position, so the next one to merge is the least
// key, and finding it is a scan that compilers make vector code of. Long pieces are encoded in windows, which
// are stitched where two tokens stay apart, so that the work grows with the length alone.
#include <algorithm>
#include <functional>
#include <limits>
#include <memory>

#include "bpe.h"

namespace tertulia {
namespace {

constexpr std::size_t kOnStack = 128;

// Signed, because that is what the oldest vector instructions can compare.
template <class Key, unsigned position_bits>
struct Row {
  static constexpr Key kBias = std::numeric_limits<Key>::min();
  static constexpr Key kPositions = (Key{1} << position_bits) - 1;

  static Key key(Token merge, std::size_t position) {
    using Bits = std::make_unsigned_t<Key>;
    return static_cast<Key>(static_cast<Bits>(Bits{merge} << position_bits) | static_cast<Bits>(position)) ^
           kBias;
  }
  static Token merge_in(Key key) {
    using Bits = std::make_unsigned_t<Key>;
    return static_cast<Token>(static_cast<Bits>(key ^ kBias) >> position_bits & kNoToken);
  }
  static std::size_t position_in(Key key) { return static_cast<std::size_t>(key & kPositions); }

  // Linked by position; what was merged into its left neighbour has the key of no merge.
  Key* keys;
  Token* tokens;
  std::uint32_t* next;
  std::uint32_t* previous;
};

template <std::size_t size, class Key, unsigned position_bits>
struct StackRow {
  Key keys[size];
  Token tokens[size];
  std::uint32_t next[size];
  std::uint32_t previous[size];

  Row<Key, position_bits> row() { return {keys, tokens, next, previous}; }
};

// Finds the least key by looking at all: the quickest way for the usual, short row.
template <class Key>
class Scan {
 public:
  void changed(Key) {}
  Key lowest(const Key* keys, std::size_t size) {
    Key low = keys[0];
    for (std::size_t i = 1; i < size; ++i) low = std::min(low, keys[i]);
    return low;
  }
};

// Finds it in a heap, for rows that may be of any length. Keys that were replaced are passed over.
template <class Key>
class Heap {
 public:
  void changed(Key key) {
    keys_.push_back(key);
    std::ranges::push_heap(keys_, std::greater<>());
  }
  Key lowest(const Key* keys, std::size_t size) {
    using Keys = Row<Key, 40>;
    while (!keys_.empty()) {
      const Key low = keys_.front();
      if (keys[Keys::position_in(low)] == low) return low;
      std::ranges::pop_heap(keys_, std::greater<>());
      keys_.pop_back();
    }
    return Keys::key(kNoToken, size - 1);
  }

 private:
  std::vector<Key> keys_;
};

template <class Key, unsigned bits>
void begin_row(const Bpe& bpe, std::string_view piece, Row<Key, bits> row) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(piece.data());
  for (std::size_t i = 0; i < piece.size(); ++i) {
    row.tokens[i] = bpe.byte_token(bytes[i]);
    row.keys[i] = row.key(i + 1 < piece.size() ? bpe.merge_of_bytes(bytes[i], bytes[i + 1]) : kNoToken, i);
    row.next[i] = static_cast<std::uint32_t>(i + 1);
    row.previous[i] = static_cast<std::uint32_t>(i - 1);
  }
}

// Merges what stands in the row until nothing does; returns how many tokens are left, linked from the first
// on.
template <class Finder, class Key, unsigned bits>
std::size_t merge_begun(const Bpe& bpe, std::size_t size, Row<Key, bits> row) {
  Finder finder;
  const auto set = [&](std::size_t position, Token merge) {
    row.keys[position] = row.key(merge, position);
    if (merge != kNoToken) finder.changed(row.keys[position]);
  };
  for (std::size_t i = 0; i < size; ++i) set(i, row.merge_in(row.keys[i]));
  for (std::size_t left = size;;) {
    const Key low = finder.lowest(row.keys, size);
    const Token merge = row.merge_in(low);
    if (merge == kNoToken) return left;
    // In repeated text the same merge often comes again a few tokens on, which saves a search.
    for (std::size_t at = row.position_in(low), again = at; again < size;) {
      at = again;
      const std::size_t gone = row.next[at];
      const std::size_t after = row.next[gone];
      row.tokens[at] = merge;
      row.next[at] = static_cast<std::uint32_t>(after);
      row.keys[gone] = row.key(kNoToken, gone);
      --left;
      again = after;
      for (int ahead = 1; again < size && row.merge_in(row.keys[again]) != merge; ++ahead) {
        again = ahead < 4 ? row.next[again] : size;
      }
      Token lowest_new = kNoToken;
      if (after < size) {
        row.previous[after] = static_cast<std::uint32_t>(at);
        // If the neighbour is merged next, it will look at this pair itself.
        if (again != after || !bpe.is_ordered()) lowest_new = bpe.merge_of(merge, row.tokens[after]);
      }
      set(at, lowest_new);
      if (at > 0) {
        const std::size_t before = row.previous[at];
        const Token with_before = bpe.merge_of(row.tokens[before], merge);
        set(before, with_before);
        lowest_new = std::min(lowest_new, with_before);
      }
      // Where a part may come after its whole, a merge can bring a pair that goes before all others.
      if (lowest_new < merge) break;
    }
  }
}

template <class Finder, class Key, unsigned bits>
std::size_t merge_row(const Bpe& bpe, std::string_view piece, Row<Key, bits> row) {
  begin_row(bpe, piece, row);
  return merge_begun<Finder>(bpe, piece.size(), row);
}

template <class AnyRow>
void append_tokens(AnyRow row, std::size_t size, std::vector<Token>& out) {
  for (std::size_t i = 0; i < size; i = row.next[i]) out.push_back(row.tokens[i]);
}

using SmallRow = StackRow<kOnStack, std::int32_t, 12>;

// As merge_row, for any size, appending the tokens.
void merge_any(const Bpe& bpe, std::string_view piece, std::vector<Token>& out) {
  constexpr std::size_t kMedium = 4096;
  SmallRow small;
  if (piece.size() <= kOnStack) {
    merge_row<Scan<std::int32_t>>(bpe, piece, small.row());
    return append_tokens(small.row(), piece.size(), out);
  }
  const auto links = std::make_unique_for_overwrite<std::uint32_t[]>(piece.size() * 3);
  Token* tokens = links.get();
  std::uint32_t* next = tokens + piece.size();
  std::uint32_t* previous = next + piece.size();
  if (piece.size() <= kMedium) {
    const auto keys = std::make_unique_for_overwrite<std::int32_t[]>(piece.size());
    const Row<std::int32_t, 12> row{keys.get(), tokens, next, previous};
    merge_row<Scan<std::int32_t>>(bpe, piece, row);
    return append_tokens(row, piece.size(), out);
  }
  const auto keys = std::make_unique_for_overwrite<std::int64_t[]>(piece.size());
  const Row<std::int64_t, 40> row{keys.get(), tokens, next, previous};
  merge_row<Heap<std::int64_t>>(bpe, piece, row);
  append_tokens(row, piece.size(), out);
}

// Puts the characters of a piece into the row, or the bytes of those that are no tokens. Returns how many
// there are, 0 if not all of the piece is characters of three bytes; sets `doubt` if a token could tear one
// apart.
std::size_t begin_characters(const Bpe& bpe, std::string_view piece, Row<std::int32_t, 12> row, bool& doubt) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(piece.data());
  std::size_t size = 0;
  bool joins = false;
  for (std::size_t i = 0; i < piece.size(); i += 3) {
    const unsigned char* at = bytes + i;
    if ((at[0] & 0xF0U) != 0xE0 || (at[1] & 0xC0U) != 0x80 || (at[2] & 0xC0U) != 0x80) return 0;
    const Bpe::Character& character = bpe.character(at);
    doubt |= joins && character.may_join_left != 0;
    joins = character.may_join_right != 0;
    if (character.token != kNoToken) {
      row.tokens[size++] = character.token;
    } else {
      for (std::size_t byte = 0; byte < 3; ++byte) row.tokens[size++] = bpe.byte_token(at[byte]);
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    row.keys[i] = row.key(i + 1 < size ? bpe.merge_of(row.tokens[i], row.tokens[i + 1]) : kNoToken, i);
    row.next[i] = static_cast<std::uint32_t>(i + 1);
    row.previous[i] = static_cast<std::uint32_t>(i - 1);
  }
  return size;
}

bool all_stay_apart(const Bpe& bpe, Row<std::int32_t, 12> row, std::size_t size) {
  for (std::size_t i = 0; row.next[i] < size; i = row.next[i]) {
    if (!bpe.stays_apart(row.tokens[i], row.tokens[row.next[i]])) return false;
  }
  return true;
}

// As merge_row, beginning with whole characters where the piece is made of them.
std::size_t merge_short(const Bpe& bpe, std::string_view piece, Row<std::int32_t, 12> row) {
  const bool may_be = static_cast<unsigned char>(piece[0]) >= 0xE3 && piece.size() % 3 == 0;
  if (!may_be || !bpe.is_ordered()) return merge_row<Scan<std::int32_t>>(bpe, piece, row);
  bool doubt = false;
  if (const std::size_t size = begin_characters(bpe, piece, row, doubt)) {
    const std::size_t left = merge_begun<Scan<std::int32_t>>(bpe, size, row);
    if (!doubt || all_stay_apart(bpe, row, size)) return left;
  }
  return merge_row<Scan<std::int32_t>>(bpe, piece, row);
}

}  // namespace

std::size_t Bpe::count_merged(std::string_view piece) const {
  if (piece.empty()) return 0;
  if (piece.size() <= kOnStack) [[likely]] {
    SmallRow row;
    return merge_short(*this, piece, row.row());
  }
  std::vector<Token> out;
  extend_merged(piece, 0, out);
  return out.size();
}

void Bpe::encode_merged(std::string_view piece, std::vector<Token>& out) const {
  if (piece.empty()) return;
  if (piece.size() <= kOnStack) return merge_any(*this, piece, out);
  std::vector<Token> whole;
  extend_merged(piece, 0, whole);
  out.insert(out.end(), whole.begin(), whole.end());
}

std::size_t Bpe::extend_merged(std::string_view piece, std::size_t encoded,
                               std::vector<Token>& tokens) const {
  if (!ordered_) {
    tokens.clear();
    merge_any(*this, piece, tokens);
    return piece.size();
  }
  // Three times the longest token: what is left of a window without its last two tokens is never empty.
  const std::size_t window = std::max(std::size_t{256}, longest_ * 3);
  std::size_t work = 0;
  std::size_t start = encoded;
  const auto give_back = [&](std::size_t count) {
    for (; count > 0 && !tokens.empty(); --count) {
      start -= bytes_of(tokens.back()).size();
      tokens.pop_back();
    }
  };
  give_back(2);
  std::vector<Token> row;
  while (start < piece.size()) {
    const std::size_t end = std::min(piece.size(), start + window);
    for (std::size_t doubt = 1;; doubt *= 2) {
      row.clear();
      merge_any(*this, piece.substr(start, end - start), row);
      work += end - start;
      if (tokens.empty() || stays_apart(tokens.back(), row[0])) break;
      give_back(doubt);
    }
    // The last two may still change with what follows.
    if (end < piece.size()) row.resize(row.size() - 2);
    for (Token token : row) start += bytes_of(token).size();
    tokens.insert(tokens.end(), row.begin(), row.end());
  }
  return work;
}

}  // namespace tertulia
