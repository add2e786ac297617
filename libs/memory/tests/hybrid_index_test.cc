#include "tertulia/memory/hybrid_index.h"

#include <gmock/gmock.h>

#include "tertulia/memory/conversation_index.h"
#include "tertulia/text/word_pieces.h"

#include "question.h"

namespace tertulia {
namespace hybrid_index_test {

using testing::ElementsAre;
using testing::IsEmpty;

Time day(int year, unsigned month, unsigned number) {
  return std::chrono::sys_days(std::chrono::year(year) / std::chrono::month(month) /
                               std::chrono::day(number));
}

std::vector<std::string> ids(const std::vector<Found>& found) {
  std::vector<std::string> result;
  for (const Found& one : found) result.push_back(one.id);
  return result;
}

TEST(HybridIndex, FindsOtherFormsOfAWord) {
  HybridIndex index;
  index.add({.id = "a", .text = "She was running along the river."}).value();
  index.add({.id = "b", .text = "He cooks every evening."}).value();
  EXPECT_THAT(ids(index.search({.text = "Who runs?"})), ElementsAre("a"));
  EXPECT_THAT(ids(index.search({.text = "cooking"})), ElementsAre("b"));
}

TEST(HybridIndex, AnAnswerIsFoundByTheWordsOfItsQuestion) {
  HybridIndex index;
  index.add({.id = "q", .text = "Which instrument do you play?", .sequence = "s", .place = 1}).value();
  index.add({.id = "a", .text = "The cello, since I was six.", .sequence = "s", .place = 2}).value();
  index.add({.id = "far", .text = "The weather is fine.", .sequence = "t", .place = 3}).value();
  EXPECT_THAT(ids(index.search({.text = "instrument"})), ElementsAre("q", "a"));
}

TEST(HybridIndex, PrefersWhatTheOneSaidWhoIsAskedAbout) {
  HybridIndex index;
  index.add({.id = "1", .text = "I adopted a puppy, Ben!", .speaker = "Anna"}).value();
  index.add({.id = "2", .text = "I adopted a puppy, Anna!", .speaker = "Ben"}).value();
  EXPECT_THAT(ids(index.search({.text = "What did Anna adopt?"})), ElementsAre("1", "2"));
  EXPECT_THAT(ids(index.search({.text = "What did Ben adopt?"})), ElementsAre("2", "1"));
}

TEST(HybridIndex, SomebodyWhoSaysIAsksAboutTheUser) {
  HybridIndex index;
  index.add({.id = "said", .text = "The allergy is to peanuts.", .speaker = "user"}).value();
  index.add({.id = "asked", .text = "The allergy is to which food?", .speaker = "assistant"}).value();
  EXPECT_EQ(index.search({.text = "Do I have an allergy?"}).front().id, "said");
}

TEST(HybridIndex, PrefersTheTimeThatIsAskedAbout) {
  HybridIndex index;
  index.add({.id = "may", .text = "We went hiking.", .time = day(2023, 5, 8)}).value();
  index.add({.id = "june", .text = "We went hiking.", .time = day(2023, 6, 8)}).value();
  EXPECT_EQ(index.search({.text = "Who went hiking in May 2023?"}).front().id, "may");
  EXPECT_EQ(index.search({.text = "Who went hiking on June 8?"}).front().id, "june");
}

TEST(HybridIndex, MeaningFindsWhatWordsDoNot) {
  ConversationIndex index(static_embedder());
  index
      .add({{.id = "dog", .text = "The puppy chewed my shoes."},
            {.id = "car", .text = "The engine needs new oil."},
            {.id = "tax", .text = "The invoice is due on Monday."}})
      .value();
  EXPECT_THAT(ids(index.search("dogs", 1)), ElementsAre("dog"));
  EXPECT_THAT(ids(index.search({.text = "automobile", .top_k = 1, .words = false})), ElementsAre("car"));
}

TEST(HybridIndex, ScoresLieBetweenZeroAndOneAndAreCutAtTheLeast) {
  HybridIndex index;
  for (int i = 0; i < 20; ++i)
    index.add({.id = std::to_string(i), .text = "tea and word" + std::to_string(i)}).value();
  const auto all = index.search({.text = "tea word7", .top_k = 50});
  ASSERT_EQ(all.size(), 20U);
  EXPECT_EQ(all.front().id, "7");
  for (const Found& found : all) EXPECT_TRUE(found.score > 0 && found.score <= 1);
  const double least = all.front().score - 1e-9;
  EXPECT_THAT(ids(index.search({.text = "tea word7", .top_k = 50, .min_score = least})), ElementsAre("7"));
}

TEST(HybridIndex, WhatWasRemovedOrReplacedIsNotFound) {
  HybridIndex index;
  index.add({.id = "a", .text = "old text", .sequence = "s", .place = 1}).value();
  index.add({.id = "b", .text = "between", .sequence = "s", .place = 2}).value();
  index.add({.id = "c", .text = "behind", .sequence = "s", .place = 3}).value();
  index.add({.id = "a", .text = "new text", .sequence = "s", .place = 1}).value();
  EXPECT_EQ(index.size(), 3U);
  EXPECT_THAT(index.search({.text = "old"}), IsEmpty());
  EXPECT_THAT(index.neighbours("a", 5), ElementsAre("b", "c"));
  EXPECT_TRUE(index.remove("b"));
  EXPECT_FALSE(index.remove("b"));
  EXPECT_THAT(index.neighbours("a", 5), ElementsAre("c"));
  EXPECT_THAT(index.search({.text = "between"}), IsEmpty());
}

TEST(HybridIndex, AFilterHidesItems) {
  HybridIndex index;
  index.add({.id = "mine", .text = "secret garden"}).value();
  index.add({.id = "theirs", .text = "secret garden"}).value();
  const auto found =
      index.search({.text = "garden", .filter = [](std::string_view id) { return id == "mine"; }});
  EXPECT_THAT(ids(found), ElementsAre("mine"));
}

TEST(HybridIndex, RefusesVectorsOfAnotherLength) {
  HybridIndex index({.dimensions = 4});
  EXPECT_EQ(index.add({.id = "a", .text = "x", .vector = {1, 0}}).error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(index.size(), 0U);
}

TEST(DateMention, IsReadAsPeopleWriteIt) {
  const auto date = [](std::string_view text) { return date_in(folded_words(text)); };
  EXPECT_EQ(date("in May 2023"), (DateMention{2023, 5, std::nullopt}));
  EXPECT_EQ(date("on 8 May, 2023"), (DateMention{2023, 5, 8}));
  EXPECT_EQ(date("May 8th, 2023"), (DateMention{2023, 5, 8}));
  EXPECT_EQ(date("on 2023-05-08"), (DateMention{2023, 5, 8}));
  EXPECT_EQ(date("back in 2022"), (DateMention{2022, std::nullopt, std::nullopt}));
  EXPECT_EQ(date("you may march on"), std::nullopt);
  EXPECT_EQ(date("room 12"), std::nullopt);
}

}  // namespace hybrid_index_test
}  // namespace tertulia
