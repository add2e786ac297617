// Step 3: the model speaks. Its words are shown as they come; its answer counts when it is complete.
#include <memory>

#include "tertulia/base/utf8.h"
#include "tertulia/model/ask_model.h"

#include "call_chain.h"
#include "hooks.h"
#include "turn_work.h"

namespace tertulia {
namespace {

// How long a model may take to heed a cancel before the turn goes on without it.
constexpr auto kCancelGrace = std::chrono::seconds(2);

// What arguments that are no JSON object are kept as: a message holds only arguments that can be given back
// to any provider.
constexpr std::string_view kMalformed = "_malformed_arguments";

Event plain_event(EventKind kind) {
  Event event;
  event.kind = kind;
  return event;
}

// Turns deltas into events: opens and closes texts, and leaves out calls that may not be made.
class Teller {
 public:
  Teller(LiveTurnPtr live, std::shared_ptr<StagedAnswer> staged, std::uint32_t first_call, bool calls)
      : live_(std::move(live)), staged_(std::move(staged)), first_call_(first_call), calls_(calls) {}

  void tell(const ModelDelta& delta) {
    switch (delta.kind) {
      case ModelDelta::Kind::kText:
        open(EventKind::kTextStarted);
        staged_->add_text(delta.text);
        live_->log.add_delta(EventKind::kTextDelta, 0, {}, delta.text);
        return;
      case ModelDelta::Kind::kReasoning:
        open(EventKind::kReasoningStarted);
        live_->log.add_delta(EventKind::kReasoningDelta, 0, {}, delta.text);
        return;
      case ModelDelta::Kind::kToolCall:
        if (!calls_) return;
        close();
        start_call(delta.index, delta.call_id, delta.name);
        return;
      case ModelDelta::Kind::kToolArguments:
        if (!calls_) return;
        live_->log.add_delta(EventKind::kToolCallArguments, first_call_ + delta.index, delta.call_id,
                             delta.text);
        return;
      case ModelDelta::Kind::kRetry:
        restart(delta);
        return;
    }
  }

  // The answer is complete: what it holds and was not told is told now, so that a model that does not stream
  // looks like one that does.
  void finish(const ModelResponse& response) {
    std::string text;
    for (const AnswerPart& part : response.parts) {
      if (part.kind == PartKind::kText) text += part.text;
    }
    const std::string told = staged_->text();
    if (told.size() < text.size() && text.starts_with(told)) {
      tell({.kind = ModelDelta::Kind::kText, .text = std::string_view(text).substr(told.size())});
    }
    close();
    std::uint32_t index = 0;
    for (const AnswerPart& part : response.parts) {
      if (part.kind != PartKind::kToolCall) continue;
      if (calls_ && index >= calls_told_) {
        start_call(index, part.call_id, part.name);
        live_->log.add_delta(EventKind::kToolCallArguments, first_call_ + index, part.call_id, part.text);
      }
      ++index;
    }
  }

  void close() {
    if (open_ == EventKind::kTextStarted) live_->log.add(plain_event(EventKind::kTextEnded));
    if (open_ == EventKind::kReasoningStarted) live_->log.add(plain_event(EventKind::kReasoningEnded));
    open_.reset();
  }

 private:
  void open(EventKind kind) {
    if (open_ == kind) return;
    close();
    live_->log.add(plain_event(kind));
    open_ = kind;
  }

  void start_call(std::uint32_t index, std::string_view call_id, std::string_view name) {
    Event event = plain_event(EventKind::kToolCallStarted);
    event.index = first_call_ + index;
    event.call_id = call_id;
    event.name = name;
    live_->log.add(std::move(event));
    ++calls_told_;
  }

  void restart(const ModelDelta& delta) {
    const bool told = open_ || calls_told_ > 0 || !staged_->text().empty();
    open_.reset();
    calls_told_ = 0;
    staged_->clear();
    Event retry = plain_event(EventKind::kRetry);
    retry.index = delta.index;
    retry.text = delta.text;
    live_->log.add(std::move(retry));
    if (!told) return;
    Event reset = plain_event(EventKind::kReset);
    reset.text = delta.text;
    live_->log.add(std::move(reset));
  }

  LiveTurnPtr live_;
  std::shared_ptr<StagedAnswer> staged_;
  std::uint32_t first_call_;
  bool calls_;
  std::uint32_t calls_told_ = 0;
  std::optional<EventKind> open_;
};

ModelRequest request_for(const TurnWork& work, View view) {
  ModelRequest request;
  request.model = work.model_name();
  request.view = std::move(view);
  request.options = work.options.speech;
  if (work.options.tools) request.tools = work.agent->tools->snapshot()->definitions();
  if (work.last_call && !request.tools.empty()) request.options.tool_choice = ToolChoice::kNone;
  request.idempotency_key = work.live->id().text() + "/" + std::to_string(work.iteration);
  return request;
}

// What a model call and the turn that waits for it share. The model may go on talking when nobody waits any
// more.
struct Conversation {
  // Null: the turn is to stop. By pointer, because several coroutines have room for one while they wait.
  using Answer = std::unique_ptr<Result<ModelResponse>>;

  explicit Conversation(Teller told) : teller(std::move(told)) {}

  Mailbox<Answer> answers;
  Mutex mutex;
  // Talking and stopping to listen exclude each other.
  bool listening TERTULIA_GUARDED_BY(mutex) = true;
  Teller teller;
  // Null without middleware.
  std::shared_ptr<NextModelCall::Chain> chain{};
};
using ConversationPtr = std::shared_ptr<Conversation>;

// Through the wrappers of the middleware, if there are any; they may outlive the turn.
std::shared_ptr<NextModelCall::Chain> chain_for(TurnWork& work) {
  auto chain = std::make_shared<NextModelCall::Chain>();
  chain->agent = work.agent;
  chain->turn = TurnContext(work).info();
  chain->crew = work.engine.crew;
  chain->timers = work.engine.timers;
  chain->cancel = work.live->cancel.token();
  chain->model = work.options.model ? work.options.model : work.agent->model;
  return chain;
}

void start_call(TurnWork& work, ModelRequest request, const ConversationPtr& talk) {
  ModelCall call{.request = std::move(request),
                 .on_delta =
                     [talk](const ModelDelta& delta) {
                       MutexLock lock(talk->mutex);
                       if (talk->listening) talk->teller.tell(delta);
                     },
                 .cancel = work.live->cancel.token(),
                 .deadline = work.deadline,
                 .idle_timeout = work.limits().stream_idle_timeout};
  const Done<ModelResponse> done = [talk](Result<ModelResponse> response) {
    talk->answers.push(std::make_unique<Result<ModelResponse>>(std::move(response)));
  };
  if (work.agent->middleware.empty()) {
    ask_model(work.model(), std::move(call), done);
    return;
  }
  talk->chain = chain_for(work);
  NextModelCall(talk->chain, 0)(std::move(call), done);
}

// Never null.
Conversation::Answer answer_of(const TurnWork& work, Conversation& talk, Conversation::Answer answer) {
  MutexLock lock(talk.mutex);
  talk.listening = false;
  if (talk.chain) talk.chain->over = true;
  if (answer) return answer;
  return std::make_unique<Result<ModelResponse>>(work.live->cancel.token().check().error());
}

// Waits for the answer; when the turn is cancelled, for a while only.
Task<Conversation::Answer> ask(TurnWork& work, ConversationPtr talk) {
  const CancelRegistration on_cancel =
      work.live->cancel.token().on_cancel([talk](CancelReason) { talk->answers.push(nullptr); });
  Conversation::Answer answer = co_await take(talk->answers);
  if (!answer) {
    const Timer grace = work.engine.timers->after(kCancelGrace, [talk] { talk->answers.push(nullptr); });
    answer = co_await take(talk->answers);
  }
  co_return answer_of(work, *talk, std::move(answer));
}

// The answer as a message; calls are left out of an answer that must not have any.
Result<Message> message_of(const TurnWork& work, const ModelResponse& response) {
  MessageDraft draft{.role = Role::kAssistant,
                     .author = work.agent->spec.name,
                     .origin = Origin::kModel,
                     .source = response.model,
                     .source_id = response.id};
  std::vector<std::string> arguments;
  arguments.reserve(response.parts.size());
  bool says_something = false;
  for (const AnswerPart& part : response.parts) {
    Part made{.kind = part.kind, .call_id = part.call_id, .text = part.text, .extra = part.extra.text()};
    if (part.kind == PartKind::kToolCall) {
      if (work.last_call) continue;
      made.name = part.name.empty() ? std::string_view("unnamed") : std::string_view(part.name);
      arguments.push_back(part.text.empty() ? "{}" : part.text);
      const Result<Json> parsed = parse_json(arguments.back());
      if (!parsed || parsed->as_object() == nullptr) {
        arguments.back() = to_text(JsonObject{{std::string(kMalformed), sanitize_utf8(part.text)}});
      }
      made.text = arguments.back();
      says_something = true;
    }
    if (part.kind == PartKind::kText) {
      if (part.text.empty()) continue;
      says_something = says_something || part.text.find_first_not_of(" \t\r\n") != std::string::npos;
    }
    draft.parts.push_back(made);
  }
  if (!says_something) draft.parts.push_back(Part::text_of("(The model gave no answer.)"));
  return make_message(work, draft);
}

// Takes in a complete answer: the draft gets it, or its calls are open.
Result<void> take_answer(TurnWork& work, Teller& teller, ModelResponse response) {
  TERTULIA_TRY_AS(Message message, message_of(work, response));
  work.usage = work.usage + response.usage;
  work.finish = response.finish;
  if (!message.has_tool_calls() && message.text_content() != work.staged->text()) {
    response.parts = {AnswerPart{.text = message.text_content()}};
  }
  teller.finish(response);
  work.staged->clear();
  if (message.has_tool_calls()) {
    work.response = std::move(message);
    return {};
  }
  TERTULIA_TRY(work.draft.add(std::move(message)));
  work.answered = true;
  return {};
}

// Sends the request, and keeps nothing of it: a model may take long.
Task<Result<ConversationPtr>> begin_to_speak(TurnWork& work, View view) {
  work.last_call = work.last_call || work.iteration + 1 >= work.limits().max_iterations;
  work.staged->clear();
  const auto talk =
      std::make_shared<Conversation>(Teller(work.live, work.staged, work.call_count, !work.last_call));
  ++work.iteration;
  ModelRequest request = request_for(work, std::move(view));
  TERTULIA_CO_TRY(co_await load_assets(work, request));
  TERTULIA_CO_TRY(each_before(work, "before_model_call", [&](Middleware& one, TurnContext& turn) {
    return one.before_model_call(turn, request);
  }));
  tell_receipt(work, request);
  start_call(work, std::move(request), talk);
  co_return talk;
}

}  // namespace

Task<Result<void>> let_model_speak(TurnWork& work, View view) {
  TERTULIA_CO_TRY_AS(const ConversationPtr talk, co_await begin_to_speak(work, std::move(view)));
  const Conversation::Answer answer = co_await ask(work, talk);
  Result<ModelResponse>& response = *answer;
  if (!response) co_return std::move(response).error();
  TERTULIA_CO_TRY(each_after(work, "after_model_call", [&](Middleware& one, TurnContext& turn) {
    return one.after_model_call(turn, *response);
  }));
  co_return take_answer(work, talk->teller, *std::move(response));
}

}  // namespace tertulia
