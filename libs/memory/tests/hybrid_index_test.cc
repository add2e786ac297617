#include "tertulia/memory/hybrid_index.h"

#include <algorithm>

#include <gmock/gmock.h>

#include "tertulia/memory/conversation_index.h"
#include "tertulia/text/word_pieces.h"

#include "asked_pieces.h"
#include "question.h"
#include "terms.h"

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

TEST(HybridIndex, AnAnswerIsFoundByTheWordsOfItsQuestionAndComesBeforeIt) {
  HybridIndex index;
  index.add({.id = "q", .text = "Which instrument do you play?", .sequence = "s", .place = 1}).value();
  index.add({.id = "a", .text = "The cello, since I was six.", .sequence = "s", .place = 2}).value();
  index.add({.id = "far", .text = "The weather is fine.", .sequence = "t", .place = 3}).value();
  EXPECT_THAT(ids(index.search({.text = "instrument"})), ElementsAre("a", "q"));
}

TEST(HybridIndex, OtherWordsNextToAnItemSayMoreThanTheSameOneAgain) {
  HybridIndex index;
  const auto add = [&](std::string id, std::string text, std::uint64_t place) {
    std::string sequence = id.substr(0, 1);
    index.add({.id = std::move(id), .text = std::move(text), .sequence = std::move(sequence), .place = place})
        .value();
  };
  add("s1", "The harbour is old.", 1);
  add("same", "We walked there.", 2);
  add("s3", "The harbour is deep.", 3);
  add("o1", "The harbour is old.", 1);
  add("other", "We walked there.", 2);
  add("o3", "The lighthouse is tall.", 3);
  add("l", "The lighthouse is red.", 1);
  const std::vector<std::string> found = ids(index.search({.text = "harbour lighthouse"}));
  EXPECT_LT(std::ranges::find(found, "other"), std::ranges::find(found, "same"));
}

TEST(AskedPieces, AreTheWholeThenQuestionsThenTheLastSentences) {
  EXPECT_THAT(pieces_of("Where do I live?"), ElementsAre("Where do I live?"));
  const std::string message = "Hello! I moved in May. My dog came too. It was hot. Where do I live? Thanks.";
  EXPECT_THAT(pieces_of(message),
              ElementsAre(message, "Where do I live?", "It was hot.", "My dog came too."));
}

TEST(HybridIndex, WhatSomebodyWonIsNoSmallWord) {
  HybridIndex index;
  index.add({.id = "lost", .text = "I lost the tournament."}).value();
  index.add({.id = "won", .text = "I won the tournament."}).value();
  EXPECT_EQ(index.search({.text = "Which tournament was won?"}).front().id, "won");
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

// What was said in a language, and the question that one of the lines answers.
struct Said {
  const char* name;
  std::vector<std::string> lines;
  std::string question;
  std::size_t answer;
};

class LanguageTest : public ::testing::TestWithParam<Said> {};

TEST_P(LanguageTest, OtherFormsOfAWordAreFound) {
  HybridIndex index;
  for (std::size_t i = 0; i < GetParam().lines.size(); ++i) {
    index.add({.id = std::to_string(i), .text = GetParam().lines[i]}).value();
  }
  const auto found = index.search({.text = GetParam().question});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().id, std::to_string(GetParam().answer));
}

INSTANTIATE_TEST_SUITE_P(
    All, LanguageTest,
    ::testing::Values(
        Said{"German",
             {"Ich habe gestern die Wohnungen in der Altstadt besichtigt.",
              "Meine Schwester hat zwei Katzen und einen Hund.",
              "Wir haben den Keller aufgeräumt und die Fahrräder verkauft."},
             "Wer hat eine Katze?",
             1},
        Said{"GermanStopWords",
             {"Das ist nicht das, was ich mit der Sache und den anderen meinte.",
              "Die Rechnungen liegen auf dem Tisch."},
             "Wo ist die Rechnung, die ich mit der Post bekam?",
             1},
        Said{"Spanish",
             {"Ayer compramos unas manzanas en el mercado.", "Mi hermano canta en un coro los domingos.",
              "Las reuniones del equipo son los lunes por la tarde."},
             "¿Cuándo es la reunión?",
             2},
        Said{"SpanishEndings",
             {"Las canciones de mi abuela son muy bonitas.", "Me gusta caminar por la playa."},
             "¿Qué canción te gusta?",
             0},
        Said{"French",
             {"Nous avons visité les musées de la ville.", "Je travaille dans une librairie à Lyon.",
              "Les enfants jouaient dans le jardin avec leurs voisins."},
             "Qui joue dans le jardin de la voisine ?",
             2},
        Said{"Chinese",
             {"我姐姐住在里斯本。", "我每天早上喝绿茶。", "他的汽车是红色的。"},
             "谁喝茶？绿茶好吗？",
             1},
        Said{"ChinesePairs", {"我们在大学学习数学。", "大家学到很多，数一数。"}, "学习数学", 0},
        Said{"Japanese", {"昨日、すしを食べました。", "犬が公園で走りました。"}, "公園の犬はどこ？", 1},
        Said{"Korean", {"저는 서울에 삽니다.", "고양이가 물을 마십니다."}, "고양이는 무엇을 마십니까?", 1}),
    [](const ::testing::TestParamInfo<Said>& info) { return info.param.name; });

TEST(Language, IsToldByItsSmallWords) {
  const auto told = [](std::string_view text) { return language_of(folded_words(text)); };
  EXPECT_EQ(told("Wo wohnt Anna?"), Language::kGerman);
  EXPECT_EQ(told("¿Dónde vive Ana?"), Language::kSpanish);
  EXPECT_EQ(told("Où habite Anne ?"), Language::kFrench);
  EXPECT_EQ(told("Where does Anna live?"), Language::kEnglish);
  EXPECT_EQ(told("We drove from Las Vegas to Los Angeles and then to La Paz"), Language::kEnglish);
  EXPECT_EQ(told("I watched Die Hard, it was in German"), Language::kEnglish);
  EXPECT_EQ(told("Lisboa"), std::nullopt);
  EXPECT_EQ(told(""), std::nullopt);
}

TEST(HybridIndex, LanguagesLiveBesideEachOther) {
  HybridIndex index;
  index.add({.id = "en", .text = "The meetings of the team are on Mondays."}).value();
  index.add({.id = "de", .text = "Die Sitzungen des Teams sind immer am Montag."}).value();
  EXPECT_EQ(index.search({.text = "When is the meeting?"}).front().id, "en");
  EXPECT_EQ(index.search({.text = "Wann ist die Sitzung?"}).front().id, "de");
  EXPECT_EQ(index.search({.text = "Sitzung"}).front().id, "de") << "one word tells no language";
}

TEST(HybridIndex, WordsThatHaveToDoWithTheQuestionCountLess) {
  HybridIndex index;
  index.add({.id = "dog", .text = "We walked the dog along the river."}).value();
  index.add({.id = "car", .text = "We washed the car along the road."}).value();
  index.add({.id = "pet", .text = "Every pet along the coast is welcome."}).value();
  EXPECT_THAT(ids(index.search({.text = "Which pets?", .top_k = 2})), ElementsAre("pet", "dog"));
  EXPECT_THAT(ids(index.search({.text = "Which pets?", .related = false})), ElementsAre("pet"));
}

TEST(HybridIndex, LastWeekIsCountedFromWhenItIsAsked) {
  HybridIndex index;
  index.add({.id = "old", .text = "We went hiking.", .time = day(2023, 5, 1)}).value();
  index.add({.id = "new", .text = "We went hiking.", .time = day(2023, 6, 7)}).value();
  EXPECT_EQ(index.search({.text = "Who went hiking last week?", .now = day(2023, 6, 14)}).front().id, "new");
  EXPECT_EQ(index.search({.text = "Who went hiking last month?", .now = day(2023, 6, 14)}).front().id, "old");
}

TEST(DateMention, IsReadAsSeenFromToday) {
  // A Wednesday.
  const Time now = day(2023, 6, 14);
  const auto fits = [&](std::string_view text, Time time) {
    const auto mention = relative_date_in(folded_words(text), now);
    return mention ? mention->fit(time) : -1;
  };
  EXPECT_EQ(fits("yesterday", day(2023, 6, 13)), 2);
  EXPECT_EQ(fits("yesterday", day(2023, 6, 12)), 0);
  EXPECT_EQ(fits("last week", day(2023, 6, 5)), 1);
  EXPECT_EQ(fits("last week", day(2023, 6, 11)), 1);
  EXPECT_EQ(fits("last week", day(2023, 6, 12)), 0);
  EXPECT_EQ(fits("this month", day(2023, 6, 1)), 1);
  EXPECT_EQ(fits("last month", day(2023, 5, 31)), 1);
  EXPECT_EQ(fits("last year", day(2022, 1, 1)), 1);
  EXPECT_EQ(fits("two days ago", day(2023, 6, 12)), 2);
  EXPECT_EQ(fits("a couple of weeks ago", day(2023, 5, 30)), 1);
  EXPECT_EQ(fits("3 months ago", day(2023, 3, 20)), 1);
  EXPECT_EQ(fits("at last", day(2023, 6, 13)), -1);
}

TEST(DateMention, IsReadInOtherLanguages) {
  EXPECT_EQ(date_in(folded_words("am 8. Mai 2023"), Language::kGerman), (DateMention{2023, 5, 8}));
  EXPECT_EQ(date_in(folded_words("el 3 de marzo de 2022"), Language::kSpanish), (DateMention{2022, 3, 3}));
  EXPECT_EQ(date_in(folded_words("en août 2021"), Language::kFrench), (DateMention{2021, 8, std::nullopt}));
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
