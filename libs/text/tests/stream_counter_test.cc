#include "tertulia/text/stream_counter.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "piece_counter.h"

namespace tertulia {
namespace stream_counter_test {

const BpeTokenizer& tokenizer(const char* name) {
  return dynamic_cast<const BpeTokenizer&>(*tokenizer_named(name).value());
}

std::string random_text(std::mt19937& random, std::size_t parts) {
  static const std::vector<std::string> kParts = {"a",
                                                  "A",
                                                  "\u4E2D",
                                                  "'",
                                                  "s",
                                                  "ll",
                                                  "re",
                                                  "\u017F",
                                                  "\u0301",
                                                  " ",
                                                  "\n",
                                                  "\t",
                                                  "\r\n",
                                                  "/",
                                                  "!",
                                                  "1",
                                                  "\u0663",
                                                  "\u01C5",
                                                  "\u00E9",
                                                  "\U0001F602",
                                                  "\xE4",
                                                  "\xB8",
                                                  "\xFF",
                                                  "\u3000",
                                                  std::string(70, 'a'),
                                                  std::string(90, ' '),
                                                  std::string(60, '='),
                                                  "\u4E2D\u56FD\u4EBA\u6C11\u94F6\u884CABCDEFGHIJ"};
  const std::size_t kinds = 1 + random() % kParts.size();
  const std::size_t from = random() % kParts.size();
  std::string out;
  for (std::size_t i = 0; i < parts; ++i) out += kParts[(from + random() % kinds) % kParts.size()];
  return out;
}

TEST(StreamCounter, IsExactAtEveryMomentHoweverTheTextIsCut) {
  std::mt19937 random(11);
  for (const char* name : {"o200k_base", "cl100k_base"}) {
    for (int round = 0; round < 4000; ++round) {
      const std::string text = random_text(random, 1 + random() % (round % 40 == 0 ? 120 : 10));
      PieceCounter counter(tokenizer(name));
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t size = std::min(text.size() - at, 1 + random() % 9);
        counter.append(text.substr(at, size));
        at += size;
        if (random() % 3 == 0) {
          ASSERT_EQ(counter.total(), tokenizer(name).count(text.substr(0, at))) << text.substr(0, at);
        }
      }
      ASSERT_EQ(counter.total(), tokenizer(name).count(text)) << text;
    }
  }
}

TEST(StreamCounter, NothingIsNoTokens) {
  PieceCounter counter(tokenizer("o200k_base"));
  EXPECT_EQ(counter.total(), 0U);
  counter.append("");
  EXPECT_EQ(counter.total(), 0U);
}

// The work for the last part of a long text is that for the first, whatever the text: counted, not timed.
TEST(StreamCounter, AppendingCostsTheSameHoweverMuchWentBefore) {
  for (const char* unit :
       {"a", " ", "\u4E2D", "\U0001F602", "\n", "A", "\u0301", "-", "7", "\u4E2DA", "word "}) {
    PieceCounter counter(tokenizer("o200k_base"));
    std::vector<std::size_t> work;
    for (int part = 0; part < 10; ++part) {
      const std::size_t before = counter.work();
      for (int i = 0; i < 10'000; ++i) {
        counter.append(unit);
        counter.total();
      }
      work.push_back(counter.work() - before);
    }
    EXPECT_LE(work.back(), work[1] * 3 / 2) << "'" << unit << "'";
    EXPECT_LE(work.back(), 10'000U * 400U) << "'" << unit << "'";
  }
}

TEST(StreamCounter, ForgetsWhatIsSettled) {
  PieceCounter counter(tokenizer("o200k_base"));
  for (int i = 0; i < 100'000; ++i) counter.append("some words ");
  EXPECT_LT(counter.kept(), 10'000U);
}

TEST(StreamCounter, AnEstimateCountsBytes) {
  const auto counter = estimating_tokenizer()->new_stream();
  counter->append("abc");
  counter->append("de");
  EXPECT_EQ(counter->total(), 2U);
}

}  // namespace stream_counter_test
}  // namespace tertulia
