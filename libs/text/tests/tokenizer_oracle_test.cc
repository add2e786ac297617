// Exactness against ids that another implementation made. Besides tests/data/tiktoken, the folder that
// TERTULIA_ORACLE_DIR names is read: tools/make_token_oracle.mjs fills one.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tertulia/text/tokenizer.h"

#include "tree.h"

namespace tertulia {
namespace tokenizer_oracle_test {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::filesystem::path> oracle_texts() {
  std::vector<std::filesystem::path> out;
  const char* more = std::getenv("TERTULIA_ORACLE_DIR");
  for (std::filesystem::path folder :
       {trial::test_data() / "tiktoken", std::filesystem::path(more ? more : "")}) {
    for (const char* name : {"fuzz.txt", "points.txt"}) {
      if (std::filesystem::exists(folder / name)) out.push_back(folder / name);
    }
  }
  return out;
}

void compare(const std::string& vocabulary, const std::string& suffix) {
  const std::vector<std::filesystem::path> texts = oracle_texts();
  ASSERT_FALSE(texts.empty()) << trial::test_data();
  const auto tokenizer = tokenizer_named(vocabulary).value();
  for (std::filesystem::path path : texts) {
    const std::string text = content_of(path);
    const std::string raw = content_of(path.replace_extension(suffix));
    std::vector<std::uint32_t> expected(raw.size() / sizeof(std::uint32_t));
    ASSERT_FALSE(expected.empty());
    std::memcpy(expected.data(), raw.data(), raw.size());
    const std::vector<std::uint32_t> ids = tokenizer->encode(text).value();
    EXPECT_TRUE(ids == expected)
        << path << " differs at token "
        << std::mismatch(ids.begin(), ids.end(), expected.begin(), expected.end()).first - ids.begin();
    EXPECT_EQ(tokenizer->count(text), expected.size());
    EXPECT_TRUE(tokenizer->decode(ids).value() == text);
  }
}

TEST(TokenizerOracle, O200kGivesTheSameIds) { compare("o200k_base", "o200k.u32"); }
TEST(TokenizerOracle, Cl100kGivesTheSameIds) { compare("cl100k_base", "cl100k.u32"); }

}  // namespace tokenizer_oracle_test
}  // namespace tertulia
