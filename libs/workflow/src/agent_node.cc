#include "tertulia/workflow/agent_node.h"

#include <atomic>
#include <memory>
#include <utility>

#include "tertulia/base/thread_annotations.h"

#include "caught.h"
#include "engine_parts.h"
#include "node_call.h"
#include "service_thread.h"

namespace tertulia {
namespace {

std::string text_in(const Json& value) {
  if (value.as_string() != nullptr) return *value.as_string();
  const JsonObject* object = value.as_object();
  const Json* text = object == nullptr ? nullptr : object->find("text");
  return text == nullptr || text->as_string() == nullptr ? std::string() : *text->as_string();
}

void hand_on(NodeContext& context, const std::string& text) {
  context.send(ConversationUpdate{.from = context.node(), .text = text});
  context.output(text);
}

// One turn of an agent, in the name of a node. Lives until it has answered.
class Speaking : public std::enable_shared_from_this<Speaking> {
 public:
  Speaking(NodeCall& call, std::shared_ptr<const AgentNodeOptions> options, Done<void> done)
      : call_(call), speaker_(*call.spec().speaker), options_(std::move(options)), done_(std::move(done)) {}

  Result<void> begin() {
    const StepView& step = call_.view();
    thread_ = speaker_.thread;
    if (!step.durable && thread_ != ThreadKind::kService) thread_ = ThreadKind::kShared;
    TERTULIA_TRY_AS(view_, call_.conversation().view_for(call_.node(), thread_));
    TERTULIA_TRY(hear_text());
    binding_ = call_.conversation().resolve_thread(call_.node());
    if (thread_ == ThreadKind::kService) TERTULIA_TRY(open_service_thread());
    Input input;
    for (const Message& message : view_.delta) {
      TERTULIA_TRY_AS(Message with_id, identified(message));
      input.messages.push_back(std::move(with_id));
    }
    Engine& engine = *step.parts->engine;
    RunOptions options = options_->run;
    options.tenant = step.key.tenant;
    options.owner = step.key.owner;
    options.branch.reset();
    if (service_) options.model = service_;
    if (!step.durable || thread_ == ThreadKind::kShared) {
      branch_.transcript = std::move(view_.history);
      // forward() would drop them.
      options.receipts = false;
      // Where the run decides what comes next: nobody has to be woken for a model that answers at once.
      run_.emplace(engine.run_on(speaker_.agent, std::move(input), &branch_, std::move(options),
                                 step.strand->executor()));
    } else {
      options.branch = step.threads->at(call_.node());
      // The service's own thread has what it was given.
      if (thread_ != ThreadKind::kService)
        options.projection = call_.conversation().projection_for(call_.node(), thread_);
      options.idempotency_key = call_.key();
      options.on_busy = OnBusy::kQueue;
      run_.emplace(engine.run(speaker_.agent, std::move(input), step.key.session.text(), std::move(options)));
    }
    durable_turn_ = step.durable && thread_ != ThreadKind::kShared;
    cancel_ = call_.cancel().on_cancel([weak = weak_from_this()](CancelReason reason) {
      if (const auto self = weak.lock()) self->stop(reason);
    });
    return {};
  }

  // Reads events as they come; the next one may be there before next() returns.
  void read() {
    while (true) {
      auto met = std::make_shared<std::atomic<bool>>(false);
      run_->next([self = shared_from_this(), met](Result<std::optional<Event>> event) {
        if (!event || !*event) return self->end_later();
        self->forward(**std::move(event));
        if (met->exchange(true)) self->read();
      });
      if (!met->exchange(true)) return;
    }
  }

 private:
  // At a shutdown a turn that has a journal is left where it is, perhaps waiting for a person: whoever
  // resumes the run finds it by its key.
  void stop(CancelReason reason) {
    if (reason != CancelReason::kShutdown || !durable_turn_) return run_->cancel();
    Done<void> done;
    {
      MutexLock lock(mutex_);
      if (!ending_) done = std::exchange(done_, nullptr);
    }
    if (done) done(call_.cancel().check());
  }

  // Text that was sent to the node, or answered to it, is said by the user before it speaks.
  Result<void> hear_text() {
    const WorkflowMessage& message = call_.message();
    if (call_.answer() == nullptr && message.type != message_type<std::string>()) return {};
    const std::string text = text_in(message.data);
    if (text.empty()) return {};
    const StepView& step = call_.view();
    TERTULIA_TRY_AS(Message heard, Message::text(MessageId(step.parts->uuids.make()), Role::kUser, text,
                                                 step.parts->clock().now()));
    if (view_.delta.size() == 1 && view_.delta[0].id().empty()) view_.delta.clear();
    view_.delta.push_back(heard);
    if (!options_->silent) call_.effects().said.push_back(std::move(heard));
    return {};
  }

  Result<void> open_service_thread() {
    const AgentDefinition& agent = *speaker_.agent;
    const RunOptions& run = options_->run;
    std::shared_ptr<LanguageModel> model = run.model ? run.model : agent.model;
    if (!model->info(run.model_name.empty() ? agent.model_name : run.model_name).service_threads) {
      return Error(ErrorCode::kUnsupportedParameter,
                   "the thread of '" + call_.node() +
                       "' is to be kept by its model's service, which keeps none; give it a thread of "
                       "another kind")
          .with("param", "thread");
    }
    TERTULIA_TRY(call_.conversation().replay_to_thread(binding_, view_, call_.view().options->resume_thread));
    service_ = std::make_shared<ServiceThread>(std::move(model), binding_.service_thread);
    return {};
  }

  Result<Message> identified(const Message& message) const {
    if (!message.id().empty()) return message;
    const StepView& step = call_.view();
    return Message::text(MessageId(step.parts->uuids.make()), message.role(), message.text_content(),
                         step.parts->clock().now());
  }

  // Turns tell of themselves; who watches a workflow wants the words, the tools and the questions.
  void forward(Event event) {
    MutexLock lock(mutex_);
    if (!done_) return;
    switch (event.kind) {
      case EventKind::kTextStarted:
      case EventKind::kTextDelta:
      case EventKind::kTextEnded:
      case EventKind::kReasoningStarted:
      case EventKind::kReasoningDelta:
      case EventKind::kReasoningEnded:
      case EventKind::kRetry:
      case EventKind::kReset:
        event.name = call_.node();
        break;
      case EventKind::kToolCallStarted:
      case EventKind::kToolCallArguments:
      case EventKind::kToolCallResult:
      case EventKind::kPermissionAsked:
      case EventKind::kPermissionGiven:
        break;
      default:
        return;
    }
    call_.tell(std::move(event));
  }

  // Not here: the Run must not be asked inside of its own completion, nor what is answered be let go of
  // there.
  void end_later() {
    {
      MutexLock lock(mutex_);
      if (!done_) return;
      ending_ = true;
    }
    call_.view().strand->post([self = shared_from_this()] { self->end(); });
  }

  void end() {
    Result<TurnOutcome> outcome = run_->result();
    Result<void> taken = caught("node '" + call_.node() + "'", [&]() -> Result<void> {
      if (!outcome) return outcome.error();
      return take(*outcome);
    });
    // A node that has answered may be gone.
    Done<void> done;
    {
      MutexLock lock(mutex_);
      done = std::exchange(done_, nullptr);
    }
    cancel_ = {};
    done(std::move(taken));
  }

  Result<void> take(const TurnOutcome& outcome) {
    TERTULIA_TRY_AS(std::vector<Message> said,
                    call_.conversation().merge_response(binding_, view_, outcome.messages));
    if (!options_->silent) call_.say(std::move(said));
    const bool cut = outcome.status == TurnStatus::kInterrupted;
    // The service does not know of words that were cut off.
    if (service_) binding_.service_thread = cut ? std::string() : service_->thread();
    call_.effects().binding = binding_;
    call_.effects().durable_turn = durable_turn_;
    if (cut) {
      TERTULIA_TRY(call_.cancel().check());
      return Error(ErrorCode::kTurnInterrupted,
                   "the turn of '" + call_.node() + "' was interrupted: " + outcome.reason);
    }
    if (options_->after) return options_->after(outcome, call_);
    if (options_->review) {
      call_.request_info(JsonObject{{"kind", "review"}, {"from", call_.node()}, {"text", outcome.text}});
      return {};
    }
    hand_on(call_, outcome.text);
    return {};
  }

  NodeCall& call_;
  const Speaker& speaker_;
  const std::shared_ptr<const AgentNodeOptions> options_;
  // Held while the call is spoken with, which lives until `done_` is called.
  Mutex mutex_;
  Done<void> done_ TERTULIA_GUARDED_BY(mutex_);
  // The turn is over, and its end is being told.
  bool ending_ TERTULIA_GUARDED_BY(mutex_) = false;
  bool durable_turn_ = false;
  ThreadKind thread_ = ThreadKind::kShared;
  ConversationView view_;
  ThreadBinding binding_;
  // Null unless the model's service keeps the thread.
  std::shared_ptr<ServiceThread> service_;
  Branch branch_;
  std::optional<Run> run_;
  CancelRegistration cancel_;
};

}  // namespace

Node agent_node(AgentDefinitionPtr agent, AgentNodeOptions options) {
  const bool tools = agent->tools && !agent->tools->snapshot()->entries().empty();
  Node node;
  node.id = options.id.empty() ? agent->spec.id.text() : options.id;
  node.accepts = {message_type<ConversationUpdate>(), {}};
  node.sends = {message_type<ConversationUpdate>()};
  node.on_failure = options.on_failure;
  Speaker speaker{.agent = agent,
                  .description = agent->spec.name,
                  .thread = options.thread.value_or(tools ? ThreadKind::kOwn : ThreadKind::kShared),
                  .policy = options.policy,
                  .selection = options.selection};
  // Without tools and without a branch of its own nothing happens but that a model is asked.
  node.harmless = !tools && speaker.thread == ThreadKind::kShared;
  // Whoever replays to a service may take their time.
  node.blocks = speaker.thread == ThreadKind::kService;
  node.kind = (options.review ? "reviewed agent " : "agent ") + agent->spec.id.text() + ", thread " +
              std::string(name_of(speaker.thread));
  node.speaker = std::move(speaker);
  // What comes after its turn here decides by the turn itself, which is gone when a person has answered.
  if (options.review && options.after)
    node.problem =
        "its answers cannot be reviewed here; ask before its tools run, or use a sequential workflow";
  auto shared = std::make_shared<const AgentNodeOptions>(std::move(options));
  node.body = [shared](NodeContext& context, const Done<void>& done) {
    const InfoAnswer* answer = context.answer();
    if (answer != nullptr && text_in(answer->answer).empty()) {
      // Nothing to say: a review is passed, any other question is closed.
      if (shared->review) hand_on(context, text_in(answer->request.data));
      return done({});
    }
    auto speaking = std::make_shared<Speaking>(static_cast<NodeCall&>(context), shared, done);
    if (auto begun = speaking->begin(); !begun) return done(std::move(begun).error());
    speaking->read();
  };
  return node;
}

Node agent_node(const Agent& agent, AgentNodeOptions options) {
  return agent_node(agent.definition_ptr(), std::move(options));
}

}  // namespace tertulia
