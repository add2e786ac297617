// A workflow as an agent: its turns are runs, and what a run asks are calls of a tool that people answer.
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "tertulia/workflow/nested.h"

#include "nested_run.h"

namespace tertulia {
namespace {

constexpr std::string_view kRequestTool = "request_info";
// How long a question of a run waits.
constexpr auto kPatience = std::chrono::hours(24 * 7);
constexpr std::uint32_t kMaxQuestions = 10'000;

// Declared so that its calls become questions of the turn; whoever answers them has run it.
class RequestInfoTool final : public Tool {
 public:
  RequestInfoTool() {
    definition_.name = kRequestTool;
    definition_.description = "Asks a person something that a workflow wants to know.";
    definition_.parameters = JsonText::of(JsonObject{{"type", "object"}, {"properties", JsonObject{}}});
  }
  const ToolDefinition& definition() const override { return definition_; }
  bool runs_at_client() const override { return true; }
  void run(ToolCall /*call*/, Done<ToolOutput> done) override {
    done(ToolOutput{.text = "Nobody is there to be asked.", .failed = true});
  }

 private:
  ToolDefinition definition_;
};

// What people answered, if that is what the model is to go on with.
struct GivenAnswers {
  std::map<std::string, Json> answers;
  bool refused = false;
};

// A text, or the member `answer` of an object that has nothing else.
Json answer_in(std::string_view output) {
  if (const Result<Json> value = parse_json(output); value && value->as_object() != nullptr) {
    const Json* answer = value->as_object()->find("answer");
    if (answer != nullptr && value->as_object()->size() == 1) return *answer;
  }
  return std::string(output);
}

std::string request_of(const Part& call) {
  const Result<Json> arguments = parse_json(call.text);
  const JsonObject* object = arguments ? arguments->as_object() : nullptr;
  const Json* request = object == nullptr ? nullptr : object->find("request");
  return request == nullptr || request->as_string() == nullptr ? std::string() : *request->as_string();
}

void take_results(const Message& call, const Message& results, GivenAnswers& given) {
  for (std::size_t i = 0; i < results.part_count(); ++i) {
    const Part result = results.part(i);
    if (result.kind != PartKind::kToolResult) continue;
    for (std::size_t n = 0; n < call.part_count(); ++n) {
      const Part asked = call.part(n);
      if (asked.kind != PartKind::kToolCall || asked.call_id != result.call_id) continue;
      if (result.outcome != ToolOutcome::kOk) given.refused = true;
      given.answers.emplace(request_of(asked), answer_in(result.text));
    }
  }
}

// The results of the calls that the turn's last answer made.
std::optional<GivenAnswers> answers_in(const std::vector<Message>& view, bool first_call) {
  std::size_t asked = view.size();
  bool answered = false;
  while (asked > 0 && view[asked - 1].role() != Role::kAssistant) {
    --asked;
    answered = answered || view[asked].role() == Role::kTool;
    // What was said before this turn is no answer.
    if (first_call && !answered && view[asked].role() == Role::kUser) return std::nullopt;
  }
  if (asked == 0 || !answered) return std::nullopt;
  GivenAnswers given;
  for (std::size_t i = asked; i < view.size(); ++i) {
    if (view[i].role() == Role::kTool) take_results(view[asked - 1], view[i], given);
  }
  return given;
}

// The conversation as a run is given it: words only. What people were asked, and what they answered, are
// words too.
Result<std::vector<Message>> words_in(const std::vector<Message>& view) {
  std::vector<Message> words;
  for (const Message& message : view) {
    if (message.role() == Role::kSystem || message.role() == Role::kContext) continue;
    const bool plain = message.role() == Role::kUser || !message.has_tool_calls();
    if (plain && message.role() != Role::kTool) {
      words.push_back(message);
      continue;
    }
    std::string text = message.text_content();
    for (std::size_t i = 0; i < message.part_count() && message.role() == Role::kTool; ++i) {
      if (message.part(i).outcome == ToolOutcome::kOk) text += std::string(message.part(i).text);
    }
    if (text.empty()) continue;
    MessageDraft draft{.id = message.id(),
                       .role = message.role() == Role::kTool ? Role::kUser : Role::kAssistant,
                       .time = message.time(),
                       .author = message.role() == Role::kTool ? std::string_view() : message.author(),
                       .parts = {Part::text_of(text)}};
    TERTULIA_TRY_AS(Message made, Message::make(draft));
    words.push_back(std::move(made));
  }
  return words;
}

ModelResponse spoken(std::string text, const std::string& model) {
  return {.parts = {{.text = std::move(text)}}, .model = model};
}

// What a run came to, as the answer of a model.
Result<ModelResponse> response_of(const WorkflowOutcome& outcome, bool durable, const std::string& model) {
  if (outcome.status == WorkflowStatus::kCancelled)
    return Error(ErrorCode::kCancelled, "the workflow was cancelled");
  if (outcome.requests.empty()) return spoken(outcome.text(), model);
  if (!durable) {
    return Error(ErrorCode::kUnsupportedParameter,
                 "the workflow asks a person, and nothing is kept of it until somebody answers; give "
                 "workflow_agent a workflow engine that has a store, and run it in a session");
  }
  ModelResponse response{.finish = Finish::kToolCalls, .model = model};
  for (const InfoRequest& request : outcome.requests) {
    response.parts.push_back(
        {.kind = PartKind::kToolCall,
         .text = to_text(JsonObject{
             {"run", outcome.run}, {"request", request.id}, {"from", request.node}, {"data", request.data}}),
         .name = std::string(kRequestTool),
         .call_id = request.id});
  }
  return response;
}

// Waits for a run and tells what came of it.
void follow(WorkflowRun started, ModelCall call, bool durable, Done<ModelResponse> done) {
  auto run = std::make_shared<WorkflowRun>(std::move(started));
  auto stop = std::make_shared<CancelRegistration>(call.cancel.on_cancel([run](CancelReason reason) {
    // A shutdown leaves the run as it is, for the next process.
    if (reason != CancelReason::kShutdown) run->cancel();
  }));
  run->result([run, stop, durable, on_delta = call.on_delta, model = call.request.model,
               done = std::move(done)](Result<WorkflowOutcome> outcome) {
    if (!outcome) return done(std::move(outcome).error());
    Result<ModelResponse> response = response_of(*outcome, durable, model);
    if (response && on_delta && response->finish == Finish::kStop)
      on_delta({.kind = ModelDelta::Kind::kText, .text = response->parts.front().text});
    done(std::move(response));
  });
}

// Speaks by running a workflow on the conversation that it is shown. Nothing is kept of the run.
class WorkflowModel final : public LanguageModel {
 public:
  explicit WorkflowModel(Workflow workflow) : workflow_(std::move(workflow)) {
    engine_ = Engine::open({}).value();
    workflows_ = WorkflowEngine::open({.engine = engine_}).value();
  }

  ModelInfo info(std::string_view model) const override {
    return {.name = std::string(model), .tokenizer = estimating_tokenizer()};
  }

  void respond(ModelCall call, Done<ModelResponse> done) override {
    Result<std::vector<Message>> words = words_in(call.request.view.to_vector());
    if (!words) return done(std::move(words).error());
    follow(workflows_->run(workflow_, *std::move(words)), std::move(call), false, std::move(done));
  }

 private:
  const Workflow workflow_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<WorkflowEngine> workflows_;
};

// Stands in place of the model in a turn of a session: the turn's run is kept, and found again by the turn.
class DurableRuns final : public Middleware {
 public:
  DurableRuns(WorkflowEngine& workflows, Workflow workflow)
      : workflows_(workflows), workflow_(std::move(workflow)) {}

  std::string_view name() const override { return "workflow"; }

  void around_model_call(const TurnInfo& turn, ModelCall call, NextModelCall next,
                         Done<ModelResponse> done) override {
    if (turn.key.session.empty() || workflows_.engine().store() == nullptr)
      return next(std::move(call), std::move(done));
    const std::vector<Message> view = call.request.view.to_vector();
    std::optional<GivenAnswers> given = answers_in(view, turn.iteration <= 1);
    if (given && given->refused) {
      return done(spoken("What was asked was not answered, so the work did not go on.", call.request.model));
    }
    WorkflowOptions options = options_for(turn.turn.text() + "/" + turn.agent.text(), turn.key);
    if (given) options.answers = std::move(given->answers);
    Result<std::vector<Message>> words = words_in(view);
    if (!words) return done(std::move(words).error());
    follow(workflows_.run(workflow_, *std::move(words), std::move(options)), std::move(call), true,
           std::move(done));
  }

 private:
  WorkflowEngine& workflows_;
  const Workflow workflow_;
};

std::shared_ptr<AgentDefinition> definition_of(const Workflow& workflow, std::string_view id) {
  auto definition = std::make_shared<AgentDefinition>();
  definition->spec.id = AgentId::parse(id).value();
  definition->spec.name = std::string(id);
  definition->spec.model = "workflow/" + workflow.name();
  definition->model = std::make_shared<WorkflowModel>(workflow);
  definition->model_name = workflow.name();
  definition->tools = std::make_shared<ToolRegistry>();
  return definition;
}

}  // namespace

AgentDefinitionPtr workflow_agent(Workflow workflow, std::string_view id) {
  return definition_of(workflow, id);
}

AgentDefinitionPtr workflow_agent(WorkflowEngine& workflows, Workflow workflow, std::string_view id) {
  auto definition = definition_of(workflow, id);
  definition->spec.limits.turn_timeout = kPatience;
  definition->spec.limits.max_iterations = kMaxQuestions;
  definition->spec.limits.max_tool_rounds = kMaxQuestions;
  definition->tools->add(std::make_shared<RequestInfoTool>()).value();
  definition->middleware.push_back(std::make_shared<DurableRuns>(workflows, std::move(workflow)));
  return definition;
}

}  // namespace tertulia
