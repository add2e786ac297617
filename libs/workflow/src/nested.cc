#include "tertulia/workflow/nested.h"

#include <array>
#include <utility>

#include <sodium.h>

#include "tertulia/tools/function_tool.h"

#include "engine_parts.h"
#include "node_call.h"
#include "run_machine.h"

namespace tertulia {
namespace {

// A name for a run that stands for `key`, the same each time.
std::string run_for(std::string_view key) {
  std::array<unsigned char, 16> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(key.data()), key.size(),
                     nullptr, 0);
  std::string text(2 * hash.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), hash.data(), hash.size());
  text.resize(26);
  return text;
}

// The run of a nested workflow, for one call of its node. Lives until it has answered.
class InnerRun : public std::enable_shared_from_this<InnerRun> {
 public:
  InnerRun(NodeCall& call, const Workflow& workflow, WorkflowNodeOptions options, Done<void> done)
      : call_(call), workflow_(workflow), options_(options), done_(std::move(done)) {}

  Result<void> begin() {
    const StepView& step = call_.view();
    RunPlan plan{.how = RunPlan::How::kRun, .workflow = workflow_};
    if (call_.answer() != nullptr) {
      TERTULIA_TRY(pass_answer(plan));
    } else {
      plan.options.run = run_for(call_.key());
      plan.options.tenant = step.key.tenant;
      plan.options.owner = step.key.owner;
      if (options_.share_session && step.durable && !step.conversation->transcript().empty()) {
        share(plan);
      } else {
        plan.options.session = "~run-" + plan.options.run;
        TERTULIA_TRY(give_words(plan));
      }
    }
    log_ = std::make_shared<RunLog>(step.parts->clock());
    machine_ = std::make_shared<RunMachine>(step.parts, std::move(plan), log_);
    cancel_ = call_.cancel().on_cancel([weak = weak_from_this()](CancelReason reason) {
      if (const auto self = weak.lock()) self->machine_->cancel(reason);
    });
    machine_->start();
    log_->wait([self = shared_from_this()](Result<WorkflowOutcome> outcome) {
      const auto end = [self, outcome = std::move(outcome)] { self->end(outcome); };
      if (!self->call_.view().parts->pool->post(end)) end();
    });
    return {};
  }

 private:
  // On a fork of the shared branch, which has all that was said.
  void share(RunPlan& plan) const {
    const StepView& step = call_.view();
    const Transcript& transcript = step.conversation->transcript();
    plan.options.session = step.key.session.text();
    plan.options.branch = BranchId::parse("run-" + plan.options.run).value_or({});
    plan.origin = ForkOrigin{.parent = step.conversation->shared().id, .at_index = transcript.size() - 1};
  }

  Result<void> give_words(RunPlan& plan) const {
    const Transcript& transcript = call_.conversation().transcript();
    const Result<ConversationUpdate> update = call_.message().as<ConversationUpdate>();
    if (update) {
      plan.input.text = update->text;
    } else {
      plan.input.message = call_.message();
    }
    for (std::size_t i = transcript.size(); i > 0 && update && plan.input.text.empty(); --i) {
      plan.input.text = transcript[i - 1].text_content();
    }
    return {};
  }

  // The answer to a request that was the inner run's.
  Result<void> pass_answer(RunPlan& plan) const {
    const InfoAnswer& answer = *call_.answer();
    TERTULIA_TRY_AS(const Json inner, parse_json(answer.request.inner));
    JsonReader in(inner, "inner request");
    plan.how = RunPlan::How::kResume;
    plan.run = in.required_string("run");
    const std::string request = in.required_string("request");
    plan.key = call_.view().key;
    Result<SessionId> session = SessionId::parse(in.required_string("session"));
    TERTULIA_TRY(in.finish());
    if (!session) return std::move(session).error();
    plan.key.session = *std::move(session);
    Note note{.key = plan.key, .conditions = {}, .changes = {}};
    note.changes.emplace_back(AddRecord{{.stream = answer_stream(plan.run, request),
                                         .number = 1,
                                         .time = call_.view().parts->clock().now(),
                                         .key = request,
                                         .name = std::string(kAnswerName),
                                         .payload = to_text(answer.answer)}});
    Result<void> noted = tertulia::note(*call_.view().parts->store(), std::move(note));
    // It was passed on before a crash.
    if (!noted && noted.error().code() != ErrorCode::kRevisionConflict) return noted;
    return {};
  }

  void end(const Result<WorkflowOutcome>& outcome) {
    Result<void> taken = outcome ? take(*outcome) : Result<void>(outcome.error());
    const Done<void> done = std::move(done_);
    cancel_ = {};
    done(std::move(taken));
  }

  Result<void> take(const WorkflowOutcome& outcome) {
    TERTULIA_TRY(call_.cancel().check());
    if (options_.share_session) call_.effects().durable_turn = true;
    for (const InfoRequest& request : outcome.requests) {
      const std::string inner = to_text(
          JsonObject{{"session", outcome.key.session.text()}, {"run", outcome.run}, {"request", request.id}});
      if (!asked_already(inner)) call_.request(request.data, inner);
    }
    if (outcome.status == WorkflowStatus::kWaiting) return {};
    const std::string text = outcome.text();
    TERTULIA_TRY(call_.say(text));
    call_.send(ConversationUpdate{.from = call_.node(), .text = text});
    call_.output(text);
    return {};
  }

  bool asked_already(const std::string& inner) const {
    for (const InfoRequest& request : call_.view().state->requests) {
      if (request.inner == inner) return true;
    }
    return false;
  }

  NodeCall& call_;
  const Workflow workflow_;
  const WorkflowNodeOptions options_;
  Done<void> done_;
  std::shared_ptr<RunLog> log_;
  std::shared_ptr<RunMachine> machine_;
  CancelRegistration cancel_;
};

// Speaks by running a workflow on the conversation that it is shown.
class WorkflowModel final : public LanguageModel {
 public:
  explicit WorkflowModel(Workflow workflow) : workflow_(std::move(workflow)) {
    engine_ = Engine::open({}).value();
    workflows_ = WorkflowEngine::open({.engine = engine_}).value();
  }

  ModelInfo info(std::string_view model) const override {
    return {.name = std::string(model), .tokenizer = estimating_tokenizer(), .tools = false};
  }

  void respond(ModelCall call, Done<ModelResponse> done) override {
    std::vector<Message> messages;
    for (const Message& message : call.request.view) {
      if (message.role() == Role::kUser || message.role() == Role::kAssistant) messages.push_back(message);
    }
    auto run = std::make_shared<WorkflowRun>(workflows_->run(workflow_, std::move(messages)));
    auto stop =
        std::make_shared<CancelRegistration>(call.cancel.on_cancel([run](CancelReason) { run->cancel(); }));
    run->result([run, stop, on_delta = call.on_delta, model = call.request.model,
                 done = std::move(done)](Result<WorkflowOutcome> outcome) {
      if (!outcome) return done(std::move(outcome).error());
      if (outcome->status == WorkflowStatus::kCancelled) {
        return done(Error(ErrorCode::kCancelled, "the workflow was cancelled"));
      }
      if (!outcome->requests.empty()) {
        return done(
            Error(ErrorCode::kUnsupportedParameter,
                  "the workflow asks a person, which one that stands for an agent cannot; run it by itself"));
      }
      const std::string text = outcome->text();
      if (on_delta) on_delta({.kind = ModelDelta::Kind::kText, .text = text});
      done(ModelResponse{.parts = {{.text = text}}, .model = model});
    });
  }

 private:
  const Workflow workflow_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<WorkflowEngine> workflows_;
};

std::string signature_hash(const Workflow& workflow) {
  std::string all;
  for (const std::string& line : workflow.signature()) all += line + "\n";
  return run_for(all);
}

}  // namespace

Node workflow_node(std::string id, Workflow workflow, WorkflowNodeOptions options) {
  Node node;
  node.id = std::move(id);
  // What is inside belongs to what must not change.
  node.kind = "workflow " + workflow.name() + " " + signature_hash(workflow);
  node.body = [workflow = std::move(workflow), options](NodeContext& context, const Done<void>& done) {
    auto run = std::make_shared<InnerRun>(static_cast<NodeCall&>(context), workflow, options, done);
    if (auto begun = run->begin(); !begun) done(std::move(begun).error());
  };
  return node;
}

ToolPtr workflow_tool(WorkflowEngine& workflows, Workflow workflow, std::string name,
                      std::string description) {
  const Json parameters = JsonObject{
      {"type", "object"},
      {"properties",
       JsonObject{{"message", JsonObject{{"type", "string"}, {"description", "What is wanted."}}}}},
      {"required", JsonArray{"message"}}};
  return make_raw_async_tool(
      std::move(name), std::move(description), parameters,
      [&workflows, workflow = std::move(workflow)](const ToolCall& call, Done<ToolOutput> done) {
        const Json* message = call.arguments.as_object()->find("message");
        WorkflowOptions options{.run = run_for(call.key)};
        options.session = "~run-" + options.run;
        options.tenant = call.tenant;
        options.owner = call.owner;
        auto run =
            std::make_shared<WorkflowRun>(workflows.run(workflow, *message->as_string(), std::move(options)));
        auto stop = std::make_shared<CancelRegistration>(
            call.cancel.on_cancel([run](CancelReason) { run->cancel(); }));
        run->result([run, stop, done = std::move(done)](Result<WorkflowOutcome> outcome) {
          if (!outcome) return done(std::move(outcome).error());
          if (outcome->requests.empty()) return done(ToolOutput{.text = outcome->text()});
          done(ToolOutput{.text = "The workflow waits for an answer of a person (run " + outcome->run + ").",
                          .failed = true});
        });
      },
      {.tool_class = ToolClass::kIdempotent});
}

AgentDefinitionPtr workflow_agent(Workflow workflow, std::string_view id) {
  AgentDefinition definition{.spec = {},
                             .model = std::make_shared<WorkflowModel>(workflow),
                             .model_name = workflow.name(),
                             .tools = std::make_shared<ToolRegistry>()};
  definition.spec.id = AgentId::parse(id).value();
  definition.spec.name = std::string(id);
  definition.spec.model = "workflow/" + workflow.name();
  return std::make_shared<const AgentDefinition>(std::move(definition));
}

}  // namespace tertulia
