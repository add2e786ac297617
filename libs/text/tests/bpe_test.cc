#include "bpe.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "packed_vocabulary.h"

namespace tertulia {
namespace bpe_test {

const Bpe& vocabulary() {
  static const Bpe bpe = read_vocabulary(embedded_vocabularies(), "o200k_base").value();
  return bpe;
}

// The definition, word for word: merge the lowest pair, the leftmost among equals, one at a time.
std::vector<Token> merge_by_definition(const Bpe& bpe, std::string_view piece) {
  std::vector<Token> row;
  for (char byte : piece) row.push_back(bpe.byte_token(static_cast<unsigned char>(byte)));
  for (;;) {
    Token best = kNoToken;
    std::size_t where = 0;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      // By the bytes, as the vocabulary defines it, not by our table of pairs.
      const Token merged =
          bpe.find(std::string(bpe.bytes_of(row[i])) + std::string(bpe.bytes_of(row[i + 1])));
      if (merged < best) {
        best = merged;
        where = i;
      }
    }
    if (best == kNoToken) return row;
    row[where] = best;
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(where) + 1);
  }
}

std::string random_piece(std::mt19937& random, std::size_t size) {
  static constexpr std::string_view kAlphabets[] = {
      "ab", "aeinorst", " \n", "=-", "abcdefghijklmnopqrstuvwxyz", "\xE4\xB8\xAD\xE5\x9B\xBD"};
  const std::string_view alphabet = kAlphabets[random() % std::size(kAlphabets)];
  std::string out;
  while (out.size() < size) out += alphabet[random() % alphabet.size()];
  return out;
}

std::string three_bytes(unsigned character) {
  return {static_cast<char>(0xE0U | character >> 12U), static_cast<char>(0x80U | (character >> 6U & 0x3FU)),
          static_cast<char>(0x80U | (character & 0x3FU))};
}

// Characters on both sides of the tokens that join a part of one to its neighbour.
std::vector<unsigned> torn_characters(const Bpe& bpe) {
  std::vector<unsigned> torn;
  for (unsigned character = 0x3000; character < 0xE000; ++character) {
    const std::string bytes = three_bytes(character);
    const auto& known = bpe.character(reinterpret_cast<const unsigned char*>(bytes.data()));
    if (known.may_join_left != 0 || known.may_join_right != 0) torn.push_back(character);
  }
  return torn;
}

TEST(Bpe, BeginningWithWholeCharactersGivesWhatBytesGive) {
  for (const std::string_view name : {"o200k_base", "cl100k_base"}) {
    const Bpe bpe = read_vocabulary(embedded_vocabularies(), name).value();
    const std::vector<unsigned> torn = torn_characters(bpe);
    ASSERT_GT(torn.size(), 100U);
    std::mt19937 random(3);
    for (int i = 0; i < 60'000; ++i) {
      std::string piece;
      for (std::size_t left = 1 + random() % 12; left > 0; --left) {
        const auto below = [&](std::size_t most) { return static_cast<unsigned>(random() % most); };
        const unsigned kinds[] = {torn[below(torn.size())], 0x4E00 + below(0x5000), 0x3040 + below(0xC0),
                                  0xAC00 + below(0x2BA0)};
        piece += three_bytes(kinds[random() % (i % 4 + 1)]);
      }
      std::vector<Token> merged;
      bpe.encode_merged(piece, merged);
      ASSERT_EQ(bpe.count_merged(piece), merged.size()) << name << ": " << piece;
    }
    // Every two neighbours of which a token could take a part.
    for (Token token = 0; token < bpe.size(); ++token) {
      const std::string bytes(bpe.bytes_of(token));
      if (bytes.size() < 2 || bytes.size() > 12) continue;
      for (const std::string_view around : {"", "\xE6\x88", "\xE5"}) {
        const std::string piece = std::string(around) + bytes;
        std::vector<Token> merged;
        bpe.encode_merged(piece, merged);
        ASSERT_EQ(bpe.count_merged(piece), merged.size()) << name << ": " << piece;
      }
    }
  }
}

TEST(Bpe, MergesAsTheDefinitionDoes) {
  std::mt19937 random(1);
  for (int i = 0; i < 600; ++i) {
    const std::string piece = random_piece(random, 1 + random() % (i % 20 == 0 ? 700 : 60));
    std::vector<Token> merged;
    vocabulary().encode_merged(piece, merged);
    ASSERT_EQ(merged, merge_by_definition(vocabulary(), piece)) << piece;
    ASSERT_EQ(vocabulary().count_merged(piece), merged.size());
  }
}

TEST(Bpe, APieceThatGrowsKeepsTheTokensOfTheWhole) {
  std::mt19937 random(2);
  for (int i = 0; i < 60; ++i) {
    const std::string piece = random_piece(random, 400 + random() % 800);
    std::vector<Token> grown;
    std::size_t size = 0;
    while (size < piece.size()) {
      const std::size_t next = std::min(piece.size(), size + 1 + random() % 40);
      vocabulary().extend_merged(piece.substr(0, next), size, grown);
      size = next;
    }
    std::vector<Token> whole;
    vocabulary().encode_merged(piece, whole);
    ASSERT_EQ(grown, whole) << piece;
  }
}

TEST(Bpe, TokensStayApartExactlyIfTheirBytesEncodeToThem) {
  std::mt19937 random(3);
  int apart = 0;
  for (int i = 0; i < 20000; ++i) {
    const Token left = random() % 3000;
    const Token right = random() % 3000;
    const std::string both =
        std::string(vocabulary().bytes_of(left)) + std::string(vocabulary().bytes_of(right));
    const bool expected = merge_by_definition(vocabulary(), both) == std::vector<Token>{left, right};
    ASSERT_EQ(vocabulary().stays_apart(left, right), expected) << both;
    apart += expected;
  }
  EXPECT_GT(apart, 1000);
  EXPECT_LT(apart, 19900);
}

TEST(Bpe, EveryTokenOfTheVocabularyIsFoundAndMerges) {
  for (Token token = 0; token < vocabulary().size(); ++token) {
    const std::string_view bytes = vocabulary().bytes_of(token);
    ASSERT_EQ(vocabulary().find(std::string(bytes)), token);
    ASSERT_EQ(vocabulary().count_merged(bytes), 1U) << bytes;
  }
}

}  // namespace bpe_test
}  // namespace tertulia
