#include "tertulia/memory/model_extractor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_env.h"
#include "tertulia/base/uuid.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/memory/model_summariser.h"
#include "tertulia/model/scripted_model.h"
#include "tertulia/store/memory_store.h"

namespace tertulia {
namespace model_extractor_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class ModelExtractorTest : public ::testing::Test {
 protected:
  SimEnv env{1};
  UuidMaker ids{env.clock(), env.random()};
  std::unique_ptr<Store> store = open_memory_store();
  SemanticMemory memory{*store, env, static_embedder()};
  CollectionId mine = user_collection(TenantId::parse("t").value(), OwnerId::parse("ada").value()).value();
  MemoryWriter writer{.kind = WriterKind::kUser, .name = "ada"};
  std::vector<Message> messages;
  std::shared_ptr<ScriptedModel> model = scripted_model({});

  ModelExtractorTest() {
    add(Role::kUser, "We moved to Lisbon last spring, the weather is great.");
    add(Role::kAssistant, "Lisbon is lovely. I am a robot.");
    add(Role::kUser, "Rex, the dog, likes it as well.");
  }
  void add(Role role, std::string_view text) {
    messages.push_back(Message::text(MessageId(ids.make()), role, text, env.clock().now()).value());
  }
  std::unique_ptr<FactExtractor> extractor(ExtractionBudget budget = {}) {
    return model_extractor(model, "m", budget);
  }
};

TEST_F(ModelExtractorTest, WhatTheModelFoundIsRememberedWithWhereItWasSaid) {
  model->add(ModelStep()
                 .expect([](const ModelRequest& request) -> Result<void> {
                   for (const Message& message : request.view) {
                     if (message.text_content().find("robot") != std::string::npos) {
                       return Error(ErrorCode::kNotPermitted, "it was shown what the assistant said");
                     }
                   }
                   return {};
                 })
                 .say("```json\n[{\"fact\": \"I live in Lisbon\", \"from\": [1]},"
                      "{\"fact\": \"My dog is called Rex\", \"from\": [2]}]\n```"));
  const auto found = extractor();
  EXPECT_THAT(remember_from(memory, mine, *found, messages, writer).value(), SizeIs(2));
  const std::vector<Fact> facts = memory.facts(mine).value();
  ASSERT_THAT(facts, SizeIs(2));
  EXPECT_EQ(facts[0].text, "I live in Lisbon");
  EXPECT_THAT(facts[0].sources, ElementsAre(messages[0].id()));
  EXPECT_THAT(facts[1].sources, ElementsAre(messages[2].id()));
}

TEST_F(ModelExtractorTest, AnAnswerThatIsNotWhatWasAskedForChangesNothing) {
  for (const std::string answer :
       {"I found nothing.", "[{\"fact\": \"I live in Lisbon\"",
        "[{\"fact\": \"I live in Lisbon\", \"from\": [7]}]", "[{\"fact\": \"I live in Lisbon\"}]",
        "[{\"fact\": \"I live in Lisbon\", \"from\": [1]}, 3]", "[{\"fact\": 5, \"from\": [1]}]"}) {
    model->add(ModelStep().say(answer));
    const auto found = extractor();
    EXPECT_EQ(remember_from(memory, mine, *found, messages, writer).error().code(), ErrorCode::kBadStream)
        << answer;
  }
  model->add(ModelStep().say("[{\"fact\": \"I live in Lisbon\", \"from\": [1]}]").finish(Finish::kLength));
  EXPECT_EQ(extractor()->extract(messages).error().code(), ErrorCode::kBadStream);
  model->add(ModelStep().fail(ErrorCode::kModelUnavailable, "down"));
  EXPECT_EQ(extractor()->extract(messages).error().code(), ErrorCode::kModelUnavailable);
  EXPECT_THAT(memory.facts(mine).value(), IsEmpty());
}

TEST_F(ModelExtractorTest, NoCallIsMadeBeyondTheBudget) {
  model->add(ModelStep().say("[]"));
  const auto once = extractor({.calls = 1});
  EXPECT_TRUE(once->extract(messages).ok());
  const Result<std::vector<NewFact>> twice = once->extract(messages);
  EXPECT_EQ(twice.error().code(), ErrorCode::kLimitReached);
  EXPECT_THAT(twice.error().message(), HasSubstr("1 times"));
  EXPECT_EQ(extractor({.tokens = Tokens{520}})->extract(messages).error().code(), ErrorCode::kLimitReached);
  EXPECT_TRUE(model->check().ok()) << "nobody was asked a second time";
}

TEST_F(ModelExtractorTest, WithoutWordsOfAUserNobodyIsAsked) {
  EXPECT_THAT(extractor()->extract(std::span(messages).subspan(1, 1)).value(), IsEmpty());
  EXPECT_TRUE(model->check().ok());
}

TEST_F(ModelExtractorTest, AnEpisodeIsToldByAModelOrByWhatWasSaid) {
  EpisodicMemory episodes(*store, env, static_embedder());
  episodes.set_summariser(model_summariser(model, "m"));
  const SessionKey key{mine.tenant, mine.owner, SessionId::parse("s").value()};
  Session session;
  BranchHead main{.id = main_branch()};
  commit(*store, {.key = key,
                  .expected = std::nullopt,
                  .conditions = {},
                  .changes = {PutSession{session}, PutBranch{main}},
                  .time = env.clock().now()})
      .value();
  const auto summary = [&] {
    const auto record = episodes.record_of_span(key, main, EndReason::kUserClosed, false, messages).value();
    return parse_form<Episode>(record->payload).value().summary;
  };
  model->add(ModelStep().say("The family moved to Lisbon with their dog Rex."));
  EXPECT_EQ(summary(), "The family moved to Lisbon with their dog Rex.");
  model->add(ModelStep().fail(Error(ErrorCode::kModelUnavailable, "busy")));
  EXPECT_THAT(summary(), HasSubstr("We moved to Lisbon last spring"));
}

TEST_F(ModelExtractorTest, ASummaryIsMadeOfWhatFitsItsBudget) {
  model->add(ModelStep()
                 .expect([](const ModelRequest& request) -> Result<void> {
                   std::string all;
                   for (const Message& message : request.view) all += message.text_content();
                   if (all.find("Rex, the dog") != std::string::npos &&
                       all.find("spring") == std::string::npos)
                     return {};
                   return Error(ErrorCode::kTooLarge, "the newest was to be shown: " + all);
                 })
                 .say("About Rex."));
  EXPECT_EQ(model_summariser(model, "m", {.input = Tokens{12}})(messages).value(), "About Rex.");
}

}  // namespace model_extractor_test
}  // namespace tertulia
