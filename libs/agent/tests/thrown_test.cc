// Code that is not ours throws where it may not: the turn fails like any other, and the program goes on.
#include <stdexcept>

#include <gmock/gmock.h>

#include "tertulia/memory/memory.h"
#include "tertulia/tools/builtin_tools.h"

#include "agent_fixture.h"

namespace tertulia {
namespace thrown_test {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// A script that throws when it is told to.
class ThrowingModel final : public LanguageModel {
 public:
  enum class Where : std::uint8_t { kNowhere, kInfo, kRespond, kRespondNoException, kAfterTheAnswer };

  explicit ThrowingModel(std::shared_ptr<ScriptedModel> script) : script_(std::move(script)) {}

  std::atomic<Where> where = Where::kNowhere;
  // Of the calls of info() from now on, those that come before the one that throws.
  mutable std::atomic<int> infos_before = 0;

  ModelInfo info(std::string_view name) const override {
    if (where == Where::kInfo && infos_before-- <= 0) throw std::runtime_error("no such file");
    return script_->info(name);
  }
  void respond(ModelCall call, Done<ModelResponse> done) override {
    if (where == Where::kRespond) throw std::runtime_error("no such file");
    if (where == Where::kRespondNoException) throw 7;
    script_->respond(std::move(call), std::move(done));
    if (where == Where::kAfterTheAnswer) throw std::runtime_error("no such file");
  }

 private:
  std::shared_ptr<ScriptedModel> script_;
};

// Hands on what it is given, and counts what comes back.
class CountingMiddleware final : public Middleware {
 public:
  std::string_view name() const override { return "counting"; }
  void around_model_call(const TurnInfo& /*turn*/, ModelCall call, NextModelCall next,
                         Done<ModelResponse> done) override {
    next(std::move(call), [this, done = std::move(done)](Result<ModelResponse> response) {
      ++answers;
      done(std::move(response));
    });
  }

  std::atomic<int> answers = 0;
};

class ImpatientTool final : public Tool {
 public:
  const ToolDefinition& definition() const override { return definition_; }
  std::optional<Duration> timeout() const override { throw std::runtime_error("no time"); }
  void run(ToolCall /*call*/, Done<ToolOutput> done) override { done(ToolOutput{.text = "done"}); }

 private:
  ToolDefinition definition_ = make_tool("impatient", "Has no time.", [] { return 1; })->definition();
};

class ThrowingSource final : public ContextSource {
 public:
  std::string_view name() const override { return "throwing"; }
  Result<std::vector<ContextItem>> retrieve(const ContextRequest& /*request*/) override { throw 7; }
  Result<std::size_t> learn(const SessionKey& /*key*/, std::span<const Message> /*messages*/,
                            bool /*mask*/) override {
    throw std::runtime_error("no such file");
  }
};

class ThrowingEmbedder final : public Embedder {
 public:
  const EmbedderInfo& info() const override { return info_; }
  void embed(EmbedCall /*call*/, Done<std::vector<Vector>> /*done*/) override {
    throw std::runtime_error("no such file");
  }

 private:
  EmbedderInfo info_ = static_embedder()->info();
};

class ThrownTest : public AgentTest {
 protected:
  using Where = ThrowingModel::Where;
  std::shared_ptr<ThrowingModel> throwing = std::make_shared<ThrowingModel>(model);
  std::shared_ptr<CountingMiddleware> counting = std::make_shared<CountingMiddleware>();

  AgentBuilder builder() {
    AgentBuilder made;
    made.with_model(throwing, "script").with_session_store(store).with_limits(limits);
    return made;
  }
};

TEST_F(ThrownTest, AModelThatThrowsIsUnavailableAndItsTurnCanBeResumed) {
  for (const bool wrapped : {false, true}) {
    for (const Where where : {Where::kRespond, Where::kRespondNoException}) {
      AgentBuilder made = builder();
      if (wrapped) made.with_middleware(counting);
      const Agent agent = made.build().value();
      throwing->where = where;
      const std::string session = "s" + std::to_string(static_cast<int>(where)) + (wrapped ? "w" : "");
      EXPECT_EQ(code_of(agent.run("Hello", session)), ErrorCode::kModelUnavailable);
      throwing->where = Where::kNowhere;
      model->add(ModelStep().expect_last_user("Hello").say("Good evening."));
      EXPECT_EQ(agent.run(Input{}, session).result().value().text, "Good evening.");
    }
  }
  EXPECT_TRUE(model->check());
}

TEST_F(ThrownTest, AModelThatAnswersAndThenThrowsHasAnsweredOnce) {
  const Agent plain = builder().build().value();
  AgentBuilder made = builder();
  const Agent wrapped = made.with_middleware(counting).build().value();
  throwing->where = Where::kAfterTheAnswer;
  model->add(ModelStep().say("One."));
  EXPECT_EQ(plain.run("Hello", "s").result().value().text, "One.");
  model->add(ModelStep().say("Two."));
  EXPECT_EQ(wrapped.run("Hello", "s").result().value().text, "Two.");
  EXPECT_EQ(counting->answers, 1);
}

TEST_F(ThrownTest, AModelThatThrowsWhenItIsAskedAboutItselfFailsTheTurnAndNotTheProgram) {
  const Agent agent = builder().build().value();
  throwing->where = Where::kInfo;
  // When the message is counted, before there is a turn.
  EXPECT_EQ(code_of(agent.run("Hello", "s")), ErrorCode::kModelUnavailable);
  // When it is let in, and there is still none.
  throwing->infos_before = 1;
  EXPECT_EQ(code_of(agent.run("Hello", "s")), ErrorCode::kToolFailed);
  // When the view is made, and, on a branch that is not stored, the same.
  throwing->infos_before = 2;
  auto run = agent.run("Hello", "s");
  EXPECT_THAT(names_of(run), Contains("turn_failed"));
  EXPECT_THAT(std::string(run.result().error().message()), HasSubstr("no such file"));
  throwing->infos_before = 2;
  EXPECT_EQ(code_of(agent.run("Hello")), ErrorCode::kToolFailed);
  EXPECT_THAT(transcript("s"), IsEmpty());
  throwing->where = Where::kNowhere;
  model->add(ModelStep().say("Good evening."));
  EXPECT_EQ(agent.run("Hello", "s").result().value().text, "Good evening.");
}

TEST_F(ThrownTest, AToolThatThrowsWhenItIsAskedForItsTimeFailsTheTurnAndItsCallIsClosed) {
  model->add(ModelStep().call("impatient", "{}"));
  AgentBuilder made = builder();
  const Agent agent = made.with_tool(std::make_shared<ImpatientTool>()).build().value();
  EXPECT_EQ(code_of(agent.run("Go", "s")), ErrorCode::kToolFailed);
  ASSERT_EQ(transcript("s").size(), 3U);
  model->add(ModelStep().say("Good evening."));
  EXPECT_EQ(agent.run("Hello", "s").result().value().text, "Good evening.");
}

TEST_F(ThrownTest, ASourceThatThrowsNoExceptionDegradesTheTurnAndDoesNotEndTheProgram) {
  const auto memory = std::make_shared<Memory>(store, real_env());
  memory->add_source(std::make_shared<ThrowingSource>());
  AgentBuilder made = builder();
  const Agent agent = made.with_memory_of(memory).build().value();
  model->add(ModelStep().say("Good evening."));
  auto run = agent.run("Hello", "s");
  EXPECT_THAT(names_of(run), Contains("context_degraded"));
  EXPECT_EQ(run.result().value().text, "Good evening.");
}

TEST_F(ThrownTest, AMemoryWhosePartsThrowWhenASessionEndsDoesWithoutThem) {
  const auto memory = std::make_shared<Memory>(
      store, real_env(), MemoryOptions{.embedder = std::make_shared<ThrowingEmbedder>()});
  memory->add_source(std::make_shared<ThrowingSource>());
  memory->episodic().set_summariser(
      [](std::span<const Message>) -> Result<std::string> { throw std::runtime_error("no such file"); });
  AgentBuilder made = builder();
  const Agent agent = made.with_memory_of(memory).with_tool(end_conversation_tool()).build().value();
  model->add(ModelStep().call("end_conversation", "{}"));
  model->add(ModelStep().say("Good night."));
  EXPECT_EQ(agent.run("Good night", "s").result().value().text, "Good night.");
  const SessionKey key = local_key(SessionId::parse("s").value());
  EXPECT_EQ(load(*store, key).value().session.status, SessionStatus::kClosed);
}

// A store that throws at the n-th call.
class ThrowingStore final : public Store {
 public:
  explicit ThrowingStore(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  // Calls that come before the one that throws.
  std::atomic<int> before = 1'000'000;

  void commit(Commit commit, Done<Revision> done) override {
    count();
    store_->commit(std::move(commit), std::move(done));
  }
  void note(Note note, Done<void> done) override {
    count();
    store_->note(std::move(note), std::move(done));
  }
  void load(SessionKey key, Done<SessionState> done) override {
    count();
    store_->load(std::move(key), std::move(done));
  }
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    count();
    store_->read_turns(std::move(key), std::move(range), std::move(done));
  }
  void read_records(RecordQuery query, Done<RecordPage> done) override {
    count();
    store_->read_records(std::move(query), std::move(done));
  }
  void list(SessionQuery query, Done<SessionPage> done) override {
    count();
    store_->list(std::move(query), std::move(done));
  }
  void erase(EraseScope scope, Done<EraseReport> done) override {
    count();
    store_->erase(std::move(scope), std::move(done));
  }
  void verify(Done<VerifyReport> done) override { store_->verify(std::move(done)); }

 private:
  void count() {
    if (before-- == 0) throw std::runtime_error("the backend is away");
  }
  std::shared_ptr<Store> store_;
};

TEST_F(ThrownTest, AStoreMayThrowAtAnyCall) {
  bool through = false;
  for (int call = 0; call < 100 && !through; ++call) {
    const auto script = scripted_model();
    script->add(ModelStep().call("add", R"({"a":1,"b":2})"));
    script->add(ModelStep().say("Three."));
    const auto faulty = std::make_shared<ThrowingStore>(open_memory_store());
    AgentBuilder made;
    const Agent agent =
        made.with_model(script, "script").with_session_store(faulty).with_tool(add_tool()).build().value();
    // Behind what the engine itself looks for when it begins.
    ASSERT_TRUE(agent.engine()->interrupted());
    faulty->before = call;
    const auto outcome = agent.run("Add", "s").result();
    through = faulty->before >= 0;
    EXPECT_EQ(outcome.ok(), through) << "call " << call;
    faulty->before = 1'000'000;
    // Whatever became of it, the next one is answered.
    const auto fine = scripted_model();
    fine->add(ModelStep().say("Fine."));
    const auto next =
        agent.run("Next", "s", {.model = fine, .on_interrupted = OnInterrupted::kAbandon}).result();
    EXPECT_TRUE(next.ok()) << "call " << call << ": " << next.error().message();
  }
  EXPECT_TRUE(through);
}

}  // namespace thrown_test
}  // namespace tertulia
