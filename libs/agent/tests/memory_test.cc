// What a turn is shown beside its conversation, what is told of it, and what becomes of a history that does
// not fit.
#include "tertulia/memory/memory.h"

#include <functional>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>

#include "tertulia/base/testing/sim_env.h"
#include "tertulia/memory/overlay.h"
#include "tertulia/memory/prompt.h"
#include "tertulia/store/episode_store.h"

#include "agent_fixture.h"

namespace tertulia {
namespace memory_test {

using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;

// A source that says what it is told to, when it is told to.
class TestSource final : public ContextSource {
 public:
  std::function<Result<std::vector<ContextItem>>(const ContextRequest&)> answer;

  std::string_view name() const override { return "test"; }
  Result<std::vector<ContextItem>> retrieve(const ContextRequest& request) override {
    return answer(request);
  }
};

class MemoryTest : public AgentTest {
 protected:
  std::shared_ptr<Memory> memory = std::make_shared<Memory>(store, real_env());
  std::shared_ptr<TestSource> source = std::make_shared<TestSource>();
  MemoryConfig config;
  OnReturn on_return = OnReturn::kResume;

  Agent make(std::vector<ToolPtr> tools = {}) {
    AgentSpec spec;
    spec.id = *AgentId::parse("agent");
    spec.model = "script";
    spec.system_prompt = "Be kind.";
    spec.memory = config;
    spec.on_return = on_return;
    AgentBuilder builder;
    builder.with_spec(spec).with_model(model, "script").with_session_store(store).with_memory_of(memory);
    for (ToolPtr& tool : tools) builder.with_tool(std::move(tool));
    return builder.build().value();
  }
  // Turns of some thirty tokens each.
  void fill(const std::string& session, int turns) {
    const std::string words = "one two three four five six seven eight nine ten eleven twelve thirteen";
    const Agent agent = make();
    for (int i = 0; i < turns; ++i) {
      model->add(ModelStep().say(words));
      agent.run(words, session).result().value();
    }
  }
  static SessionKey key(const std::string& session) { return local_key(SessionId::parse(session).value()); }

  static std::vector<std::string> shown(const ModelRequest& request) {
    std::vector<std::string> texts;
    for (const Message& message : request.view) {
      texts.push_back(std::string(name_of(message.role())) + ": " + message.text_content());
    }
    return texts;
  }
  static std::vector<std::string> events(tertulia::Run& run) {
    std::vector<std::string> names;
    for (const Event& event : run) names.push_back(std::string(name_of(event.kind)) + " " + event.name);
    return names;
  }
};

TEST_F(MemoryTest, NothingIsRecalledForAMessageThatNoModelCallCouldHold) {
  int asked = 0;
  source->answer = [&](const ContextRequest&) -> Result<std::vector<ContextItem>> {
    ++asked;
    return std::vector<ContextItem>();
  };
  memory->add_source(source);
  std::string words;
  for (int i = 0; i < 500; ++i) words += "word ";
  const auto refused = make().run(words, "s", {.budget = Tokens{100}}).result();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kMessageExceedsContext);
  EXPECT_EQ(asked, 0);
}

TEST_F(MemoryTest, ALongMessageIsLookedForByItsBeginningAndItsEnd) {
  std::string question;
  source->answer = [&](const ContextRequest& request) -> Result<std::vector<ContextItem>> {
    question = request.question;
    return std::vector<ContextItem>();
  };
  memory->add_source(source);
  model->add(ModelStep().say("A book."));
  std::string words = "What is this?";
  for (int i = 0; i < 10'000; ++i) words += "ä ";
  words += "Who wrote it?";
  config.max_working_memory_tokens = Tokens{100'000};
  const Agent agent = make();
  auto run = agent.run(words, "s");
  EXPECT_THAT(events(run), Contains("context_degraded question"));
  run.result().value();
  EXPECT_LE(question.size(), 16'385U);
  EXPECT_GT(question.size(), 16'000U);
  EXPECT_TRUE(question.starts_with("What is this?") && question.ends_with("Who wrote it?"));
  EXPECT_EQ(question.find("\xA4\xA4"), std::string::npos);
  EXPECT_TRUE(Message::text({}, Role::kUser, question, Time{}).ok());
}

TEST_F(MemoryTest, WhatIsRetrievedIsShownWithItsSourceAndNeverStoredInTheTranscript) {
  source->answer = [](const ContextRequest& request) {
    return std::vector<ContextItem>{{.tier = Tier::kKnowledge,
                                     .id = "k1",
                                     .source = "the manual",
                                     .text = "About: " + request.question,
                                     .score = 0.9}};
  };
  memory->add_source(source);
  model->add(ModelStep().say("Answer."));
  make().run("How?", "s").result().value();
  const ModelRequest request = model->requests().at(0);
  EXPECT_THAT(shown(request), Contains("context: About: How?"));
  EXPECT_EQ(request.view.to_vector().at(1).source(), "the manual");
  EXPECT_THAT(transcript("s"), testing::ElementsAre("user: How?", "assistant: Answer."));
}

TEST_F(MemoryTest, ASourceThatIsSlowDegradesTheTurnAndDoesNotFailIt) {
  source->answer = [](const ContextRequest& request) -> Result<std::vector<ContextItem>> {
    while (!request.cancel.cancelled()) std::this_thread::yield();
    return std::vector<ContextItem>();
  };
  memory->add_source(source);
  config.retrieval_timeout = std::chrono::milliseconds(20);
  model->add(ModelStep().say("Answer."));
  const Agent agent = make();
  auto run = agent.run("How?", "s");
  EXPECT_THAT(events(run), Contains("context_degraded test"));
  EXPECT_EQ(run.result().value().text, "Answer.");
}

TEST_F(MemoryTest, ASourceThatFailsOrThrowsDegradesTheTurnAndDoesNotFailIt) {
  bool throws = false;
  source->answer = [&](const ContextRequest&) -> Result<std::vector<ContextItem>> {
    if (throws) throw std::runtime_error("broken");
    return Error(ErrorCode::kStorageIo, "broken");
  };
  memory->add_source(source);
  for (throws = false;; throws = true) {
    model->add(ModelStep().say("Answer."));
    const Agent agent = make();
    auto run = agent.run("How?", "s");
    EXPECT_THAT(events(run), Contains("context_degraded test"));
    EXPECT_TRUE(run.result().ok());
    if (throws) break;
  }
}

TEST_F(MemoryTest, APastPromptIsMadeAgainByteForByte) {
  source->answer = [](const ContextRequest& request) {
    return std::vector<ContextItem>{{.tier = Tier::kKnowledge,
                                     .id = "k1",
                                     .source = "manual",
                                     .text = "For " + request.question,
                                     .score = 1}};
  };
  memory->add_source(source);
  for (const ContextPlacement placement : {ContextPlacement::kAfterSystem, ContextPlacement::kBeforeUser}) {
    config.context_placement = placement;
    const std::string session = std::string(name_of(placement));
    const Agent agent = make({add_tool()});
    model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
    model->add(ModelStep().say("Three."));
    agent.run("Add", session).result().value();
    model->add(ModelStep().say("Again."));
    agent.run("And now?", session).result().value();
  }
  const std::vector<ModelRequest> sent = model->requests();
  std::size_t next = 0;
  for (const std::string session : {"after_system", "before_user"}) {
    const auto turns = read_turns(*store, key(session), {.branch = main_branch()}).value();
    for (const StoredTurn& stored : turns) {
      for (const Receipt& receipt : read_receipts(*store, key(session), stored.turn.id()).value()) {
        const Result<ModelRequest> again = rebuild_prompt(*store, key(session), receipt);
        ASSERT_TRUE(again.ok()) << again.error().message();
        ASSERT_EQ(shown(*again), shown(sent.at(next)));
        EXPECT_EQ(again->tools, sent.at(next).tools);
        EXPECT_EQ(hash_of_prompt(receipt.model, sent.at(next).view, sent.at(next).tools),
                  receipt.prompt_hash);
        ++next;
      }
    }
  }
  EXPECT_EQ(next, sent.size());
}

TEST_F(MemoryTest, APromptWhoseKnowledgeWasForgottenCannotBeMadeAgain) {
  source->answer = [](const ContextRequest&) {
    return std::vector<ContextItem>{
        {.tier = Tier::kKnowledge, .id = "k1", .source = "manual", .text = "The canary.", .score = 1}};
  };
  memory->add_source(source);
  model->add(ModelStep().say("Yes."));
  make().run("Hello", "s").result().value();
  const Receipt receipt = read_last_receipts(*store, key("s"), main_branch()).value().at(0);
  ASSERT_TRUE(rebuild_prompt(*store, key("s"), receipt).ok());
  EXPECT_EQ(forget_prompt_parts(*store, key("s").tenant, key("s").owner, "k1").value().count, 1U);
  EXPECT_EQ(rebuild_prompt(*store, key("s"), receipt).error().code(), ErrorCode::kNotFound);
}

TEST_F(MemoryTest, TheSystemPromptIsStoredOnceForManyTurns) {
  const Agent agent = make();
  for (int i = 0; i < 5; ++i) {
    model->add(ModelStep().say("Yes."));
    agent.run("Hello", "s").result().value();
  }
  std::size_t parts = 0;
  const SessionKey where = key("s");
  for (const StoredRecord& stored : read_records(*store, {.tenant = where.tenant,
                                                          .owner = where.owner,
                                                          .session = where.session,
                                                          .kind = RecordKind::kReceipt,
                                                          .limit = 1'000})
                                        .value()
                                        .records) {
    if (is_prompt_part(stored.record)) ++parts;
  }
  EXPECT_EQ(parts, 1U);
}

TEST_F(MemoryTest, APromptSaysHowMuchOfItBeganAsTheOneBefore) {
  const Agent agent = make();
  for (int i = 0; i < 10; ++i) {
    model->add(ModelStep().say("A fairly long answer to what was asked."));
    agent.run("A question of some length, too.", "s").result().value();
  }
  const Receipt last = read_last_receipts(*store, key("s"), main_branch()).value().at(0);
  EXPECT_GT(last.shared_prefix, 0.85);
  EXPECT_LT(last.shared_prefix, 1.0);
}

TEST_F(MemoryTest, AHistoryThatDoesNotFitIsSummarisedAndTheSummaryStays) {
  fill("s", 10);
  config.pruning = Pruning::kSummarize;
  config.max_working_memory_tokens = Tokens{300};
  config.output_reserve = Tokens{50};
  const Agent agent = make();
  model->add(ModelStep().say("They counted to thirteen."));
  model->add(ModelStep().say("Answer."));
  auto run = agent.run("Hello", "s");
  EXPECT_THAT(events(run), Contains("context_compacted "));
  EXPECT_THAT(shown(model->requests().back()), Contains("context: They counted to thirteen."));
  const BranchHead head = load(*store, key("s")).value().branches.at(0);
  EXPECT_EQ(head.message_count, 22U) << "a summary is no message";
  const HistoryOverlay overlay = overlay_in(head.state).value();
  ASSERT_TRUE(overlay.summary);
  EXPECT_EQ(overlay.summary->text, "They counted to thirteen.");
  const std::vector<Message> messages = get_session_messages(*store, key("s")).value();
  EXPECT_EQ(overlay.summary->last, messages.at(overlay.summary->covers - 1).id());
  // The next turn has room, and needs no other.
  model->add(ModelStep().say("Answer."));
  agent.run("Hello", "s").result().value();
  EXPECT_THAT(shown(model->requests().back()), Contains("context: They counted to thirteen."));
  EXPECT_TRUE(model->check());
  // And its prompt can be made again.
  const Receipt receipt = read_last_receipts(*store, key("s"), main_branch()).value().at(0);
  EXPECT_TRUE(rebuild_prompt(*store, key("s"), receipt).ok());
}

TEST_F(MemoryTest, ASummaryThatFailsChangesNothing) {
  fill("s", 10);
  config.pruning = Pruning::kSummarize;
  config.max_working_memory_tokens = Tokens{300};
  config.output_reserve = Tokens{50};
  const Agent agent = make();
  model->add(ModelStep().fail(ErrorCode::kModelUnavailable, "no summary today"));
  model->add(ModelStep().say("Answer."));
  auto run = agent.run("Hello", "s");
  EXPECT_THAT(events(run), Contains("context_degraded summary"));
  EXPECT_EQ(run.result().value().text, "Answer.");
  EXPECT_TRUE(load(*store, key("s")).value().branches.at(0).state.empty());
}

TEST_F(MemoryTest, APromptThatTheProviderFindsTooLongIsHalvedOnce) {
  const Agent agent = make();
  for (int i = 0; i < 6; ++i) {
    model->add(ModelStep().say("An answer of several words, of which there are many here."));
    agent.run("A question of several words, of which there are many here.", "s").result().value();
  }
  model->add(ModelStep().expect_messages(14).fail(ErrorCode::kContextOverflow, "too long"));
  model->add(ModelStep().say("Answer."));
  auto run = agent.run("Hello", "s");
  EXPECT_THAT(events(run), Contains("context_compacted "));
  EXPECT_EQ(run.result().value().text, "Answer.");
  EXPECT_LT(model->requests().back().view.size(), 14U);
  EXPECT_THAT(transcript("s"), SizeIs(14));
}

TEST_F(MemoryTest, APromptThatIsTooLongTwiceIsParkedWithItsErrorAndTheHistoryHasNotGrown) {
  const Agent agent = make();
  model->add(ModelStep().say("Hi."));
  agent.run("Hello", "s").result().value();
  model->add(ModelStep().fail(ErrorCode::kContextOverflow, "too long"));
  model->add(ModelStep().fail(ErrorCode::kContextOverflow, "too long"));
  EXPECT_EQ(agent.run("Hello", "s").result().error().code(), ErrorCode::kContextOverflow);
  EXPECT_THAT(transcript("s"), SizeIs(2));
  EXPECT_THAT(agent.engine()->interrupted().value(), SizeIs(1));
}

TEST_F(MemoryTest, AnAgentThatBeginsAfreshIsNotShownWhatWasBeforeButItsEpisode) {
  on_return = OnReturn::kFresh;
  const Agent agent = make();
  model->add(ModelStep().say("Rex is a fine name."));
  agent.run("My dog is called Rex.", "s").result().value();
  memory->close(key("s"), EndReason::kUserClosed).value();
  agent.engine()->forget(key("s"));
  model->add(ModelStep().say("Rex."));
  agent.run("What is my dog called?", "s").result().value();
  const std::vector<std::string> texts = shown(model->requests().back());
  EXPECT_THAT(texts, testing::Not(Contains("user: My dog is called Rex.")));
  EXPECT_THAT(texts, Contains(HasSubstr("My dog is called Rex.")));
  EXPECT_THAT(transcript("s"), SizeIs(4));
  // The turn after sees the one before it, and no more.
  model->add(ModelStep().say("Yes."));
  agent.run("Thank you.", "s").result().value();
  const std::vector<std::string> later = shown(model->requests().back());
  EXPECT_THAT(later, Contains("user: What is my dog called?"));
  EXPECT_THAT(later, testing::Not(Contains("user: My dog is called Rex.")));
}

TEST_F(MemoryTest, AConversationThatTheAgentEndsLeavesAnEpisode) {
  ToolPtr end = make_raw_tool("end", "Ends it.", JsonObject{{"type", "object"}},
                              [](const ToolCall&) -> Result<ToolOutput> {
                                return ToolOutput{.text = "ok", .end_conversation = true};
                              });
  const Agent agent = make({end});
  model->add(ModelStep().call("end", "{}"));
  model->add(ModelStep().say("Goodbye."));
  agent.run("My name is Ada. Bye!", "s").result().value();
  const std::vector<Episode> episodes = list_episodes(*store, key("s")).value();
  ASSERT_THAT(episodes, SizeIs(1));
  EXPECT_EQ(episodes[0].end_reason, EndReason::kAgentDecision);
  EXPECT_EQ(episodes[0].message_count, 4U);
  EXPECT_EQ(episodes[0].tool_call_count, 1U);
}

TEST_F(MemoryTest, AMessageAfterTheIdleTimeoutBeginsANewEpisode) {
  SimEnv env(1);
  memory = std::make_shared<Memory>(store, env);
  AgentBuilder builder;
  builder.with_engine(Engine::open({.store = store, .env = &env}).value())
      .with_model(model, "script")
      .with_memory_of(memory);
  const Agent agent = builder.build().value();
  for (const int minutes : {20, 20, 40}) {
    model->add(ModelStep().say("Hello."));
    agent.run("Hi there.", "s").result().value();
    env.sim_clock().advance(std::chrono::minutes(minutes));
  }
  EXPECT_THAT(list_episodes(*store, key("s")).value(), SizeIs(0));
  model->add(ModelStep().expect_messages(7).say("Hello again."));
  agent.run("I am back.", "s").result().value();
  const std::vector<Episode> episodes = list_episodes(*store, key("s")).value();
  ASSERT_THAT(episodes, SizeIs(1));
  EXPECT_EQ(episodes[0].end_reason, EndReason::kIdleTimeout);
  EXPECT_EQ(episodes[0].message_count, 6U);
  EXPECT_EQ(load(*store, key("s")).value().session.status, SessionStatus::kActive);
}

TEST_F(MemoryTest, AProcedureThatFitsIsShown) {
  Procedure refund{.name = "refund",
                   .description = "Money back",
                   .trigger = "refund",
                   .steps = {{.instruction = "Ask for the order."}},
                   .approved = true};
  memory->procedural()
      .put(key("s").tenant, *AgentId::parse("agent"), refund, {.kind = WriterKind::kOperator, .name = "ops"})
      .value();
  model->add(ModelStep().say("Which order?"));
  make().run("I want a refund", "s").result().value();
  EXPECT_THAT(shown(model->requests().at(0)).at(1), HasSubstr("1. Ask for the order."));
}

TEST_F(MemoryTest, WhatATurnDidWithItsToolsIsLearnedWhereThatIsWantedAndShownToNobody) {
  ToolPtr look =
      make_raw_tool("look_up", "Looks.", JsonObject{{"type", "object"}},
                    [](const ToolCall&) -> Result<ToolOutput> { return ToolOutput{.text = "found"}; },
                    {.tool_class = ToolClass::kReadOnly});
  const AgentId agent = *AgentId::parse("agent");
  const auto three_calls = [&] {
    for (int i = 0; i < 3; ++i) model->add(ModelStep().call("look_up", R"({"order":"canary 7"})"));
    model->add(ModelStep().say("Done."));
    make({look}).run("Where is my canary?", "s").result().value();
    return memory->procedural().list(key("s").tenant, agent).value();
  };
  EXPECT_THAT(three_calls(), SizeIs(0)) << "nobody asked for it";
  config.procedural_learning = true;
  const std::vector<Procedure> learned = three_calls();
  ASSERT_THAT(learned, SizeIs(1));
  EXPECT_TRUE(learned[0].learned);
  EXPECT_FALSE(learned[0].approved);
  EXPECT_EQ(learned[0].writer, "model:agent");
  EXPECT_THAT(learned[0].steps, SizeIs(3));
  EXPECT_THAT(text_of(learned[0]), HasSubstr("it needs: order"));
  EXPECT_THAT(text_of(learned[0]), testing::Not(HasSubstr("canary"))) << "nothing of what was said";
  EXPECT_THAT(three_calls(), SizeIs(1)) << "the same is not learned twice";
}

}  // namespace memory_test
}  // namespace tertulia
