#include "tertulia/model/embedder.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>

#include "embedder/static_table.h"
#include "tree.h"

namespace tertulia {
namespace embedder_test {

using testing::HasSubstr;

float cosine(const Vector& one, const Vector& other) {
  float sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += one[i] * other[i];
  return sum;
}

std::string oracle_file(const std::string& name) {
  std::ifstream file(trial::test_data() / "minilm" / name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(StaticEmbedder, WhatMeansTheSameLiesCloserThanWhatDoesNot) {
  const auto vectors = embed(*static_embedder(), {"I adopted a puppy", "a young dog came to live with us",
                                                  "the invoice is due on Monday"})
                           .value();
  EXPECT_GT(cosine(vectors[0], vectors[1]), cosine(vectors[0], vectors[2]) + 0.1F);
  for (const Vector& vector : vectors) EXPECT_NEAR(cosine(vector, vector), 1, 1e-4);
}

TEST(StaticEmbedder, ATextWithoutKnownWordsIsTheZeroVector) {
  const auto vectors = embed(*static_embedder(), {"", "?!"}).value();
  for (const Vector& vector : vectors) EXPECT_EQ(cosine(vector, vector), 0);
  EXPECT_EQ(vectors[0].size(), static_embedder()->info().dimensions);
}

TEST(StaticTable, RefusesWhatIsNoTable) {
  EXPECT_EQ(StaticTable::read("TSE1").error().code(), ErrorCode::kDamaged);
  const std::string_view whole = embedded_static_table();
  EXPECT_EQ(StaticTable::read(whole.substr(0, whole.size() - 1)).error().code(), ErrorCode::kDamaged);
}

TEST(WordPieceOracle, IdsAreThoseOfTheReference) {
  const auto sentences = lines_of(oracle_file("sentences.txt"));
  const auto expected = lines_of(oracle_file("wordpiece_ids.txt"));
  ASSERT_FALSE(sentences.empty());
  ASSERT_EQ(sentences.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    std::string ids = "101 ";
    for (const std::uint32_t id : StaticTable::get().pieces().encode(sentences[i]))
      ids += std::to_string(id) + " ";
    EXPECT_EQ(ids + "102 ", expected[i]) << sentences[i];
  }
}

// Answers with the length of each text, and counts.
class LengthEmbedder final : public Embedder {
 public:
  const EmbedderInfo& info() const override { return info_; }
  void embed(EmbedCall call, Done<std::vector<Vector>> done) override {
    calls.push_back(call.texts.size());
    if (fail) return done(Error(ErrorCode::kModelUnavailable, "away"));
    std::vector<Vector> vectors;
    for (const std::string& text : call.texts) vectors.push_back({static_cast<float>(text.size())});
    done(std::move(vectors));
  }
  std::vector<std::size_t> calls;
  bool fail = false;

 private:
  EmbedderInfo info_{.name = "length", .dimensions = 1, .batch = 3};
};

TEST(Embed, CutsLongCallsIntoBatches) {
  LengthEmbedder embedder;
  const auto vectors = embed(embedder, {"a", "bb", "ccc", "dddd"}).value();
  EXPECT_THAT(embedder.calls, testing::ElementsAre(3, 1));
  EXPECT_EQ(vectors[3].front(), 4);
}

TEST(CachedEmbedder, AsksOnlyForWhatItHasNotSeen) {
  auto inner = std::make_shared<LengthEmbedder>();
  const auto cached = cached_embedder(inner, 2);
  embed(*cached, {"a", "bb"}).value();
  const auto again = embed(*cached, {"bb", "a", "ccc"}).value();
  EXPECT_THAT(inner->calls, testing::ElementsAre(2, 1));
  EXPECT_EQ(again[0].front(), 2);
  EXPECT_EQ(again[2].front(), 3);
  embed(*cached, {"bb"}).value();
  EXPECT_EQ(inner->calls.size(), 3U) << "the one that was used longest ago had to go";
}

TEST(CachedEmbedder, DoesNotKeepFailures) {
  auto inner = std::make_shared<LengthEmbedder>();
  const auto cached = cached_embedder(inner, 2);
  inner->fail = true;
  EXPECT_EQ(embed(*cached, {"a"}).error().code(), ErrorCode::kModelUnavailable);
  inner->fail = false;
  EXPECT_TRUE(embed(*cached, {"a"}).ok());
}

}  // namespace embedder_test
}  // namespace tertulia
