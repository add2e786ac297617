#include "tertulia/memory/fact.h"

#include <iostream>
#include <numeric>

#include <gmock/gmock.h>

#include "tertulia/base/env.h"
#include "tertulia/base/uuid.h"
#include "tertulia/model/embedder.h"

#include "fact_pairs.h"

namespace tertulia {
namespace fact_test {

using enum FactRelation;

TEST(FactRelation, OtherWordsForTheSameAreTheSame) {
  EXPECT_EQ(relation_of("I live in Madrid", "My home is in Madrid", 0), kSame);
  EXPECT_EQ(relation_of("I live in Madrid", "The user currently lives in Madrid.", 0), kSame);
  EXPECT_EQ(relation_of("My dog is called Rex", "I have a dog named Rex", 0), kSame);
  EXPECT_EQ(relation_of("I am allergic to peanuts", "I have a peanut allergy", 0), kSame);
  EXPECT_EQ(relation_of("I work as a nurse", "My job is nursing", 0), kSame);
}

TEST(FactRelation, AnotherAnswerToTheSameQuestionContradicts) {
  EXPECT_EQ(relation_of("I live in Madrid", "I moved to Lisbon", 0), kContradicts);
  EXPECT_EQ(relation_of("My favourite colour is blue", "My favorite colour is green", 0), kContradicts);
  EXPECT_EQ(relation_of("I work at Acme", "I work at Initech now", 0), kContradicts);
  EXPECT_EQ(relation_of("I eat meat", "I do not eat meat", 0), kContradicts);
}

TEST(FactRelation, OtherPeopleAndOtherQuestionsAreUnrelated) {
  EXPECT_EQ(relation_of("I live in Madrid", "My sister lives in Paris", 0), kUnrelated);
  EXPECT_EQ(relation_of("My favourite colour is blue", "My favourite food is pizza", 0), kUnrelated);
  EXPECT_EQ(relation_of("I am allergic to peanuts", "I am allergic to cats", 0.7), kUnrelated);
  EXPECT_EQ(relation_of("I have a dog", "I have a car", 0.6), kUnrelated);
}

TEST(FactRelation, MeaningAloneNeverOverridesANameOrANumber) {
  EXPECT_EQ(relation_of("The meeting is with Anna", "The meeting is with Clara", 0.95), kUnrelated);
  EXPECT_EQ(relation_of("The code is 1234", "The code is 9876", 0.95), kContradicts);
}

TEST(FactRelation, ACorrectionIsNeverTakenForWhatIsKnown) {
  EXPECT_EQ(relation_of("My favorite color is green", "My favorite color is blue now", 0.95), kContradicts);
  EXPECT_NE(relation_of("I have two cats", "I have three cats", 0.95), kSame);
  EXPECT_NE(relation_of("The rent is due on the first Monday", "The rent is due on the last Monday", 0.97),
            kSame);
}

struct Judged {
  std::size_t contradict = 0;
  std::size_t same = 0;
  std::size_t all = 0;
};

// With the cosines that remember() would have.
template <std::size_t kCount>
void judge(const std::array<trial::FactPair, kCount>& pairs, bool expected, Judged& judged) {
  for (const auto& [known, told] : pairs) {
    const std::vector<Vector> vectors =
        embed(*static_embedder(), {std::string(known), std::string(told)}).value();
    const double cosine = std::inner_product(vectors[0].begin(), vectors[0].end(), vectors[1].begin(), 0.0);
    const FactRelation relation = relation_of(known, told, cosine);
    ++judged.all;
    judged.contradict += relation == kContradicts ? 1 : 0;
    judged.same += relation == kSame ? 1 : 0;
    if ((relation == kContradicts) != expected) std::cout << "missed: " << known << " | " << told << "\n";
  }
}

TEST(FactRelation, WhatPeopleTakeBackIsSupersededAndNothingElse) {
  Judged untrue;
  Judged unseen;
  Judged beside;
  judge(trial::kContradictions, true, untrue);
  judge(trial::kMoreContradictions, true, unseen);
  judge(trial::kBesideEachOther, false, beside);
  judge(trial::kMoreBesideEachOther, false, beside);
  ASSERT_GE(untrue.all, 60U);
  ASSERT_GE(beside.all, 90U);
  EXPECT_GE(untrue.contradict * 100, untrue.all * 95);
  EXPECT_GE(unseen.contradict * 100, unseen.all * 85);
  EXPECT_EQ(beside.contradict, 0U) << "something that still holds would be closed";
  EXPECT_EQ(untrue.same + unseen.same + beside.same, 0U) << "something that was said would be lost";
}

Message message(UuidMaker& ids, Role role, std::string_view text) {
  return Message::text(MessageId(ids.make()), role, text, Time{}).value();
}

TEST(RuleExtractor, TakesWhatUsersSayOfThemselves) {
  UuidMaker ids(real_env().clock(), real_env().random());
  const std::vector<Message> messages = {
      message(ids, Role::kUser, "Hi! I live in Madrid. Can you help me? My sister is called Eva."),
      message(ids, Role::kAssistant, "I am a helpful assistant. My name is Botty."),
      message(ids, Role::kUser, "My question: what is my name?")};
  const auto facts = rule_extractor()->extract(messages).value();
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_EQ(facts[0].text, "I live in Madrid");
  EXPECT_EQ(facts[1].text, "My sister is called Eva");
  EXPECT_THAT(facts[0].sources, ::testing::ElementsAre(messages[0].id()));
}

}  // namespace fact_test
}  // namespace tertulia
