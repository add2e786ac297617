// Threads that a model's service keeps: each message reaches them once, whatever happens to us.
#include <map>
#include <mutex>

#include "tertulia/model/openai_responses.h"
#include "tertulia/tools/function_tool.h"
#include "tertulia/workflow/concurrent.h"
#include "tertulia/workflow/sequential.h"

#include "fault_store.h"
#include "raw_server.h"
#include "workflow_fixture.h"

namespace tertulia {
namespace service_thread_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Lines = std::vector<std::string>;

// What a service has of each thread. Every answer is a new state of its thread, with a name of its own, as
// the Responses endpoint has it.
class ThreadKeeper {
 public:
  // The thread that `before` and `added` make, with what is said there next; its name.
  std::string go_on(const std::string& before, const Lines& added, const std::string& said) {
    const std::lock_guard lock(mutex_);
    Lines lines = before.empty() ? Lines() : threads_.at(before);
    lines.insert(lines.end(), added.begin(), added.end());
    if (!said.empty()) lines.push_back("says: " + said);
    std::string name = "resp_" + std::to_string(threads_.size() + 1);
    threads_[name] = std::move(lines);
    return name;
  }
  Lines lines_of(const std::string& thread) const {
    const std::lock_guard lock(mutex_);
    return thread.empty() ? Lines() : threads_.at(thread);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Lines> threads_;
};

// Keeps its threads. Uses its tool once a turn, if it is given one.
class KeepingModel final : public LanguageModel {
 public:
  KeepingModel(std::string id, std::shared_ptr<ThreadKeeper> keeper)
      : id_(std::move(id)), keeper_(std::move(keeper)) {}

  ModelInfo info(std::string_view model) const override {
    return {.name = std::string(model), .tokenizer = estimating_tokenizer(), .service_threads = true};
  }
  void respond(ModelCall call, Done<ModelResponse> done) override {
    Lines added;
    bool used = false;
    for (const Message& message : call.request.view) {
      used = message.role() == Role::kTool;
      if (message.role() == Role::kAssistant) {
        added.push_back(message.has_tool_calls() ? "calls" : "says: " + message.text_content());
      } else if (message.role() == Role::kTool) {
        added.push_back("result: " + std::string(message.part(0).text));
      } else {
        added.push_back(message.text_content());
      }
    }
    ModelResponse response{.model = "keeping"};
    const bool calls = !call.request.tools.empty() && !used;
    const std::size_t known = keeper_->lines_of(call.request.service_thread).size() + added.size();
    const std::string text = id_ + " knows " + std::to_string(known);
    if (calls) {
      response.parts = {{.kind = PartKind::kToolCall, .text = "{}", .name = "pay", .call_id = "c"}};
      response.finish = Finish::kToolCalls;
    } else {
      response.parts = {{.text = text}};
    }
    response.service_thread = keeper_->go_on(call.request.service_thread, added, calls ? "" : text);
    done(std::move(response));
  }

 private:
  const std::string id_;
  const std::shared_ptr<ThreadKeeper> keeper_;
};

class ServiceThreadTest : public WorkflowTest {
 protected:
  SessionKey key = local_key(SessionId::parse("s").value());
  std::shared_ptr<ThreadKeeper> keeper = std::make_shared<ThreadKeeper>();

  AgentDefinitionPtr keeping(const std::string& id, std::vector<ToolPtr> tools = {}) const {
    return agent_with(id, std::make_shared<KeepingModel>(id, keeper), std::move(tools));
  }
  static ThreadBinding binding_of(const Session& session, const std::string& participant) {
    for (const ThreadBinding& binding : session.bindings) {
      if (binding.participant.text() == participant) return binding;
    }
    return {};
  }
  // What the service has of a participant's thread.
  Lines kept_of(Store& of, const std::string& participant) const {
    return keeper->lines_of(binding_of(load(of, key).value().session, participant).service_thread);
  }
  // What it should have: all that was said, the participant's own words as its own.
  static Lines expected_of(const Transcript& transcript, const std::string& participant) {
    Lines lines;
    transcript.for_each(0, transcript.size(), [&](std::size_t, const Message& message) {
      const bool own = message.author() == participant;
      if (own && message.has_tool_calls()) lines.emplace_back("calls");
      if (own && message.role() == Role::kTool)
        lines.push_back("result: " + std::string(message.part(0).text));
      const std::string text = message.text_content();
      if (message.role() == Role::kTool || text.empty()) return;
      if (own) {
        lines.push_back("says: " + text);
      } else {
        lines.push_back((message.role() == Role::kUser ? "" : std::string(message.author()) + ": ") + text);
      }
    });
    return lines;
  }
};

TEST_F(ServiceThreadTest, TheServiceIsGivenEachMessageOnceFromRunToRunAndAfterARestart) {
  const Workflow workflow = SequentialBuilder()
                                .add(keeping("a"), {.thread = ThreadKind::kService})
                                .add(keeping("b"), {.thread = ThreadKind::kService})
                                .build()
                                .value();
  WorkflowOutcome outcome;
  for (const char* text : {"One.", "Two.", "Three."}) {
    outcome = workflows->run(workflow, text, {.session = "s"}).result().value();
    restart();
  }
  EXPECT_THAT(kept_of(*store, "b"),
              ElementsAre("One.", "a: a knows 1", "says: b knows 2", "Two.", "a: a knows 4",
                          "says: b knows 5", "Three.", "a: a knows 7", "says: b knows 8"));
  // What came after its last words it is given with its next turn.
  Lines of_a = expected_of(outcome.snapshot.transcript, "a");
  of_a.pop_back();
  EXPECT_EQ(kept_of(*store, "a"), of_a);
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

TEST_F(ServiceThreadTest, ParticipantsSideBySideAreGivenWhatTheOthersSaidWithTheirNextTurn) {
  const Workflow workflow = ConcurrentBuilder()
                                .add(keeping("a"), {.thread = ThreadKind::kService})
                                .add(keeping("b"), {.thread = ThreadKind::kService})
                                .build()
                                .value();
  workflows->run(workflow, "One.", {.session = "s"}).result().value();
  workflows->run(workflow, "Two.", {.session = "s"}).result().value();
  EXPECT_THAT(kept_of(*store, "a"),
              ElementsAre("One.", "says: a knows 1", "b: b knows 1", "Two.", "says: a knows 4"));
  EXPECT_THAT(kept_of(*store, "b"),
              ElementsAre("One.", "says: b knows 1", "a: a knows 1", "Two.", "says: b knows 4"));
}

TEST_F(ServiceThreadTest, TwoTurnsWithinOneRunGoOnInTheSameThreadAlsoWithoutAStore) {
  const auto passing = WorkflowEngine::open({.engine = Engine::open({}).value(), .threads = 4}).value();
  Node back = make_node<ConversationUpdate>("back", [](const ConversationUpdate&, NodeContext& context) {
    if (context.conversation().transcript().size() < 4)
      context.send(ConversationUpdate{.from = "back", .text = ""});
  });
  const Workflow workflow = WorkflowBuilder("twice")
                                .add(agent_node(keeping("a"), {.thread = ThreadKind::kService}))
                                .add(back)
                                .start("a")
                                .edge("a", "back")
                                .edge("back", "a")
                                .build()
                                .value();
  const WorkflowOutcome outcome = passing->run(workflow, "Go.").result().value();
  EXPECT_THAT(lines_of(outcome.snapshot.transcript),
              ElementsAre("user: Go.", "a: a knows 1", "a: a knows 3", "a: a knows 5"));
}

TEST_F(ServiceThreadTest, AModelWhoseServiceKeepsNoThreadsIsRefused) {
  auto model = scripted_model({ModelStep().say("One.")});
  ModelInfo info = model->info("script");
  info.service_threads = false;
  model->set_info(info);
  const Workflow workflow =
      SequentialBuilder().add(agent_with("a", model), {.thread = ThreadKind::kService}).build().value();
  EXPECT_EQ(code_of(workflows->run(workflow, "Go.")), ErrorCode::kUnsupportedParameter);
}

TEST_F(ServiceThreadTest, AHookIsGivenWhatTheThreadLacksAndTheTurnBringsTheRest) {
  std::vector<Lines> given;
  const ResumeHook hook = [&](const ThreadBinding& binding,
                              const std::vector<Message>& lacking) -> Result<std::string> {
    Lines lines;
    for (const Message& message : lacking) {
      EXPECT_FALSE(message.id().empty());
      lines.push_back((message.role() == Role::kAssistant ? "says: " : "") + message.text_content());
    }
    given.push_back(lines);
    return keeper->go_on(binding.service_thread, lines, {});
  };
  const Workflow workflow = SequentialBuilder()
                                .add(saying("first", {"Hm.", "Ah."}))
                                .add(keeping("a"), {.thread = ThreadKind::kService})
                                .build()
                                .value();
  workflows->run(workflow, "One.", {.session = "s", .resume_thread = hook}).result().value();
  workflows->run(workflow, "Two.", {.session = "s", .resume_thread = hook}).result().value();
  EXPECT_THAT(given, ElementsAre(ElementsAre("One."), ElementsAre("Two.")));
  EXPECT_THAT(kept_of(*store, "a"),
              ElementsAre("One.", "first: Hm.", "says: a knows 2", "Two.", "first: Ah.", "says: a knows 5"));
}

TEST_F(ServiceThreadTest, AHookThatFailsFailsTheTurnAndNothingIsLost) {
  bool broken = true;
  const ResumeHook hook = [&](const ThreadBinding& binding,
                              const std::vector<Message>&) -> Result<std::string> {
    if (broken) return Error(ErrorCode::kModelUnavailable, "the service is away");
    return keeper->go_on(binding.service_thread, {}, {});
  };
  const Workflow workflow =
      SequentialBuilder().add(keeping("a"), {.thread = ThreadKind::kService}).build().value();
  auto run = workflows->run(workflow, "One.", {.session = "s", .resume_thread = hook});
  EXPECT_EQ(run.result().error().code(), ErrorCode::kModelUnavailable);
  broken = false;
  EXPECT_EQ(workflows->resume(workflow, key, run.id(), {.resume_thread = hook}).result().value().text(),
            "a knows 1");
}

TEST_F(ServiceThreadTest, AForkedRunBeginsAThreadOfItsOwnThatKnowsEverything) {
  const Workflow workflow = SequentialBuilder()
                                .add(keeping("a"), {.thread = ThreadKind::kService})
                                .add(saying("b", {"B.", "B again."}))
                                .build()
                                .value();
  workflows->run(workflow, "One.", {.session = "s"}).result().value();
  auto run = workflows->run(workflow, "Two.", {.session = "s"});
  const WorkflowOutcome second = run.result().value();
  const std::string before = binding_of(load(*store, key).value().session, "a").service_thread;
  const auto checkpoints = workflows->checkpoints(key, run.id()).value();
  auto again = workflows->fork(workflow, key, checkpoints.front().id);
  // b's script is over: what matters is what a's service was given.
  (void)again.result();
  Lines forked;
  for (const ThreadBinding& binding : load(*store, key).value().session.bindings) {
    if (binding.participant.text() != "a") continue;
    if (binding.service_thread != before) forked = keeper->lines_of(binding.service_thread);
  }
  EXPECT_THAT(forked, ElementsAre("One.", "says: a knows 1", "b: B.", "Two.", "says: a knows 4"));
}

// Three participants, one with a tool. Dies at every write there is, before it and after it.
TEST_F(ServiceThreadTest, DyingAtAnyWriteGivesTheServiceNothingTwiceAndLeavesNothingOut) {
  int paid = 0;
  const auto build = [&] {
    ToolPtr pay = make_tool("pay", "Pays.", [&paid](const ToolCall&) {
      ++paid;
      return std::string("paid");
    });
    return SequentialBuilder("three")
        .add(keeping("a"), {.thread = ThreadKind::kService})
        .add(keeping("b", {pay}), {.thread = ThreadKind::kService})
        .add(keeping("c"), {.thread = ThreadKind::kService})
        .build()
        .value();
  };
  const auto run_both = [&](const std::shared_ptr<Store>& on) -> Result<WorkflowOutcome> {
    auto turns = Engine::open({.store = on}).value();
    auto engine_of = WorkflowEngine::open({.engine = turns, .threads = 2}).value();
    auto first = engine_of->run(build(), "One.", {.session = "s", .run = "first"}).result();
    if (!first) return first;
    return engine_of->run(build(), "Two.", {.session = "s", .run = "second"}).result();
  };
  auto counting = std::make_shared<FaultStore>(open_memory_store(), 1'000'000, FaultStore::When::kBefore);
  ASSERT_TRUE(run_both(counting).ok());
  const int writes = counting->writes();
  for (int fatal = 1; fatal <= writes; ++fatal) {
    for (const auto when : {FaultStore::When::kBefore, FaultStore::When::kAfter}) {
      paid = 0;
      auto disk = std::shared_ptr<Store>(open_memory_store());
      (void)run_both(std::make_shared<FaultStore>(disk, fatal, when));
      ASSERT_TRUE(run_both(disk).ok());
      // What the service knows shows when it is asked once more: a turn that was found, not asked for, may
      // have left a thread behind.
      auto turns = Engine::open({.store = disk}).value();
      auto engine_of = WorkflowEngine::open({.engine = turns, .threads = 2}).value();
      const WorkflowOutcome outcome = engine_of->run(build(), "Three.", {.session = "s"}).result().value();
      EXPECT_LE(paid, 3) << "write " << fatal;
      const Transcript& transcript = outcome.snapshot.transcript;
      Lines of_b = expected_of(transcript, "b");
      of_b.pop_back();  // what c said after it
      EXPECT_EQ(kept_of(*disk, "b"), of_b) << "write " << fatal;
      EXPECT_EQ(kept_of(*disk, "c"), expected_of(transcript, "c")) << "write " << fatal;
    }
  }
}

// The wire of the Responses endpoint: what is said to a request is given by `answer`, as an item, with the id
// of the response.
class ResponsesEndpoint {
 public:
  struct Spoken {
    std::string id;
    JsonObject item;
  };
  using Answer = std::function<Spoken(const Json& request)>;

  explicit ResponsesEndpoint(Answer answer)
      : server_([answer = std::move(answer)](trial::RawConnection& client) {
          const std::string request = client.read_request();
          const Json body = parse_json(request.substr(request.find("\r\n\r\n") + 4)).value();
          client.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" +
                      events_of(answer(body)));
        }) {}

  std::shared_ptr<LanguageModel> model() const {
    return openai_responses_model(
        {.provider = {.base_url = server_.url("/v1"), .key = nullptr, .proxy = ""}, .store = true});
  }

 private:
  static std::string events_of(const Spoken& spoken) {
    const auto event = [](const Json& data) { return "data: " + to_text(data) + "\n\n"; };
    const JsonObject response{{"id", spoken.id}};
    std::string events = event(JsonObject{{"type", "response.created"}, {"response", response}});
    for (const char* type : {"response.output_item.added", "response.output_item.done"})
      events += event(JsonObject{{"type", type}, {"output_index", 0}, {"item", spoken.item}});
    return events + event(JsonObject{{"type", "response.completed"}, {"response", response}});
  }

  trial::RawServer server_;
};

JsonObject message_item(const std::string& text) {
  return {{"type", "message"}, {"content", JsonArray{JsonObject{{"type", "output_text"}, {"text", text}}}}};
}

// As the Responses endpoint, with what it keeps in a ThreadKeeper.
class ResponsesService {
 public:
  explicit ResponsesService(std::shared_ptr<ThreadKeeper> keeper)
      : keeper_(std::move(keeper)), endpoint_([this](const Json& request) { return answer(request); }) {}

  std::shared_ptr<LanguageModel> model() const { return endpoint_.model(); }

 private:
  ResponsesEndpoint::Spoken answer(const Json& request) {
    const Json* before = request.as_object()->find("previous_response_id");
    Lines added;
    for (const Json& item : *request.as_object()->find("input")->as_array()) {
      for (const Json& part : *item.as_object()->find("content")->as_array())
        added.push_back(*part.as_object()->find("text")->as_string());
    }
    const std::string said = "heard " + std::to_string(added.size());
    const std::string id = keeper_->go_on(before == nullptr ? "" : *before->as_string(), added, said);
    return {id, message_item(said)};
  }

  const std::shared_ptr<ThreadKeeper> keeper_;
  ResponsesEndpoint endpoint_;
};

TEST_F(ServiceThreadTest, TheResponsesEndpointIsGivenEachMessageOnce) {
  const ResponsesService service(keeper);
  const Workflow workflow = SequentialBuilder()
                                .add(saying("writer", {"A draft.", "A better one."}))
                                .add(agent_with("critic", service.model()), {.thread = ThreadKind::kService})
                                .build()
                                .value();
  workflows->run(workflow, "Write.", {.session = "s"}).result().value();
  restart();
  const WorkflowOutcome outcome = workflows->run(workflow, "Again.", {.session = "s"}).result().value();
  EXPECT_THAT(lines_of(outcome.snapshot.transcript),
              ElementsAre("user: Write.", "writer: A draft.", "critic: heard 2", "user: Again.",
                          "writer: A better one.", "critic: heard 2"));
  EXPECT_THAT(kept_of(*store, "critic"), ElementsAre("Write.", "writer: A draft.", "says: heard 2", "Again.",
                                                     "writer: A better one.", "says: heard 2"));
}

// As the Responses endpoint with conversations: each request adds its input and its answer. Calls `pay` once
// for each word of the user.
class ConversationService {
 public:
  ConversationService() : endpoint_([this](const Json& request) { return answer(request); }) {}

  std::shared_ptr<LanguageModel> model() const { return endpoint_.model(); }
  Lines lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  static std::string line_of(const JsonObject& item) {
    if (*item.find("type")->as_string() == "function_call_output")
      return "output of " + *item.find("call_id")->as_string() + ": " + *item.find("output")->as_string();
    if (*item.find("type")->as_string() == "function_call") return "a call that it has";
    return *item.find("content")->as_array()->front().as_object()->find("text")->as_string();
  }

  ResponsesEndpoint::Spoken answer(const Json& request) {
    const std::lock_guard lock(mutex_);
    // A turn that the engine finds after a death, before its workflow does, is gone on with by itself: it
    // brings everything, and no conversation hears of it.
    const bool kept = request.as_object()->find("conversation") != nullptr;
    Lines given;
    for (const Json& item : *request.as_object()->find("input")->as_array())
      given.push_back(line_of(*item.as_object()));
    const bool calls = !given.back().starts_with("output of");
    if (kept) lines_.insert(lines_.end(), given.begin(), given.end());
    JsonObject item = message_item("Paid.");
    if (calls) {
      const std::string id = "call_" + std::to_string(kept ? lines_.size() : 0);
      item = {{"type", "function_call"}, {"call_id", id}, {"name", "pay"}, {"arguments", "{}"}};
    }
    if (kept) lines_.push_back(calls ? "calls " + *item.find("call_id")->as_string() : "says: Paid.");
    return {"resp_" + std::to_string(lines_.size()), std::move(item)};
  }

  mutable std::mutex mutex_;
  Lines lines_;
  ResponsesEndpoint endpoint_;
};

TEST_F(ServiceThreadTest, AConversationIsGivenTheResultsOfToolsAlone) {
  const ConversationService service;
  ToolPtr pay = make_tool("pay", "Pays.", [](const ToolCall&) { return std::string("10 coins"); });
  const auto build = [&] {
    return SequentialBuilder()
        .add(agent_with("a", service.model(), {pay}), {.thread = ThreadKind::kService})
        .build()
        .value();
  };
  const ResumeHook hook = [](const ThreadBinding&, const std::vector<Message>&) -> Result<std::string> {
    return std::string("conv_1");
  };
  workflows->run(build(), "One.", {.session = "s", .resume_thread = hook}).result().value();
  restart();
  const WorkflowOutcome outcome =
      workflows->run(build(), "Two.", {.session = "s", .resume_thread = hook}).result().value();
  EXPECT_EQ(outcome.text(), "Paid.");
  EXPECT_THAT(service.lines(),
              ElementsAre("One.", "calls call_1", "output of call_1: 10 coins", "says: Paid.", "Two.",
                          "calls call_5", "output of call_5: 10 coins", "says: Paid."));
}

// Dies between a call and its result: the process that goes on sends the result to where the call is.
TEST_F(ServiceThreadTest, AConversationIsGoneOnWithAfterADeathBetweenACallAndItsResult) {
  const ResumeHook hook = [](const ThreadBinding&, const std::vector<Message>&) -> Result<std::string> {
    return std::string("conv_1");
  };
  int paid = 0;
  ToolPtr pay = make_tool("pay", "Pays.", [&paid](const ToolCall&) {
    ++paid;
    return std::string("10 coins");
  });
  const auto run_on = [&](const std::shared_ptr<Store>& on, const ConversationService& service) {
    const Workflow workflow =
        SequentialBuilder("one")
            .add(agent_with("a", service.model(), {pay}), {.thread = ThreadKind::kService})
            .build()
            .value();
    auto turns = Engine::open({.store = on}).value();
    auto engine_of = WorkflowEngine::open({.engine = turns, .threads = 2}).value();
    return engine_of->run(workflow, "One.", {.session = "s", .resume_thread = hook, .run = "r"}).result();
  };
  const ConversationService whole;
  auto counting = std::make_shared<FaultStore>(open_memory_store(), 1'000'000, FaultStore::When::kBefore);
  ASSERT_TRUE(run_on(counting, whole).ok());
  int undisturbed = 0;
  for (int fatal = 1; fatal <= counting->writes(); ++fatal) {
    paid = 0;
    const ConversationService service;
    auto disk = std::shared_ptr<Store>(open_memory_store());
    (void)run_on(std::make_shared<FaultStore>(disk, fatal, FaultStore::When::kAfter), service);
    ASSERT_TRUE(run_on(disk, service).ok()) << "write " << fatal;
    EXPECT_LE(paid, 1) << "write " << fatal;
    const Lines lines = service.lines();
    for (const std::string& line : lines) EXPECT_NE(line, "a call that it has") << "write " << fatal;
    if (lines == whole.lines()) ++undisturbed;
  }
  EXPECT_GE(undisturbed, 1) << "what was noted before the death is not sent again";
}

}  // namespace service_thread_test
}  // namespace tertulia
