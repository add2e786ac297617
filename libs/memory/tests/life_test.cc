// How sessions end, what is left of them, and how it is recalled.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_env.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/memory/knowledge_source.h"
#include "tertulia/memory/lifecycle.h"
#include "tertulia/memory/memory.h"
#include "tertulia/memory/overlay.h"
#include "tertulia/store/episode_store.h"
#include "tertulia/store/memory_store.h"

#include "counting_store.h"
#include "talk_maker.h"

namespace tertulia {
namespace life_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class LifeTest : public ::testing::Test {
 protected:
  SimEnv env{1};
  std::shared_ptr<Store> store = open_memory_store();
  std::shared_ptr<const Tokenizer> tokenizer = estimating_tokenizer();
  trial::TalkMaker maker{*tokenizer};
  std::unique_ptr<Memory> memory = std::make_unique<Memory>(store, env);

  static SessionKey key(const std::string& session, const std::string& owner = "ada") {
    return {TenantId::parse("t").value(), OwnerId::parse(owner).value(), SessionId::parse(session).value()};
  }

  // A turn, as an engine would commit it.
  void say(const SessionKey& where, std::string_view question, std::string_view answer,
           std::string_view agent = {}) {
    const Time now = env.clock().now();
    if (!load(*store, where)) {
      Session session;
      session.created_at = now;
      commit(*store, {.key = where,
                      .expected = std::nullopt,
                      .conditions = {},
                      .changes = {PutSession{session},
                                  PutBranch{{.id = main_branch(), .created_at = now, .last_activity = now}}},
                      .time = now})
          .value();
    }
    TurnDraft draft{TurnId(UuidMaker(env.clock(), env.random()).make())};
    draft.add(maker.say(Role::kUser, question)).value();
    draft.add(maker.say(Role::kAssistant, answer, agent)).value();
    SessionState state = load(*store, where).value();
    std::vector<Change> changes;
    if (state.session.status == SessionStatus::kClosed) {
      state.session.status = SessionStatus::kActive;
      state.session.end_reason.reset();
      changes.emplace_back(PutSession{state.session});
    }
    changes.emplace_back(AppendTurn{.branch = main_branch(), .turn = Turn::seal(std::move(draft)).value()});
    commit(*store, {.key = where,
                    .expected = state.session.revision,
                    .conditions = {},
                    .changes = std::move(changes),
                    .time = now})
        .value();
  }
  Session session(const SessionKey& where) { return load(*store, where).value().session; }
};

TEST_F(LifeTest, AClosedSessionLeavesAnEpisodeOfWhatWasSaid) {
  say(key("s"), "I have a dog called Rex.", "Nice to meet Rex.");
  say(key("s"), "My sister lives in Lisbon.", "Lisbon is lovely.");
  const CloseReport report = memory->close(key("s"), EndReason::kUserClosed).value();
  EXPECT_TRUE(report.closed);
  EXPECT_EQ(session(key("s")).status, SessionStatus::kClosed);
  EXPECT_EQ(session(key("s")).end_reason, EndReason::kUserClosed);
  const std::vector<Episode> episodes = list_episodes(*store, key("s")).value();
  ASSERT_THAT(episodes, SizeIs(1));
  EXPECT_EQ(episodes[0].span, (MessageSpan{0, 3}));
  EXPECT_EQ(episodes[0].message_count, 4U);
  EXPECT_EQ(episodes[0].turn_count, 2U);
  EXPECT_EQ(episodes[0].end_reason, EndReason::kUserClosed);
  EXPECT_THAT(episodes[0].summary, HasSubstr("Rex"));
  EXPECT_EQ(episodes[0].key_facts,
            (std::vector<std::string>{"I have a dog called Rex.", "My sister lives in Lisbon."}));
  EXPECT_FALSE(episodes[0].embedding.empty());
}

TEST_F(LifeTest, AnEpisodeDoesNotQuoteAnswersThatRepeatWhatWasSaid) {
  const std::string about_itself =
      "I am a model that keeps the words of people and quotes the words of people.";
  say(key("s"), "My dog Rex loves the beach.", "Noted: \"My dog Rex loves the beach.\" " + about_itself);
  say(key("s"), "I moved to Lisbon last week.", "Noted: \"I moved to Lisbon last week.\"");
  say(key("s"), "The harbour is noisy.", "You said: \"The harbour is noisy.\" I cannot answer that.");
  say(key("s"), "Rex barks at gulls.", "Gulls are loud.");
  memory->close(key("s"), EndReason::kUserClosed).value();
  EXPECT_EQ(list_episodes(*store, key("s")).value().at(0).summary,
            "My dog Rex loves the beach. I moved to Lisbon last week. The harbour is noisy. Rex barks at "
            "gulls.");
  const EpisodeQuery query{
      .tenant = key("x").tenant, .owner = key("x").owner, .question = "Where does my dog Rex like to go?"};
  const std::vector<RecalledEpisode> recalled = memory->episodic().recall(query).value();
  EXPECT_THAT(recalled.at(0).quotes, Not(IsEmpty()));
  EXPECT_THAT(recalled.at(0).quotes, Not(testing::Contains(HasSubstr("Noted"))));
}

TEST_F(LifeTest, ClosingTwiceLeavesOneEpisode) {
  say(key("s"), "Hello", "Hi");
  EXPECT_TRUE(memory->close(key("s"), EndReason::kUserClosed).value().closed);
  EXPECT_FALSE(memory->close(key("s"), EndReason::kUserClosed).value().closed);
  EXPECT_THAT(list_episodes(*store, key("s")).value(), SizeIs(1));
}

TEST_F(LifeTest, ASessionThatGoesOnBeginsANewEpisode) {
  say(key("s"), "Hello", "Hi");
  memory->close(key("s"), EndReason::kUserClosed).value();
  env.sim_clock().advance(std::chrono::hours(1));
  say(key("s"), "I am back.", "Welcome back.");
  memory->close(key("s"), EndReason::kError).value();
  const std::vector<Episode> episodes = list_episodes(*store, key("s")).value();
  ASSERT_THAT(episodes, SizeIs(2));
  EXPECT_EQ(episodes[1].span, (MessageSpan{2, 3}));
  EXPECT_EQ(episodes[1].end_reason, EndReason::kError);
}

TEST_F(LifeTest, TheReaperClosesWhatIsIdleOfEveryTenantAndNothingElse) {
  say(key("old"), "Hello", "Hi");
  SessionKey other = key("other");
  other.tenant = TenantId::parse("u").value();
  say(other, "Hello", "Hi");
  env.sim_clock().advance(std::chrono::minutes(20));
  say(key("young"), "Hello", "Hi");
  env.sim_clock().advance(std::chrono::minutes(15));
  const ReapReport report = memory->reap().value();
  EXPECT_THAT(report.idle, SizeIs(2));
  EXPECT_EQ(report.episodes, 2U);
  EXPECT_EQ(session(key("old")).end_reason, EndReason::kIdleTimeout);
  EXPECT_EQ(session(other).end_reason, EndReason::kIdleTimeout);
  EXPECT_EQ(session(key("young")).status, SessionStatus::kActive);
  EXPECT_THAT(memory->reap().value().idle, IsEmpty());
}

TEST_F(LifeTest, TheReaperWorksAfterARestart) {
  say(key("s"), "Hello", "Hi");
  memory.reset();
  env.sim_clock().advance(std::chrono::hours(1));
  memory = std::make_unique<Memory>(store, env);
  EXPECT_THAT(memory->reap().value().idle, SizeIs(1));
}

TEST_F(LifeTest, OfManyReapersOneClosesEachSession) {
  constexpr std::size_t kSessions = 40;
  for (std::size_t i = 0; i < kSessions; ++i) say(key("s" + std::to_string(i)), "Hello", "Hi");
  env.sim_clock().advance(std::chrono::hours(1));
  std::atomic<std::size_t> closed = 0;
  std::atomic<std::size_t> failed = 0;
  std::vector<std::thread> reapers;
  for (int i = 0; i < 4; ++i) {
    reapers.emplace_back([&] {
      // As another process would: with nothing in common but the store.
      SimEnv own{2};
      own.sim_clock().advance(env.clock().now() - own.clock().now());
      const ReapReport report = Memory(store, own).reap().value();
      closed += report.idle.size();
      failed += report.failed;
    });
  }
  for (std::thread& reaper : reapers) reaper.join();
  EXPECT_EQ(closed, kSessions);
  EXPECT_EQ(failed, 0U);
  EXPECT_THAT(memory->episodic().list(key("x").tenant, key("x").owner).value(), SizeIs(kSessions));
}

TEST_F(LifeTest, ASessionThatLastsTooLongEndsThoughItIsInUse) {
  for (int hour = 0; hour < 9; ++hour) {
    say(key("s"), "Still here", "So am I");
    env.sim_clock().advance(std::chrono::minutes(59));
  }
  say(key("s"), "Still here", "So am I");
  const ReapReport report = memory->reap().value();
  EXPECT_THAT(report.too_long, SizeIs(1));
  EXPECT_EQ(session(key("s")).end_reason, EndReason::kMaxDuration);
  // What goes on afterwards is counted from then.
  env.sim_clock().advance(std::chrono::minutes(1));
  say(key("s"), "Back again", "Hello again");
  EXPECT_THAT(memory->reap().value().too_long, IsEmpty());
}

TEST_F(LifeTest, ASessionWithAnOpenTurnIsNotClosed) {
  say(key("s"), "Hello", "Hi");
  note(*store, {.key = key("s"),
                .conditions = {},
                .changes = {AddRecord{{.stream = {.kind = RecordKind::kJournal, .branch = main_branch()},
                                       .number = 1,
                                       .time = env.clock().now(),
                                       .payload = "{}"}}}})
      .value();
  EXPECT_EQ(memory->close(key("s"), EndReason::kUserClosed).error().code(), ErrorCode::kTurnRunning);
  env.sim_clock().advance(std::chrono::hours(2));
  EXPECT_EQ(memory->reap().value().busy, std::vector{key("s")});
  EXPECT_EQ(session(key("s")).status, SessionStatus::kActive);
}

TEST_F(LifeTest, EpisodesAreRecalledByMeaningByRecencyAndNeverAcrossOwners) {
  say(key("dogs"), "My dog Rex loves the beach.", "Dogs love water.");
  memory->close(key("dogs"), EndReason::kUserClosed).value();
  env.sim_clock().advance(std::chrono::hours(24));
  say(key("taxes"), "I need help with my tax return.", "Which form do you use?");
  memory->close(key("taxes"), EndReason::kUserClosed).value();
  say(key("secret", "bob"), "My dog is called Secret.", "Good name.");
  memory->close(key("secret", "bob"), EndReason::kUserClosed).value();
  EpisodeQuery query{
      .tenant = key("x").tenant, .owner = key("x").owner, .question = "Where does my dog like to go?"};
  const std::vector<RecalledEpisode> near = memory->episodic().recall(query).value();
  ASSERT_THAT(near, Not(IsEmpty()));
  EXPECT_EQ(near[0].episode.session.text(), "dogs");
  ASSERT_THAT(near[0].quotes, Not(IsEmpty()));
  EXPECT_THAT(near[0].quotes[0], HasSubstr("Rex"));
  for (const RecalledEpisode& one : near) EXPECT_NE(one.episode.session.text(), "secret");
  query.mode = RecallMode::kRecency;
  query.top_k = 1;
  EXPECT_EQ(memory->episodic().recall(query).value().at(0).episode.session.text(), "taxes");
  query.session = SessionId::parse("dogs").value();
  EXPECT_EQ(memory->episodic().recall(query).value().at(0).episode.session.text(), "dogs");
}

TEST_F(LifeTest, EpisodesOfThoseWhoWereHereLastAreHeldInRamAndOthersAreReadAgain) {
  CountingStore counting(*store);
  EpisodicMemory episodes(counting, env, nullptr);
  const auto reads_for = [&](int guest) {
    const std::size_t before = counting.reads;
    episodes.list(key("s").tenant, OwnerId::parse("guest" + std::to_string(guest)).value()).value();
    return counting.reads - before;
  };
  for (int guest = 0; guest < 5'000; ++guest) EXPECT_EQ(reads_for(guest), 2U);
  EXPECT_EQ(reads_for(4'999), 1U) << "whether there is something new is looked up each time";
  EXPECT_EQ(reads_for(0), 2U);
}

TEST_F(LifeTest, EpisodesGoWhenTheirTimeIsOver) {
  say(key("s"), "Hello", "Hi");
  memory->close(key("s"), EndReason::kUserClosed).value();
  env.sim_clock().advance(std::chrono::hours(24 * 100));
  EXPECT_EQ(memory->reap().value().archived, 1U);
  EXPECT_TRUE(list_episodes(*store, key("s")).value().at(0).archived);
  EXPECT_EQ(memory->reap().value().archived, 0U) << "once is enough";
  env.sim_clock().advance(std::chrono::hours(24 * 300));
  EXPECT_EQ(memory->reap().value().deleted, 1U);
  EXPECT_THAT(list_episodes(*store, key("s")).value(), IsEmpty());
}

TEST_F(LifeTest, AnArchivedEpisodeIsRecalledAndNoLongerQuoted) {
  say(key("s"), "My dog Rex loves the beach.", "Dogs love water.");
  const EpisodeId id = memory->close(key("s"), EndReason::kUserClosed).value().episodes.at(0);
  const EpisodeQuery query{
      .tenant = key("x").tenant, .owner = key("x").owner, .question = "Where does my dog like to go?"};
  ASSERT_THAT(memory->episodic().recall(query).value().at(0).quotes, Not(IsEmpty()));
  memory->episodic().archive(key("s"), id).value();
  const RecalledEpisode recalled = memory->episodic().recall(query).value().at(0);
  EXPECT_TRUE(recalled.episode.archived);
  EXPECT_THAT(recalled.quotes, IsEmpty());
  EXPECT_THAT(recalled.episode.summary, HasSubstr("Rex"));
  memory->episodic().archive(key("s"), id).value();
  EXPECT_EQ(memory->episodic().archive(key("s"), EpisodeId()).error().code(), ErrorCode::kNotFound);
}

TEST_F(LifeTest, WhatIsForgottenDoesNotComeBackWithTheNextEpisode) {
  say(key("s"), "The canary is yellow.", "Yes.");
  const EpisodeId id = memory->close(key("s"), EndReason::kUserClosed).value().episodes.at(0);
  memory->episodic().forget(key("s"), id).value();
  EXPECT_THAT(memory->close(key("s"), EndReason::kUserClosed).value().episodes, IsEmpty());
  say(key("s"), "It rains today.", "Take an umbrella.");
  const EpisodeId next = memory->close(key("s"), EndReason::kUserClosed).value().episodes.at(0);
  EXPECT_THAT(to_json(list_episodes(*store, key("s")).value().at(0)), Not(HasSubstr("canary")));
  memory->episodic().forget(key("s"), next).value();
  say(key("s"), "Now the sun shines.", "Good.");
  memory->close(key("s"), EndReason::kUserClosed).value();
  EXPECT_EQ(list_episodes(*store, key("s")).value().at(0).span, (MessageSpan{4, 5}));
}

// Two agents, of which one is patient and learns.
class RulesTest : public LifeTest {
 protected:
  std::shared_ptr<SemanticMemory> semantic = std::make_shared<SemanticMemory>(*store, env, static_embedder());

  RulesTest() {
    RuleBook book;
    book.agents["patient"] = {.idle_timeout = std::chrono::hours(5), .learn_facts = true};
    book.agents["hasty"] = {.idle_timeout = std::chrono::minutes(5), .episodes = false};
    memory = std::make_unique<Memory>(store, env, MemoryOptions{.rules = book});
    memory->add_source(knowledge_source(semantic, store));
  }
  std::vector<std::string> known() {
    std::vector<std::string> texts;
    for (const Fact& fact : semantic->facts(user_collection(key("x").tenant, key("x").owner).value()).value())
      texts.push_back(fact.text);
    return texts;
  }
};

TEST_F(RulesTest, EachSessionEndsAsTheAgentSaysThatSpokeInIt) {
  say(key("slow"), "Hello", "Hi", "patient");
  say(key("fast"), "Hello", "Hi", "hasty");
  say(key("other"), "Hello", "Hi");
  env.sim_clock().advance(std::chrono::minutes(10));
  EXPECT_THAT(memory->reap().value().idle, ::testing::ElementsAre(key("fast")));
  EXPECT_THAT(list_episodes(*store, key("fast")).value(), IsEmpty()) << "its agent wants none";
  env.sim_clock().advance(std::chrono::hours(1));
  EXPECT_THAT(memory->reap().value().idle, ::testing::ElementsAre(key("other")));
  env.sim_clock().advance(std::chrono::hours(5));
  EXPECT_THAT(memory->reap().value().idle, ::testing::ElementsAre(key("slow")));
}

TEST_F(RulesTest, WhatUsersSayOfThemselvesIsRememberedWhenTheSessionEndsAndOnlyThen) {
  say(key("s"), "I live in Madrid. Is it warm?", "I live in a computer. My name is Bot.", "patient");
  say(key("s"), "I have a question. I like it!", "Ask.", "patient");
  EXPECT_THAT(known(), IsEmpty());
  const CloseReport report = memory->close(key("s"), EndReason::kUserClosed).value();
  EXPECT_EQ(report.facts, 1U);
  EXPECT_THAT(known(), ::testing::ElementsAre("I live in Madrid"));
  // Neither twice, nor where nobody asked for it.
  say(key("s"), "As I said: thanks. I live in Madrid.", "You did.", "patient");
  EXPECT_EQ(memory->close(key("s"), EndReason::kUserClosed).value().facts, 0U);
  say(key("t"), "I have a dog called Rex.", "Nice.", "hasty");
  EXPECT_EQ(memory->close(key("t"), EndReason::kUserClosed).value().facts, 0U);
  EXPECT_THAT(known(), SizeIs(1));
}

TEST_F(RulesTest, WhatWasSaidLastIsKnownInWhateverOrderSessionsAreClosed) {
  say(key("monday"), "I live in Madrid.", "Lovely.", "patient");
  env.sim_clock().advance(std::chrono::hours(24));
  say(key("tuesday"), "I moved to Lisbon.", "How is it?", "patient");
  env.sim_clock().advance(std::chrono::hours(24));
  memory->close(key("tuesday"), EndReason::kUserClosed).value();
  memory->close(key("monday"), EndReason::kUserClosed).value();
  EXPECT_THAT(known(), ::testing::ElementsAre("I moved to Lisbon"));
}

TEST_F(RulesTest, FactsThatWereLearnedGoWithTheirSession) {
  say(key("s"), "I live in Madrid.", "Lovely.", "patient");
  memory->close(key("s"), EndReason::kUserClosed).value();
  ASSERT_THAT(known(), SizeIs(1));
  EXPECT_EQ(memory->erase_session(key("s")).value().items, 1U);
  EXPECT_THAT(known(), IsEmpty());
}

TEST_F(RulesTest, FactsAreMaskedWhereEpisodesAre) {
  say(key("s"), "My mail is ada@example.org.", "Noted.", "patient");
  SessionRules rules{.mask_personal_data = true, .learn_facts = true};
  memory->close(key("s"), EndReason::kUserClosed, rules).value();
  EXPECT_THAT(known(), ::testing::ElementsAre("My mail is [email]"));
}

TEST_F(LifeTest, PersonalDataIsMaskedWhereThatIsAskedFor) {
  say(key("s"), "My mail is ada@example.org and my number is +34 600 123 456.", "Noted.");
  memory->close(key("s"), EndReason::kUserClosed, {.mask_personal_data = true}).value();
  const Episode episode = list_episodes(*store, key("s")).value().at(0);
  EXPECT_THAT(to_json(episode), Not(HasSubstr("ada@example.org")));
  EXPECT_THAT(to_json(episode), Not(HasSubstr("123 456")));
  EXPECT_THAT(episode.summary, HasSubstr("[email]"));
}

TEST(PersonalData, IsMaskedAndDatesAreNot) {
  EXPECT_EQ(mask_personal_data("Call +34 600 123 456 or 5551234567, card 4111-1111-1111-1111."),
            "Call [number] or [number], card [number].");
  EXPECT_EQ(mask_personal_data("ada@example.org wrote on 2026-11-16 18:30, not on 16-11-2026."),
            "[email] wrote on 2026-11-16 18:30, not on 16-11-2026.");
  EXPECT_EQ(mask_personal_data("I studied there 2019-2023, room 12."), "I studied there 2019-2023, room 12.");
  EXPECT_EQ(mask_personal_data("9999-99-99"), "[number]") << "no such day";
  EXPECT_EQ(mask_personal_data("Write to ada@example.org, please (or bob@example.org)."),
            "Write to [email], please (or [email]).");
}

TEST_F(LifeTest, ErasingAnOwnerLeavesNothingOfTheirs) {
  say(key("s"), "The canary is yellow.", "Yes.");
  memory->close(key("s"), EndReason::kUserClosed).value();
  say(key("s", "bob"), "Hello", "Hi");
  const ErasedMemory report = memory->erase_owner(key("s").tenant, key("s").owner).value();
  EXPECT_EQ(report.sessions.sessions, 1U);
  EXPECT_EQ(load(*store, key("s")).error().code(), ErrorCode::kNoSession);
  EXPECT_THAT(memory->episodic().list(key("s").tenant, key("s").owner).value(), IsEmpty());
  EXPECT_TRUE(load(*store, key("s", "bob")).ok());
  EXPECT_TRUE(memory->erase_owner(key("s").tenant, key("s").owner).ok());
}

TEST_F(LifeTest, APinIsKeptWithTheBranch) {
  say(key("s"), "Remember this", "I will");
  const Message first = get_session_messages(*store, key("s")).value().at(0);
  memory->pin(key("s"), main_branch(), first.id()).value();
  const auto overlay = [&] {
    return overlay_in(load(*store, key("s")).value().branches.at(0).state).value();
  };
  EXPECT_EQ(overlay().pins, (std::vector<PinnedMessage>{{first.id(), 0}}));
  memory->pin(key("s"), main_branch(), first.id(), false).value();
  EXPECT_TRUE(overlay().empty());
  EXPECT_EQ(memory->pin(key("s"), main_branch(), MessageId()).error().code(), ErrorCode::kNoMessage);
}

class KnowledgeTest : public LifeTest {
 protected:
  std::shared_ptr<SemanticMemory> semantic = std::make_shared<SemanticMemory>(*store, env, static_embedder());
  std::shared_ptr<ContextSource> source = knowledge_source(semantic, store, {"manuals"});
  MemoryWriter writer{.kind = WriterKind::kUser, .name = "ada"};
  MessageId message = MessageId(UuidMaker(env.clock(), env.random()).make());

  ContextRequest request(std::string question) {
    ContextRequest asked{.key = key("s"), .branch = main_branch(), .question = std::move(question)};
    asked.config.semantic_hybrid = true;
    return asked;
  }
};

TEST_F(KnowledgeTest, AfterPreparingTheFirstTurnReadsNothing) {
  semantic
      ->remember(user_collection(key("s").tenant, key("s").owner).value(), {.text = "I live in Madrid."},
                 writer)
      .value();
  auto counting = std::make_shared<CountingStore>(*store);
  auto cold = std::make_shared<SemanticMemory>(*counting, env, static_embedder());
  memory->add_source(knowledge_source(cold, counting));
  memory->prepare();
  EXPECT_GT(counting->reads, 0U);
  counting->reads = 0;
  EXPECT_THAT(memory->sources().back()->retrieve(request("Where do I live?")).value(), Not(IsEmpty()));
  EXPECT_EQ(counting->reads, 0U);
}

TEST_F(KnowledgeTest, WhatIsKnownOfTheUserAndWhatIsSharedIsFoundWithItsSource) {
  semantic
      ->remember(user_collection(key("s").tenant, key("s").owner).value(), {.text = "I live in Madrid."},
                 writer)
      .value();
  semantic
      ->ingest(shared_collection(key("s").tenant, "manuals").value(),
               {.source = "coffee.md",
                .format = DocumentFormat::kMarkdown,
                .bytes = "# Cleaning\n\nRinse the filter."},
               writer)
      .value();
  const std::vector<ContextItem> lives = source->retrieve(request("Where do I live?")).value();
  ASSERT_THAT(lives, Not(IsEmpty()));
  EXPECT_THAT(lives[0].text, HasSubstr("Madrid"));
  EXPECT_EQ(lives[0].tier, Tier::kKnowledge);
  const std::vector<ContextItem> filter = source->retrieve(request("How do I rinse the filter?")).value();
  ASSERT_THAT(filter, Not(IsEmpty()));
  EXPECT_THAT(filter[0].source, HasSubstr("coffee.md"));
  // Nobody else is told where she lives.
  ContextRequest other = request("Where do I live?");
  other.key.owner = OwnerId::parse("bob").value();
  for (const ContextItem& item : source->retrieve(other).value())
    EXPECT_THAT(item.text, Not(HasSubstr("Madrid")));
}

TEST_F(KnowledgeTest, WhatIsTooFarFromTheQuestionIsToldAndNotShown) {
  semantic
      ->remember(user_collection(key("s").tenant, key("s").owner).value(), {.text = "I live in Madrid."},
                 writer)
      .value();
  ContextRequest asked = request("Where do I live?");
  asked.config.semantic_min_score = 1.0;
  for (const ContextItem& item : source->retrieve(asked).value()) {
    if (item.score < 1) EXPECT_EQ(item.reason, FateReason::kLowScore);
  }
}

TEST_F(KnowledgeTest, WhatCameFromErasedMessagesGoesWithThem) {
  say(key("s"), "I live in Madrid.", "Noted.");
  const MessageId said = get_session_messages(*store, key("s")).value().at(0).id();
  const CollectionId mine = user_collection(key("s").tenant, key("s").owner).value();
  semantic->remember(mine, {.text = "I live in Madrid.", .sources = {said}}, writer).value();
  semantic->remember(mine, {.text = "My cat is called Tom.", .sources = {}}, writer).value();
  memory->add_source(source);
  EXPECT_EQ(memory->erase_session(key("s")).value().items, 1U);
  const std::vector<Fact> facts = semantic->facts(mine).value();
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_THAT(facts[0].text, HasSubstr("Tom"));
}

class SearchToolTest : public KnowledgeTest {
 protected:
  AgentSpec helper{.id = AgentId::parse("helper").value()};

  SearchToolTest() {
    const TenantId& tenant = key("s").tenant;
    know(user_collection(tenant, key("s").owner).value(), "I live in Madrid.");
    know(agent_collection(tenant, helper.id).value(), "The helper in Madrid is called Otto.");
    know(shared_collection(tenant, "trains").value(), "Trains to Madrid leave at nine.");
  }
  void know(const CollectionId& where, std::string text) {
    semantic->remember(where, {.text = std::move(text)}, writer).value();
  }
  static std::string run(const ToolPtr& tool, const SessionKey& key) {
    std::optional<Result<ToolOutput>> output;
    tool->run({.arguments = JsonObject{{"query", "What is there in Madrid?"}},
               .key = "k",
               .tenant = key.tenant,
               .owner = key.owner,
               .session = key.session},
              [&](Result<ToolOutput> result) { output = std::move(result); });
    return *output ? (*output)->text : std::string((*output).error().message());
  }
};

// A source that is down.
class BrokenSource final : public ContextSource {
 public:
  std::string_view name() const override { return "weather"; }
  Result<std::vector<ContextItem>> retrieve(const ContextRequest& /*request*/) override {
    return Error(ErrorCode::kModelUnavailable, "the weather is down");
  }
};

TEST_F(SearchToolTest, AModelSearchesWhereItsAgentMayRecallFrom) {
  auto shared = std::make_shared<Memory>(store, env);
  shared->add_source(knowledge_source(semantic, store, {{helper.id, {.shared = {"trains"}}}}, {}));
  const ToolPtr tool = search_memory_tool(shared, helper);
  EXPECT_EQ(tool->tool_class(), ToolClass::kReadOnly);
  EXPECT_THAT(run(tool, key("s")),
              AllOf(HasSubstr("I live in Madrid"), HasSubstr("Otto"), HasSubstr("nine")));
  EXPECT_THAT(run(search_memory_tool(shared), key("s")),
              AllOf(HasSubstr("I live in Madrid"), Not(HasSubstr("Otto")), Not(HasSubstr("nine"))));
  helper.memory.semantic_enabled = false;
  EXPECT_EQ(run(search_memory_tool(shared, helper), key("s")), "Nothing is known about that.");
}

TEST_F(SearchToolTest, ASourceThatFailsCostsOnlyWhatItWouldHaveFound) {
  auto shared = std::make_shared<Memory>(store, env);
  shared->add_source(std::make_shared<BrokenSource>());
  EXPECT_EQ(run(search_memory_tool(shared, helper), key("s")), "the weather is down");
  shared->add_source(source);
  EXPECT_THAT(run(search_memory_tool(shared, helper), key("s")),
              AllOf(HasSubstr("I live in Madrid"), HasSubstr("The weather could not be looked at.")));
}

class ProcedureTest : public LifeTest {
 protected:
  TenantId tenant = TenantId::parse("t").value();
  AgentId agent = AgentId::parse("helper").value();
  MemoryWriter operator_{.kind = WriterKind::kOperator, .name = "ops"};

  static Procedure refund() {
    return {.name = "refund",
            .description = "A customer wants their money back.",
            .trigger = R"(\b(refund|money back)\b)",
            .steps = {{.instruction = "Ask for the order number."},
                      {.instruction = "Check it.", .tool = "orders"}},
            .approved = true};
  }
  std::optional<MatchedProcedure> match(std::string_view message) {
    return memory->procedural().match(tenant, agent, message, 0.8).value();
  }
};

TEST_F(ProcedureTest, IsFoundByItsPattern) {
  memory->procedural().put(tenant, agent, refund(), operator_).value();
  EXPECT_EQ(match("I want a REFUND now").value().score, 1);
  EXPECT_FALSE(match("What time is it?"));
  EXPECT_THAT(text_of(refund()), HasSubstr("2. Check it. [tool: orders]"));
}

TEST_F(ProcedureTest, WhatIsLearnedIsNotUsedUntilAPersonApprovesIt) {
  memory->procedural().put(tenant, agent, refund(), {.kind = WriterKind::kModel, .name = "m"}).value();
  EXPECT_FALSE(match("refund please"));
  EXPECT_TRUE(memory->procedural().list(tenant, agent).value().at(0).learned);
  EXPECT_EQ(
      memory->procedural().approve(tenant, agent, "refund", {.kind = WriterKind::kModel}).error().code(),
      ErrorCode::kNotPermitted);
  memory->procedural().approve(tenant, agent, "refund", operator_).value();
  EXPECT_TRUE(match("refund please"));
}

TEST_F(ProcedureTest, WhatIsLearnedCannotReplaceWhatAPersonWrote) {
  memory->procedural().put(tenant, agent, refund(), operator_).value();
  EXPECT_EQ(memory->procedural().put(tenant, agent, refund(), {.kind = WriterKind::kTool}).error().code(),
            ErrorCode::kNotPermitted);
}

TEST_F(ProcedureTest, IsForgottenAndCanComeBack) {
  memory->procedural().put(tenant, agent, refund(), operator_).value();
  memory->procedural().forget(tenant, agent, "refund").value();
  EXPECT_FALSE(match("refund"));
  memory->procedural().put(tenant, agent, refund(), operator_).value();
  EXPECT_TRUE(match("refund"));
  EXPECT_THAT(memory->procedural().list(tenant, agent).value(), SizeIs(1));
}

TEST_F(ProcedureTest, APatternThatIsNoneIsRefusedAndAHostileOneIsHarmless) {
  Procedure bad = refund();
  bad.trigger = "(unclosed";
  EXPECT_EQ(memory->procedural().put(tenant, agent, bad, operator_).error().code(), ErrorCode::kBadConfig);
  Procedure slow = refund();
  slow.trigger = "(a+)+$";
  memory->procedural().put(tenant, agent, slow, operator_).value();
  EXPECT_TRUE(match(std::string(20'000, 'a')));
}

TEST_F(ProcedureTest, ThoseOfAllAgentsAreFoundToo) {
  memory->procedural().put(tenant, {}, refund(), operator_).value();
  EXPECT_TRUE(match("refund"));
}

}  // namespace life_test
}  // namespace tertulia
