#include "tertulia/text/tokenizer.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tertulia {
namespace tokenizer_test {

using Ids = std::vector<std::uint32_t>;

TEST(Tokenizer, KnowsItsVocabulariesByName) {
  EXPECT_EQ(tokenizer_named("o200k_base").value()->name(), "o200k_base");
  EXPECT_EQ(tokenizer_named("cl100k_base").value()->name(), "cl100k_base");
  EXPECT_EQ(tokenizer_named("estimate").value()->name(), "estimate");
  const Result<std::shared_ptr<const Tokenizer>> unknown = tokenizer_named("o300k");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code(), ErrorCode::kUnknownTokenizer);
  EXPECT_TRUE(unknown.error().fact("known"));
}

TEST(Tokenizer, KnowsModelsByTheBeginningOfTheirNames) {
  for (const char* model : {"gpt-4o", "gpt-4o-mini", "gpt-4.1-nano", "gpt-5", "gpt-5.1", "o1", "o3-mini",
                            "o4-mini", "chatgpt-4o-latest", "openai/gpt-4o"}) {
    EXPECT_EQ(tokenizer_for_model(model)->name(), "o200k_base") << model;
  }
  for (const char* model :
       {"gpt-4", "gpt-4-turbo", "gpt-3.5-turbo", "text-embedding-3-small", "text-embedding-ada-002"}) {
    EXPECT_EQ(tokenizer_for_model(model)->name(), "cl100k_base") << model;
  }
}

TEST(Tokenizer, AnUnknownModelGetsAnEstimateThatSaysSo) {
  for (const char* model : {"", "claude-sonnet", "gpt-40", "o10", "gpt-4ever"}) {
    EXPECT_TRUE(tokenizer_for_model(model)->is_estimate()) << model;
  }
  EXPECT_FALSE(tokenizer_for_model("gpt-4o")->is_estimate());
}

TEST(Tokenizer, AnEstimateIsFourBytesATokenAndHasNoIds) {
  const auto estimate = estimating_tokenizer();
  EXPECT_EQ(estimate->count(""), 0U);
  EXPECT_EQ(estimate->count("a"), 1U);
  EXPECT_EQ(estimate->count("abcd"), 1U);
  EXPECT_EQ(estimate->count("abcde"), 2U);
  EXPECT_EQ(estimate->encode("abcd").error().code(), ErrorCode::kUnknownTokenizer);
}

TEST(Tokenizer, EncodesAWellKnownSentence) {
  EXPECT_EQ(tokenizer_named("cl100k_base").value()->encode("hello world").value(), (Ids{15339, 1917}));
  EXPECT_EQ(tokenizer_named("o200k_base").value()->encode("hello world").value(), (Ids{24912, 2375}));
}

TEST(Tokenizer, SpecialTokensInTextAreOrdinaryText) {
  const auto tokenizer = tokenizer_named("o200k_base").value();
  const Ids ids = tokenizer->encode("<|endoftext|>").value();
  EXPECT_GT(ids.size(), 1U);
  EXPECT_EQ(tokenizer->decode(ids).value(), "<|endoftext|>");
}

TEST(Tokenizer, BytesThatAreNotUtf8ComeBackAsTheyWere) {
  const auto tokenizer = tokenizer_named("cl100k_base").value();
  std::string bytes = "caf\xC3 \xE4\xB8 \xED\xA0\x80 \xF4\x90\x80\x80";
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const Ids ids = tokenizer->encode(bytes).value();
  EXPECT_EQ(tokenizer->decode(ids).value(), bytes);
  EXPECT_EQ(tokenizer->count(bytes), ids.size());
}

TEST(Tokenizer, AnIdOutsideTheVocabularyIsNamed) {
  const Ids ids = {1, 199'998};
  const Result<std::string> text = tokenizer_named("o200k_base").value()->decode(ids);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(std::get<std::int64_t>(*text.error().fact("index")), 1);
}

TEST(Tokenizer, ManyThreadsShareOne) {
  const std::string text =
      "Half of the orchestra couldn't explain 1987's copper price. \u4F60\u597D\u4E16\u754C";
  const std::size_t expected = tokenizer_named("o200k_base").value()->count(text);
  std::vector<std::thread> threads;
  std::vector<std::size_t> counts(4);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    threads.emplace_back([&, i] { counts[i] = tokenizer_for_model("gpt-4o")->count(text); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts, std::vector<std::size_t>(4, expected));
}

TEST(Tokenizer, CountsOfTwoTokenizersInOneThreadDoNotMix) {
  const auto o200k = tokenizer_named("o200k_base").value();
  const auto cl100k = tokenizer_named("cl100k_base").value();
  for (int round = 0; round < 2; ++round) {
    for (std::string_view text : {" Привет", " नमस्ते", " conversación", " hello"}) {
      EXPECT_EQ(o200k->count(text), o200k->encode(text).value().size()) << text;
      EXPECT_EQ(cl100k->count(text), cl100k->encode(text).value().size()) << text;
    }
  }
  EXPECT_NE(o200k->count(" नमस्ते"), cl100k->count(" नमस्ते")) << "or the test proves nothing";
}

}  // namespace tokenizer_test
}  // namespace tertulia
