// Byte pair encoding of single pieces, exact, for any vocabulary.
//
// Inside, tokens are numbered by the order of their merges, so the lowest number is what merges first. A
// token is the merge of exactly two others, the last step of encoding its own bytes; no other pair of tokens
// can ever stand side by side and make it, so one table of pairs is all there is to merging.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tertulia {

using Token = std::uint32_t;
inline constexpr Token kNoToken = 0xFFFFF;
inline constexpr std::size_t kMaxTokens = kNoToken;

// How a token comes about: from two lower ones, or (both kNoToken) as the bytes themselves.
struct TokenOrigin {
  Token left = kNoToken;
  Token right = kNoToken;
};

class Bpe {
 public:
  // Adds tokens in the order of their merges. Every single byte must be added once.
  class Builder {
   public:
    explicit Builder(std::size_t tokens);
    // False if the token stands there already, or its parts do not, or there are too many.
    bool add_merge(Token left, Token right);
    // The same for a vocabulary in which a part may have a later number than the whole.
    bool add_merge(Token left, Token right, std::string_view bytes);
    // A hidden token is only there to be decoded: find() does not.
    bool add_literal(std::string_view bytes, bool hidden = false);
    // False if a single byte or a part is missing.
    bool finish(Bpe& out);

   private:
    bool add(TokenOrigin origin, std::size_t start);

    std::vector<TokenOrigin> origins_;
    std::vector<std::uint32_t> ends_;
    std::string bytes_;
    std::vector<Token> hidden_;
    bool ordered_ = true;
  };

  // Pieces of up to 15 bytes as one comparison: the bytes, zeros, and the length in the last byte.
  struct ShortKey {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const ShortKey&) const = default;
  };
  static constexpr std::size_t kShortKeyBytes = 15;

  static ShortKey short_key(std::string_view bytes, std::size_t room) {
    ShortKey key;
    const std::size_t size = bytes.size();
    if (room >= sizeof key) [[likely]] {
      std::memcpy(&key, bytes.data(), sizeof key);
      const std::uint64_t low_mask = size < 8 ? (std::uint64_t{1} << (size * 8U)) - 1 : ~std::uint64_t{0};
      const std::uint64_t high_mask = size < 8 ? 0 : (std::uint64_t{1} << ((size - 8U) * 8U)) - 1;
      key.low &= low_mask;
      key.high &= high_mask;
    } else {
      std::memcpy(&key, bytes.data(), size);
    }
    key.high |= std::uint64_t{size} << 56U;
    return key;
  }

  std::size_t size() const { return origins_.size(); }
  std::string_view bytes_of(Token token) const {
    const std::uint32_t start = token == 0 ? 0 : ends_[token - 1];
    return std::string_view(bytes_).substr(start, ends_[token] - start);
  }
  TokenOrigin origin_of(Token token) const { return origins_[token]; }
  bool is_ordered() const { return ordered_; }
  Token byte_token(unsigned char byte) const { return byte_tokens_[byte]; }

  // The token that is exactly this piece, or kNoToken. `room` bytes may be read from piece.data() on.
  Token find(std::string_view piece, std::size_t room) const;
  Token find(std::string_view piece) const { return find(piece, piece.size()); }

  // The token that the pair merges into, or kNoToken.
  Token merge_of(Token left, Token right) const {
    const std::uint64_t hash = pair_hash(left, right);
    for (std::size_t slot = hash >> pair_shift_;; slot = (slot + 1) & (pair_slots_.size() - 1)) {
      const std::uint32_t found = pair_slots_[slot];
      if (found == kEmptySlot) return kNoToken;
      if ((found >> kTokenBits) != tag_of(hash)) continue;
      const Token token = found & kNoToken;
      if (origins_[token].left == left && origins_[token].right == right) return token;
    }
  }

  Token merge_of_bytes(unsigned char left, unsigned char right) const {
    return byte_pairs_[left * 256U + right];
  }

  // A piece of characters of three bytes (Chinese, Japanese, Korean) may begin with whole characters instead
  // of bytes: within one, its bytes merge as they would alone, unless a token joins a part of it to a
  // neighbour. Such tokens are few; `may_join` tells for each character whether one could.
  struct Character {
    Token token : 20;
    std::uint32_t may_join_left : 1;
    std::uint32_t may_join_right : 1;
  };
  // By the 16 bits of a character of three bytes. `token` is kNoToken if the character is none.
  const Character& character(const unsigned char* bytes) const {
    return characters_[(bytes[0] & 0xFU) << 12U | (bytes[1] & 0x3FU) << 6U | (bytes[2] & 0x3FU)];
  }

  // True if encoding the bytes of both, one behind the other, gives just these two. A sequence of tokens that
  // merging can reach is the encoding of its bytes exactly if this holds for all neighbours.
  // Only where all parts come before their wholes.
  bool stays_apart(Token left, Token right) const;

  // The tokens that merging makes of the piece, without looking it up as a whole.
  std::size_t count_merged(std::string_view piece) const;
  void encode_merged(std::string_view piece, std::vector<Token>& out) const;
  // Goes on with a piece that has grown: `tokens` are those of its first `encoded` bytes and become those of
  // all. Returns how many bytes had to be looked at, which does not depend on `encoded`.
  std::size_t extend_merged(std::string_view piece, std::size_t encoded, std::vector<Token>& tokens) const;

 private:
  static constexpr unsigned kTokenBits = 20;
  static constexpr std::uint32_t kEmptySlot = 0xFFFFFFFF;

  static std::uint64_t pair_hash(Token left, Token right) {
    return (std::uint64_t{left} << kTokenBits | right) * 0x9E3779B97F4A7C15U;
  }
  // Not 0xFFF, which with kNoToken would read as an empty slot: no token is kNoToken.
  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 20U) & 0xFFFU; }
  static std::uint64_t hash_of(const ShortKey& key);
  static std::uint64_t hash_of(std::string_view bytes);

  void build_pairs();
  void build_characters();
  void build_pieces(const std::vector<Token>& hidden);
  static void insert(std::vector<std::uint32_t>& slots, unsigned shift, std::uint64_t hash, Token token);

  std::vector<TokenOrigin> origins_;
  std::vector<std::uint32_t> ends_;
  std::string bytes_;
  std::vector<ShortKey> keys_;
  std::size_t longest_ = 0;
  // Every token has a higher number than its parts.
  bool ordered_ = true;
  // Open addressing; a slot is 12 bits of the hash and the token.
  std::vector<std::uint32_t> pair_slots_;
  std::vector<std::uint32_t> piece_slots_;
  unsigned pair_shift_ = 0;
  unsigned piece_shift_ = 0;
  std::array<Token, 256> byte_tokens_{};
  std::vector<Character> characters_;
  // The merge of each two bytes, for the first look at a piece.
  std::vector<std::uint32_t> byte_pairs_;
};

}  // namespace tertulia
