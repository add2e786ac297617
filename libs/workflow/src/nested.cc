#include "tertulia/workflow/nested.h"

#include <array>
#include <utility>

#include <sodium.h>

#include "engine_parts.h"
#include "nested_run.h"
#include "node_call.h"
#include "run_machine.h"

namespace tertulia {

std::string run_for(std::string_view key) {
  std::array<unsigned char, 16> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(key.data()), key.size(),
                     nullptr, 0);
  std::string text(2 * hash.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), hash.data(), hash.size());
  text.resize(26);
  return text;
}

WorkflowOptions options_for(std::string_view key, const SessionKey& parent) {
  WorkflowOptions options;
  options.run = run_for(key);
  options.session = "~run-" + options.run;
  options.tenant = parent.tenant;
  options.owner = parent.owner;
  options.inside_of = parent.session;
  return options;
}

namespace {

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
      plan.options = options_for(call_.key(), step.key);
      if (options_.share_session && step.durable && !step.conversation->transcript().empty()) {
        share(plan);
      } else {
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
      self->call_.view().strand->post([self, outcome = std::move(outcome)] { self->end(outcome); });
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
    plan.options.answers.emplace(request, answer.answer);
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
  node.inner = std::make_shared<const Workflow>(workflow);
  node.body = [workflow = std::move(workflow), options](NodeContext& context, const Done<void>& done) {
    auto run = std::make_shared<InnerRun>(static_cast<NodeCall&>(context), workflow, options, done);
    if (auto begun = run->begin(); !begun) done(std::move(begun).error());
  };
  return node;
}

}  // namespace tertulia
