// What a score promises: from 0.75 on a text fits the question, whatever the embedder, with words and
// without.
#include <gtest/gtest.h>

#include "tertulia/conversation/agent_spec.h"
#ifdef TERTULIA_MINILM
#include "tertulia/model/minilm_embedder.h"
#endif

#include "asked_shares.h"

namespace tertulia {
namespace score_test {

using trial::AskedHomes;
using trial::AskedShares;

// Both halves of the texts and questions: what was chosen with the first must hold for the second.
template <class Check>
void for_each_half(const std::shared_ptr<Embedder>& embedder, const Check& check) {
  const double least = MemoryConfig().semantic_min_score;
  AskedHomes first(trial::kFirstHomes, embedder);
  AskedHomes second(trial::kSecondHomes, embedder);
  for (const bool hybrid : {false, true}) {
    SCOPED_TRACE(embedder->info().name + (hybrid ? ", words and meaning" : ", meaning alone"));
    check(first.ask(trial::kFirstStrangers, hybrid, least));
    check(second.ask(trial::kSecondStrangers, hybrid, least));
  }
}

std::vector<std::shared_ptr<Embedder>> embedders() {
#ifdef TERTULIA_MINILM
  return {static_embedder(), minilm_embedder().value()};
#else
  return {static_embedder()};
#endif
}

TEST(Score, WhatFitsPassesTheDefaultAndStrangersSeldomDo) {
  for (const auto& embedder : embedders()) {
    for_each_half(embedder, [](const AskedShares& shares) {
      EXPECT_GE(shares.fitting.percent(), 80) << shares.fitting.found << " of " << shares.fitting.asked;
      EXPECT_LE(shares.strangers.percent(), 12) << shares.strangers.found << " of " << shares.strangers.asked;
    });
  }
}

// Strength as it comes out of an index with one text.
Found found_for(std::string_view question, const std::string& text, const HybridOptions& options,
                bool words) {
  HybridIndex index(options);
  const std::vector<Vector> vectors = embed(*static_embedder(), {text, std::string(question)}).value();
  index.add({.id = "1", .text = text, .vector = vectors[0]}).value();
  return index.search({.text = std::string(question), .vector = vectors[1], .words = words}).at(0);
}

TEST(Score, ACosineThatIsFittingScoresThreeQuarters) {
  const std::string text = "The shop is open on Saturdays from ten to two.";
  const std::string question = "When does the shop open on Saturdays?";
  const double cosine = found_for(question, text, {}, false).meaning;
  ASSERT_GT(cosine, 0.3);
  const auto at = static_cast<float>(cosine);
  EXPECT_NEAR(found_for(question, text, {.unrelated = 0.1F, .fitting = at, .same = 0.99F}, false).score, 0.75,
              1e-5);
  EXPECT_NEAR(found_for(question, text, {.unrelated = at, .fitting = 0.98F, .same = 0.99F}, false).score, 0,
              1e-5);
  EXPECT_NEAR(found_for(question, text, {.unrelated = 0.1F, .fitting = 0.2F, .same = at}, false).score, 1,
              1e-5);
}

TEST(Score, AmongMoreTextsItTakesMoreToFit) {
  HybridIndex index({.unrelated = 0.35F, .fitting = 0.45F, .same = 0.75F});
  const std::string question = "When does the shop open?";
  const auto add = [&](const std::string& id, const std::string& text) {
    index.add({.id = id, .text = text, .vector = embed(*static_embedder(), {text}).value().front()}).value();
  };
  const auto score_of_first = [&](bool words) {
    const Found found = index
                            .search({.text = question,
                                     .vector = embed(*static_embedder(), {question}).value().front(),
                                     .words = words})
                            .at(0);
    EXPECT_EQ(found.id, "hours");
    return found;
  };
  add("hours", "The shop opens at nine.");
  const double few = score_of_first(false).score;
  for (int i = 0; i < 200; ++i) add(std::to_string(i), "Note " + std::to_string(i) + " of the choir");
  EXPECT_LT(score_of_first(false).score, few);
  EXPECT_GE(score_of_first(false).score, 0.75);
  EXPECT_GE(score_of_first(true).score, 0.75);
}

TEST(Score, GrowsWithTheStrengthThatTheOrderIsBy) {
  HybridIndex index({.unrelated = 0.35F, .fitting = 0.45F, .same = 0.75F});
  std::vector<std::string> texts;
  for (const trial::AskedHome& home : trial::kFirstHomes) {
    for (const trial::KnownText& text : home.texts) texts.emplace_back(text.text);
  }
  const std::vector<Vector> vectors = embed(*static_embedder(), texts).value();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    index.add({.id = std::to_string(i), .text = texts[i], .vector = vectors[i]}).value();
  }
  for (const bool words : {false, true}) {
    for (const trial::AskedQuestion& asked : trial::kShopQuestions) {
      const std::string question(asked.text);
      const std::vector<Found> found =
          index.search({.text = question,
                        .vector = embed(*static_embedder(), {question}).value().front(),
                        .top_k = texts.size(),
                        .words = words});
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_TRUE(found[i].score >= 0 && found[i].score <= 1) << found[i].score;
        if (i == 0 || found[i - 1].strength == found[i].strength) continue;
        EXPECT_GT(found[i - 1].strength, found[i].strength);
        EXPECT_GT(found[i - 1].score, found[i].score);
      }
    }
  }
}

}  // namespace score_test
}  // namespace tertulia
