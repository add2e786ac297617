// What each setting of an agent's memory changes in what a turn is shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_env.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/memory/knowledge_source.h"
#include "tertulia/memory/memory.h"
#include "tertulia/store/episode_store.h"
#include "tertulia/store/memory_store.h"

#include "talk_maker.h"

namespace tertulia {
namespace memory_config_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class MemoryConfigTest : public ::testing::Test {
 protected:
  SimEnv env{1};
  std::shared_ptr<Store> store = open_memory_store();
  std::shared_ptr<const Tokenizer> tokenizer = estimating_tokenizer();
  trial::TalkMaker maker{*tokenizer};
  std::shared_ptr<SemanticMemory> semantic = std::make_shared<SemanticMemory>(*store, env, static_embedder());
  std::unique_ptr<Memory> memory = std::make_unique<Memory>(store, env);
  const MemoryWriter writer{.kind = WriterKind::kUser, .name = "ada"};
  MemoryConfig config;

  MemoryConfigTest() { memory->add_source(knowledge_source(semantic, store)); }

  static SessionKey key(const std::string& session = "now") {
    return {TenantId::parse("t").value(), OwnerId::parse("ada").value(), SessionId::parse(session).value()};
  }
  static AgentId agent() { return AgentId::parse("helper").value(); }

  void talk(const std::string& session, std::string_view said) {
    const Time now = env.clock().now();
    Session made;
    made.created_at = now;
    TurnDraft draft{TurnId(UuidMaker(env.clock(), env.random()).make())};
    draft.add(maker.say(Role::kUser, said)).value();
    draft.add(maker.say(Role::kAssistant, "I see.", "helper")).value();
    commit(*store, {.key = key(session),
                    .expected = std::nullopt,
                    .conditions = {},
                    .changes = {PutSession{made},
                                PutBranch{{.id = main_branch(), .created_at = now, .last_activity = now}},
                                AppendTurn{.branch = main_branch(), .turn = Turn::seal(draft).value()}},
                    .time = now})
        .value();
  }
  void know(std::string text) {
    semantic->remember(user_collection(key().tenant, key().owner).value(), {.text = std::move(text)}, writer)
        .value();
  }

  std::vector<ContextItem> recall(std::string question, Tier tier) {
    std::vector<ContextItem> all;
    const ContextRequest request{.key = key(),
                                 .branch = main_branch(),
                                 .agent = agent(),
                                 .question = std::move(question),
                                 .config = config,
                                 .cancel = {}};
    for (const auto& source : memory->sources()) {
      for (ContextItem& item : source->retrieve(request).value()) {
        if (item.tier == tier) all.push_back(std::move(item));
      }
    }
    return all;
  }
  std::size_t shown(const std::string& question, Tier tier) {
    const std::vector<ContextItem> items = recall(question, tier);
    return static_cast<std::size_t>(std::count_if(items.begin(), items.end(), [](const ContextItem& item) {
      return item.reason == FateReason::kFits;
    }));
  }
};

class EpisodeConfigTest : public MemoryConfigTest {
 protected:
  const std::string question = "Which walks does my dog like?";

  EpisodeConfigTest() {
    for (const std::string session : {"first", "second", "third", "fourth"}) {
      talk(session, "My dog likes long walks by the river, said on the " + session + " day.");
      memory->close(key(session), EndReason::kUserClosed).value();
      env.sim_clock().advance(std::chrono::hours(24));
    }
    talk("taxes", "The tax return is due in May.");
    memory->close(key("taxes"), EndReason::kUserClosed).value();
  }
};

TEST_F(EpisodeConfigTest, EpisodicEnabledAndTopK) {
  EXPECT_EQ(shown(question, Tier::kEpisode), 3U);
  config.episodic_top_k = 1;
  EXPECT_EQ(shown(question, Tier::kEpisode), 1U);
  config.episodic_top_k = 0;
  EXPECT_EQ(shown(question, Tier::kEpisode), 0U);
  config.episodic_top_k = 3;
  config.episodic_enabled = false;
  EXPECT_EQ(shown(question, Tier::kEpisode), 0U);
}

TEST_F(EpisodeConfigTest, EpisodicRecall) {
  config.episodic_top_k = 1;
  EXPECT_THAT(recall(question, Tier::kEpisode).at(0).text, HasSubstr("walks"));
  config.episodic_recall = RecallMode::kRecency;
  EXPECT_THAT(recall(question, Tier::kEpisode).at(0).text, HasSubstr("tax return"));
}

TEST_F(EpisodeConfigTest, EpisodicRetentionDays) {
  config.episodic_top_k = 1;
  EXPECT_THAT(recall(question, Tier::kEpisode).at(0).text, HasSubstr("\n> "));
  env.sim_clock().advance(std::chrono::hours(24 * 10));
  config.episodic_retention_days = 7;
  EXPECT_THAT(recall(question, Tier::kEpisode).at(0).text, Not(HasSubstr("\n> ")));
}

TEST_F(EpisodeConfigTest, EpisodicDeleteDays) {
  env.sim_clock().advance(std::chrono::hours(24 * 10));
  AgentSpec spec{.memory = {.episodic_retention_days = 3, .episodic_delete_days = 12}};
  RuleBook book{.agents = {{"helper", rules_of(spec)}}};
  const ReapReport report = memory->reap(book).value();
  EXPECT_EQ(report.deleted, 2U) << "of the first and the second day";
  EXPECT_EQ(report.archived, 3U);
  EXPECT_THAT(memory->episodic().list(key().tenant, key().owner).value(), SizeIs(3));
}

TEST_F(MemoryConfigTest, EpisodicPiiDetection) {
  talk("s", "My mail is ada@example.org, please write to me.");
  AgentSpec spec{.memory = {.episodic_pii_detection = true}};
  memory->close(key("s"), EndReason::kUserClosed, rules_of(spec)).value();
  EXPECT_THAT(to_json(list_episodes(*store, key("s")).value().at(0)), Not(HasSubstr("ada@example")));
  // Nor are its lines quoted with it.
  EXPECT_THAT(recall("What is my mail?", Tier::kEpisode).at(0).text, HasSubstr("ada@example"));
  config = spec.memory;
  EXPECT_THAT(recall("What is my mail?", Tier::kEpisode).at(0).text,
              AllOf(HasSubstr("\n> "), Not(HasSubstr("ada@example"))));
}

TEST_F(MemoryConfigTest, SemanticEnabledTopKAndMinScore) {
  for (int i = 0; i < 8; ++i) know("The number " + std::to_string(i) + " tram goes to the harbour");
  const std::string question = "Which tram goes to the harbour?";
  config.semantic_min_score = 0.3;
  EXPECT_EQ(shown(question, Tier::kKnowledge), 5U);
  config.semantic_top_k = 2;
  EXPECT_EQ(shown(question, Tier::kKnowledge), 2U);
  config.semantic_min_score = 1;
  EXPECT_EQ(shown("Where is the tram?", Tier::kKnowledge), 0U);
  EXPECT_EQ(recall("Where is the tram?", Tier::kKnowledge).at(0).reason, FateReason::kLowScore);
  config.semantic_min_score = 0;
  config.semantic_enabled = false;
  EXPECT_THAT(recall(question, Tier::kKnowledge), IsEmpty());
}

TEST_F(MemoryConfigTest, AQuestionDoesNotDrownInAMessageOfSeveralSentences) {
  for (const char* text : {"I am allergic to peanuts", "I live in Madrid", "My dog is called Rex",
                           "I work as a nurse", "My sister lives in Berlin", "I drive an old Volvo"}) {
    know(text);
  }
  talk("trip", "We want to see the caves of Altamira in spring.");
  memory->close(key("trip"), EndReason::kUserClosed).value();
  const std::string dinner = "Hi, can you help me plan dinner for tonight with some friends? ";
  EXPECT_EQ(shown(dinner, Tier::kKnowledge), 0U);
  for (const bool hybrid : {false, true}) {
    config.semantic_hybrid = hybrid;
    const std::vector<ContextItem> found =
        recall(dinner + "We will be nine. What am I allergic to? Thank you!", Tier::kKnowledge);
    EXPECT_THAT(found.at(0).text, HasSubstr("peanuts"));
    EXPECT_EQ(found.at(0).reason, FateReason::kFits) << found.at(0).score;
  }
  const std::string caves = dinner + "Tom brings his guitar. Which caves did we want to see in spring?";
  EXPECT_THAT(recall(caves, Tier::kEpisode).at(0).text, HasSubstr("Altamira"));
}

TEST_F(MemoryConfigTest, SemanticHybrid) {
  know(
      "Ticket 4711 was closed by the harbour master after a long debate about money, boats, weather, dinner "
      "and the new paint of the old lighthouse");
  config.semantic_min_score = 0.5;
  EXPECT_EQ(shown("4711", Tier::kKnowledge), 0U) << "a number means little";
  config.semantic_hybrid = true;
  EXPECT_EQ(shown("4711", Tier::kKnowledge), 1U);
}

TEST_F(MemoryConfigTest, SemanticRerank) {
  // The words of the question, once all over the text and once in one sentence; the first is nearer.
  know("The boat is red. A harbour has two gates. The gates close. At nine it gets dark");
  know("In our town the harbour gates close at nine and open at six in the morning");
  config.semantic_min_score = 0;
  const auto order = [&] {
    std::vector<std::string> first;
    for (const ContextItem& item : recall("harbour gates close nine", Tier::kKnowledge))
      first.push_back(item.text.substr(0, 6));
    return first;
  };
  const std::vector<std::string> before = order();
  config.semantic_rerank = true;
  EXPECT_THAT(order(), ElementsAre("In our", "The bo"));
  EXPECT_THAT(before, ElementsAre("The bo", "In our")) << "or this test shows nothing";
}

TEST_F(MemoryConfigTest, ProceduralEnabledAndMinScore) {
  memory->procedural()
      .put(key().tenant, agent(),
           {.name = "refund",
            .description = "How to give customers their money back",
            .steps = {{.instruction = "Ask for the order."}},
            .approved = true},
           writer)
      .value();
  const std::string question = "How do we give customers their money back?";
  EXPECT_EQ(shown(question, Tier::kProcedure), 1U);
  config.procedural_min_score = 0.999;
  EXPECT_EQ(shown(question, Tier::kProcedure), 0U);
  config.procedural_min_score = 0.1;
  config.procedural_enabled = false;
  EXPECT_EQ(shown(question, Tier::kProcedure), 0U);
}

}  // namespace memory_config_test
}  // namespace tertulia
