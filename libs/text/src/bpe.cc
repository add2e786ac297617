#include "bpe.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tertulia/base/check.h"

namespace tertulia {

Bpe::Builder::Builder(std::size_t tokens) {
  origins_.reserve(tokens);
  ends_.reserve(tokens);
  bytes_.reserve(tokens * 8);
}

bool Bpe::Builder::add(TokenOrigin origin, std::size_t start) {
  if (origins_.size() >= kMaxTokens || bytes_.size() > 0xFFFFFFFFU || bytes_.size() == start) return false;
  origins_.push_back(origin);
  ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  return true;
}

bool Bpe::Builder::add_merge(Token left, Token right) {
  if (left >= origins_.size() || right >= origins_.size()) return false;
  const std::size_t start = bytes_.size();
  for (Token part : {left, right}) {
    const std::size_t part_start = part == 0 ? 0 : ends_[part - 1];
    const std::size_t size = ends_[part] - part_start;
    bytes_.resize(bytes_.size() + size);
    std::memcpy(bytes_.data() + bytes_.size() - size, bytes_.data() + part_start, size);
  }
  return add({left, right}, start);
}

bool Bpe::Builder::add_merge(Token left, Token right, std::string_view bytes) {
  if (left >= origins_.size() || right >= origins_.size()) ordered_ = false;
  const std::size_t start = bytes_.size();
  bytes_.append(bytes);
  return add({left, right}, start);
}

bool Bpe::Builder::add_literal(std::string_view bytes, bool hidden) {
  if (hidden) hidden_.push_back(static_cast<Token>(origins_.size()));
  const std::size_t start = bytes_.size();
  bytes_.append(bytes);
  return add({}, start);
}

bool Bpe::Builder::finish(Bpe& out) {
  out.origins_ = std::move(origins_);
  out.ends_ = std::move(ends_);
  out.bytes_ = std::move(bytes_);
  out.ordered_ = ordered_;
  for (const TokenOrigin& origin : out.origins_) {
    if (origin.left != kNoToken && std::max(origin.left, origin.right) >= out.size()) return false;
  }
  out.byte_tokens_.fill(kNoToken);
  for (Token token = 0; token < out.size(); ++token) {
    if (std::ranges::binary_search(hidden_, token)) continue;
    const std::string_view bytes = out.bytes_of(token);
    out.longest_ = std::max(out.longest_, bytes.size());
    if (bytes.size() == 1) out.byte_tokens_[static_cast<unsigned char>(bytes[0])] = token;
  }
  if (std::ranges::find(out.byte_tokens_, kNoToken) != out.byte_tokens_.end()) return false;
  out.build_pairs();
  out.build_pieces(hidden_);
  if (out.ordered_) out.build_characters();
  return true;
}

void Bpe::insert(std::vector<std::uint32_t>& slots, unsigned shift, std::uint64_t hash, Token token) {
  std::size_t slot = hash >> shift;
  while (slots[slot] != kEmptySlot) slot = (slot + 1) & (slots.size() - 1);
  slots[slot] = tag_of(hash) << kTokenBits | token;
}

void Bpe::build_pairs() {
  const std::size_t slots = std::bit_ceil(size() * 2);
  pair_shift_ = 64U - static_cast<unsigned>(std::countr_zero(slots));
  pair_slots_.assign(slots, kEmptySlot);
  for (Token token = 0; token < size(); ++token) {
    const auto [left, right] = origins_[token];
    if (left != kNoToken) insert(pair_slots_, pair_shift_, pair_hash(left, right), token);
  }
  byte_pairs_.resize(256 * 256);
  for (std::size_t pair = 0; pair < byte_pairs_.size(); ++pair) {
    byte_pairs_[pair] = merge_of(byte_tokens_[pair >> 8U], byte_tokens_[pair & 255U]);
  }
}

void Bpe::build_pieces(const std::vector<Token>& hidden) {
  const std::size_t slots = std::bit_ceil(size() * 2);
  piece_shift_ = 64U - static_cast<unsigned>(std::countr_zero(slots));
  piece_slots_.assign(slots, kEmptySlot);
  keys_.resize(size());
  auto next_hidden = hidden.begin();
  for (Token token = 0; token < size(); ++token) {
    if (next_hidden != hidden.end() && *next_hidden == token) {
      ++next_hidden;
      continue;
    }
    const std::string_view bytes = bytes_of(token);
    if (bytes.size() <= kShortKeyBytes) {
      keys_[token] = short_key(bytes, bytes_.size() - (ends_[token] - bytes.size()));
      insert(piece_slots_, piece_shift_, hash_of(keys_[token]), token);
    } else {
      insert(piece_slots_, piece_shift_, hash_of(bytes), token);
    }
  }
}

std::uint64_t Bpe::hash_of(const ShortKey& key) {
  const std::uint64_t mixed = (key.low ^ std::rotl(key.high, 29)) * 0x9E3779B97F4A7C15U;
  return (mixed ^ mixed >> 32U ^ key.high) * 0xD6E8FEB86659FD93U;
}

std::uint64_t Bpe::hash_of(std::string_view bytes) {
  std::uint64_t hash = bytes.size();
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    hash = std::rotl((hash ^ word) * 0x9E3779B97F4A7C15U, 31);
    bytes.remove_prefix(8);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
  return (hash ^ hash >> 32U) * 0xD6E8FEB86659FD93U;
}

Token Bpe::find(std::string_view piece, std::size_t room) const {
  const std::size_t mask = piece_slots_.size() - 1;
  if (piece.size() <= kShortKeyBytes) [[likely]] {
    const ShortKey key = short_key(piece, room);
    const std::uint64_t hash = hash_of(key);
    for (std::size_t slot = hash >> piece_shift_;; slot = (slot + 1) & mask) {
      const std::uint32_t found = piece_slots_[slot];
      if (found == kEmptySlot) return kNoToken;
      if ((found >> kTokenBits) == tag_of(hash) && keys_[found & kNoToken] == key) return found & kNoToken;
    }
  }
  if (piece.size() > longest_) return kNoToken;
  const std::uint64_t hash = hash_of(piece);
  for (std::size_t slot = hash >> piece_shift_;; slot = (slot + 1) & mask) {
    const std::uint32_t found = piece_slots_[slot];
    if (found == kEmptySlot) return kNoToken;
    if ((found >> kTokenBits) == tag_of(hash) && bytes_of(found & kNoToken) == piece) return found & kNoToken;
  }
}

bool Bpe::stays_apart(Token left, Token right) const {
  // Undo the merges of both from the last to the first. The tokens that touch at the seam would have merged
  // if their pair came before the merge that was undone last. Among equal merges the one further left goes
  // first.
  Token before = kNoToken;
  for (;;) {
    const Token across = merge_of(left, right);
    if (across != kNoToken && across < before) return false;
    const bool left_is_byte = origins_[left].left == kNoToken;
    const bool right_is_byte = origins_[right].left == kNoToken;
    if (left_is_byte && right_is_byte) return true;
    if (!left_is_byte && (right_is_byte || left > right)) {
      before = left;
      left = origins_[left].right;
    } else {
      before = right + 1;
      right = origins_[right].left;
    }
  }
}

}  // namespace tertulia
