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
