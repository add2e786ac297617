#include "tertulia/text/huggingface.h"

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tertulia/base/json.h"

#include "tree.h"

namespace tertulia {
namespace huggingface_test {

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::shared_ptr<const Tokenizer> load(const char* path, const char* name) {
  return huggingface_tokenizer(content_of(path), name).value();
}
const Tokenizer& llama3() {
  static const auto tokenizer = load(TERTULIA_LLAMA3_JSON, "llama3");
  return *tokenizer;
}
const Tokenizer& qwen() {
  static const auto tokenizer = load(TERTULIA_QWEN_JSON, "qwen2_5");
  return *tokenizer;
}

void compare_with_golden(const Tokenizer& tokenizer) {
  std::ifstream in(trial::source_dir() / "libs/text/tests/data/huggingface_golden.jsonl");
  std::string line;
  int lines = 0;
  for (; std::getline(in, line); ++lines) {
    const Json golden = parse_json(line).value();
    const std::string& text = *golden.as_object()->find("text")->as_string();
    std::vector<std::uint32_t> expected;
    for (const Json& id : *golden.as_object()->find(tokenizer.name())->as_array()) {
      expected.push_back(static_cast<std::uint32_t>(*id.as_int()));
    }
    EXPECT_EQ(tokenizer.encode(text).value(), expected) << line;
    EXPECT_EQ(tokenizer.count(text), expected.size());
  }
  EXPECT_GE(lines, 200);
}

TEST(HuggingFace, Llama3GivesTheIdsOfTheReference) { compare_with_golden(llama3()); }
TEST(HuggingFace, QwenGivesTheIdsOfTheReference) { compare_with_golden(qwen()); }

TEST(HuggingFace, AddedTokensAreOrdinaryTextAndDecodeToTheirNames) {
  const std::vector<std::uint32_t> ids = llama3().encode("<|begin_of_text|>").value();
  EXPECT_GT(ids.size(), 1U);
  const std::vector<std::uint32_t> added = {128'000};
  EXPECT_EQ(llama3().decode(added).value(), "<|begin_of_text|>");
}

TEST(HuggingFace, StreamsAreExactAcrossCharactersThatCompose) {
  std::mt19937 random(4);
  const std::vector<std::string> parts = {"e", "\u0301", "\u0323", "\u1100", "\u1161", "\u11A8",
                                          "a", " ",      "1",      "\u4E2D", "\xE4",   "!"};
  for (int round = 0; round < 1500; ++round) {
    const auto counter = qwen().new_stream();
    std::string text;
    for (int i = 0; i < 12; ++i) {
      const std::string& part = parts[random() % parts.size()];
      text += part;
      counter->append(part);
      ASSERT_EQ(counter->total(), qwen().count(text)) << text;
    }
  }
}

// Llama 3 merges some tokens that only later merges make, so its long pieces are merged whole, by a heap.
TEST(HuggingFace, ALongPieceOfLlama3HasTheTokensOfItsShortForm) {
  std::mt19937 random(6);
  for (const char* letters : {"a", ".:", "nghi", "etaoin shrdlu"}) {
    std::string text;
    while (text.size() < 9000) text += letters[random() % std::string_view(letters).size()];
    const std::vector<std::uint32_t> ids = llama3().encode(text).value();
    EXPECT_EQ(llama3().decode(ids).value(), text);
    EXPECT_EQ(llama3().count(text), ids.size());
  }
  EXPECT_EQ(llama3().count(std::string(100'000, 'a')), 100'000U / 8);
  EXPECT_EQ(llama3().count(std::string(100, 'a')), llama3().encode(std::string(100, 'a')).value().size());
}

// A file of the smallest kind: all bytes, and "ab" from a and b.
std::string small_file(const std::string& pattern, const std::string& normalizer, const std::string& merges) {
  std::string vocab;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool printable = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    const unsigned code = printable ? byte : next++;
    std::string letter;
    if (code < 0x80) {
      letter = static_cast<char>(code);
    } else {
      letter = {static_cast<char>(0xC0U | code >> 6U), static_cast<char>(0x80U | (code & 63U))};
    }
    if (letter == "\"" || letter == "\\") letter.insert(0, 1, '\\');
    vocab += "\"" + letter + "\":" + std::to_string(byte) + ",";
  }
  return R"({"normalizer":)" + normalizer +
         R"(,"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","behavior":"Isolated","pattern":{"Regex":")" +
         pattern + R"("}},{"type":"ByteLevel"}]},"model":{"type":"BPE","vocab":{)" + vocab +
         R"("ab":300},"merges":)" + merges + "}}";
}
const std::string kQwenPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)";

ErrorCode code_of(const std::string& file) {
  const auto result = huggingface_tokenizer(file, "small");
  return result ? ErrorCode::kClosed : result.error().code();
}

TEST(HuggingFace, MergesMayBeTextOrPairs) {
  for (const char* merges : {R"(["a b"])", R"([["a","b"]])"}) {
    const auto tokenizer = huggingface_tokenizer(small_file(kQwenPattern, "null", merges), "small").value();
    EXPECT_EQ(tokenizer->encode("abb").value(), (std::vector<std::uint32_t>{300, 'b'}));
  }
}

TEST(HuggingFace, AWordThatMergingNeverMakesIsNotTakenWhole) {
  const auto tokenizer = huggingface_tokenizer(small_file(kQwenPattern, "null", "[]"), "small").value();
  EXPECT_EQ(tokenizer->encode("ab").value(), (std::vector<std::uint32_t>{'a', 'b'}));
  const std::vector<std::uint32_t> whole = {300};
  EXPECT_EQ(tokenizer->decode(whole).value(), "ab");
}

TEST(HuggingFace, WhatIsNotKnownIsRefusedByName) {
  const auto result = huggingface_tokenizer(small_file("[a-z]+", "null", "[]"), "small");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::kUnknownTokenizer);
  EXPECT_NE(result.error().message().find("[a-z]+"), std::string::npos);
  EXPECT_EQ(code_of(small_file(kQwenPattern, R"({"type":"NFKC"})", "[]")), ErrorCode::kUnknownTokenizer);
  EXPECT_EQ(code_of(R"({"model":{"type":"Unigram"}})"), ErrorCode::kUnknownTokenizer);
}

TEST(HuggingFace, WhatDoesNotFitIsAnErrorNotACrash) {
  EXPECT_EQ(code_of(""), ErrorCode::kEmptyBody);
  EXPECT_EQ(code_of("{}"), ErrorCode::kMissingField);
  EXPECT_EQ(code_of("[1]"), ErrorCode::kWrongType);
  EXPECT_EQ(code_of(R"({"model":3})"), ErrorCode::kUnknownTokenizer);
  EXPECT_EQ(code_of(small_file(kQwenPattern, "null", R"(["a c"])")), ErrorCode::kDamaged);
  EXPECT_EQ(code_of(small_file(kQwenPattern, "null", R"(["a"])")), ErrorCode::kDamaged);
}

}  // namespace huggingface_test
}  // namespace tertulia
