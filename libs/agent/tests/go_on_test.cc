// A turn whose model failed never stops the conversation: the next message goes on.
#include <gmock/gmock.h>

#include "agent_fixture.h"

namespace tertulia {
namespace go_on_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class GoOnTest : public AgentTest {
 protected:
  void fail_next(ErrorCode code = ErrorCode::kModelKey) { model->add(ModelStep().fail(code, "wrong key")); }
};

TEST_F(GoOnTest, AMessageHasItsTurnThoughTheOneBeforeFailsAgain) {
  const Agent agent = make_agent();
  fail_next();
  EXPECT_EQ(code_of(agent.run("First", "s")), ErrorCode::kModelKey);
  fail_next();
  model->add(ModelStep().expect_last_user("Second").say("Two."));
  EXPECT_EQ(agent.run("Second", "s").result().value().text, "Two.");
  EXPECT_THAT(transcript("s"), ElementsAre("user: First", "user: Second", "assistant: Two."));
  EXPECT_THAT(agent.engine()->interrupted().value(), IsEmpty());
}

TEST_F(GoOnTest, EveryMessageIsAcceptedWhileTheModelKeepsFailing) {
  const Agent agent = make_agent();
  fail_next(ErrorCode::kModelUnavailable);
  EXPECT_EQ(code_of(agent.run("One", "s")), ErrorCode::kModelUnavailable);
  for (const char* message : {"Two", "Three", "Four"}) {
    // The one before, and this one.
    fail_next(ErrorCode::kModelUnavailable);
    fail_next(ErrorCode::kModelUnavailable);
    EXPECT_EQ(code_of(agent.run(message, "s")), ErrorCode::kModelUnavailable);
  }
  model->add(ModelStep().expect_last_user("Four").say("4."));
  model->add(ModelStep().expect_last_user("Five").say("5."));
  EXPECT_EQ(agent.run("Five", "s").result().value().text, "5.");
  EXPECT_THAT(transcript("s"), ElementsAre("user: One", "user: Two", "user: Three", "user: Four",
                                           "assistant: 4.", "user: Five", "assistant: 5."));
}

TEST_F(GoOnTest, TheOneBeforeIsTriedWithTheModelThatIsChosenNow) {
  const Agent agent = make_agent();
  fail_next();
  EXPECT_EQ(code_of(agent.run("First", "s")), ErrorCode::kModelKey);
  const auto other = scripted_model();
  other->add(ModelStep().expect_last_user("First").say("One."));
  other->add(ModelStep().expect_last_user("Second").say("Two."));
  const RunOptions chosen{.model = other, .model_name = "other"};
  EXPECT_EQ(agent.run("Second", "s", chosen).result().value().text, "Two.");
  EXPECT_THAT(transcript("s"),
              ElementsAre("user: First", "assistant: One.", "user: Second", "assistant: Two."));
  EXPECT_TRUE(other->check());
}

TEST_F(GoOnTest, WhoFollowsOneThatWasSetAsideIsToldWhy) {
  const Agent agent = make_agent();
  fail_next();
  EXPECT_EQ(code_of(agent.run("First", "s")), ErrorCode::kModelKey);
  fail_next();
  model->add(ModelStep().say("Two."));
  auto run = agent.run("Second", "s");
  std::vector<Event> warnings;
  for (const Event& event : run) {
    if (event.kind == EventKind::kWarning) warnings.push_back(event);
  }
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].name, "turn_set_aside");
  EXPECT_THAT(warnings[0].text, HasSubstr("wrong key"));
  EXPECT_THAT(warnings[0].data.text(), HasSubstr("\"code\":\"model_key\""));
}

TEST_F(GoOnTest, WhatToolsDidInATurnThatIsSetAsideIsKept) {
  const Agent agent = make_agent({add_tool()});
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  fail_next();
  EXPECT_EQ(code_of(agent.run("Add", "s")), ErrorCode::kModelKey);
  fail_next();
  model->add(ModelStep().say("Yes."));
  EXPECT_EQ(agent.run("Next", "s").result().value().text, "Yes.");
  EXPECT_THAT(transcript("s"), ElementsAre("user: Add", R"(assistant: call add {"a":1,"b":2})", "tool: 3",
                                           "user: Next", "assistant: Yes."));
  EXPECT_THAT(ledger->entries(), ElementsAre("add 1 2"));
}

TEST_F(GoOnTest, WhoWantsTheTurnFinishedFirstIsRefusedWhileItFails) {
  const Agent agent = make_agent();
  fail_next();
  EXPECT_EQ(code_of(agent.run("First", "s")), ErrorCode::kModelKey);
  fail_next();
  const auto refused = agent.run("Second", "s", {.on_interrupted = OnInterrupted::kFinish}).result();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("finish the interrupted turn"));
  EXPECT_THAT(transcript("s"), IsEmpty());
  EXPECT_EQ(agent.engine()->interrupted().value().size(), 1U);
}

TEST_F(GoOnTest, ARestartInBetweenChangesNothing) {
  {
    const Agent agent = make_agent();
    fail_next();
    EXPECT_EQ(code_of(agent.run("First", "s")), ErrorCode::kModelKey);
  }
  AgentBuilder builder;
  const auto engine = Engine::open({.store = store, .recover = false}).value();
  const Agent agent = builder.with_model(model, "script").with_engine(engine).build().value();
  fail_next();
  model->add(ModelStep().expect_last_user("Second").say("Two."));
  EXPECT_EQ(agent.run("Second", "s").result().value().text, "Two.");
}

TEST_F(GoOnTest, ATurnThatWaitsSaysWhyAlsoToANewProcess) {
  {
    const Agent agent = make_agent();
    fail_next();
    EXPECT_EQ(code_of(agent.run("First", "s")), ErrorCode::kModelKey);
  }
  const auto engine = Engine::open({.store = store}).value();
  const auto waiting = engine->interrupted(local_key(SessionId::parse("s").value())).value();
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0].code, "model_key");
  EXPECT_THAT(waiting[0].reason, HasSubstr("wrong key"));
  ASSERT_EQ(waiting[0].input.size(), 1U);
  EXPECT_EQ(waiting[0].input[0].text_content(), "First");
  EXPECT_THAT(engine->interrupted(local_key(SessionId::parse("other").value())).value(), IsEmpty());
}

TEST_F(GoOnTest, AMessageThatIsSetAsideKeepsWhy) {
  const Agent agent = make_agent();
  fail_next();
  EXPECT_EQ(code_of(agent.run("First", "s")), ErrorCode::kModelKey);
  fail_next(ErrorCode::kModelUnavailable);
  model->add(ModelStep().say("Two."));
  ASSERT_TRUE(agent.run("Second", "s").result().ok());
  fail_next();
  EXPECT_EQ(code_of(agent.run("Third", "s")), ErrorCode::kModelKey);
  model->add(ModelStep().say("Four."));
  ASSERT_TRUE(agent.run("Fourth", "s", {.on_interrupted = OnInterrupted::kAbandon}).result().ok());
  std::vector<std::string> extras;
  const Branch branch = agent.load_session_and_branch("s").value().branch;
  branch.transcript.for_each(0, branch.transcript.size(), [&](std::size_t, const Message& message) {
    if (message.role() == Role::kUser) extras.emplace_back(message.extra());
  });
  // Of the second try, and of the only one.
  EXPECT_THAT(extras, ElementsAre(HasSubstr(R"("unanswered":{"code":"model_unavailable")"), "",
                                  HasSubstr(R"("unanswered":{"code":"model_key")"), ""));
}

TEST_F(GoOnTest, AMessageThatNothingCameOfIsTakenBack) {
  const Agent agent = make_agent({add_tool()});
  const RunOptions discard{.on_interrupted = OnInterrupted::kDiscard};
  fail_next();
  EXPECT_EQ(code_of(agent.run("First", "s")), ErrorCode::kModelKey);
  const auto gone = agent.run(Input(), "s", discard).result().value();
  EXPECT_THAT(gone.messages, IsEmpty());
  EXPECT_EQ(gone.reason, "discarded");
  EXPECT_THAT(transcript("s"), IsEmpty());
  EXPECT_EQ(code_of(agent.run(Input(), "s", discard)), ErrorCode::kNothingToResume);
  // What a tool did is not taken back.
  model->add(ModelStep().call("add", R"({"a":1,"b":2})"));
  fail_next();
  EXPECT_EQ(code_of(agent.run("Add", "s")), ErrorCode::kModelKey);
  EXPECT_THAT(agent.run(Input(), "s", discard).result().value().messages, testing::SizeIs(3));
  fail_next();
  EXPECT_EQ(code_of(agent.run("Third", "s")), ErrorCode::kModelKey);
  model->add(ModelStep().say("Four."));
  ASSERT_TRUE(agent.run("Fourth", "s", discard).result().ok());
  EXPECT_THAT(transcript("s"), ElementsAre("user: Add", R"(assistant: call add {"a":1,"b":2})", "tool: 3",
                                           "user: Fourth", "assistant: Four."));
}

}  // namespace go_on_test
}  // namespace tertulia
