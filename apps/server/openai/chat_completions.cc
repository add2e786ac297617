// /v1/chat/completions: a turn behind the messages of the request, or behind those of a session.
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "tertulia/base/json.h"

#include "core/call.h"
#include "core/once_table.h"
#include "core/sse.h"
#include "openai/chat_form.h"
#include "openai/chat_request.h"
#include "openai/error_form.h"
#include "openai/handed_back.h"
#include "openai/routes.h"
#include "openai/run_events.h"
#include "openai/thread.h"

namespace tertulia::server {
namespace {

std::string delta_of(std::string_view key, std::string_view text) {
  std::string delta;
  JsonWriter(delta).begin_object().key(key).string(text).end_object();
  return delta;
}

class ChatTranslator final : public Translator {
 public:
  ChatTranslator(Services& services, ChatRequest chat, const std::string& turn)
      : services_(services),
        chat_(std::move(chat)),
        head_{.id = "chatcmpl-" + turn,
              .model = chat_.model,
              .created = unix_seconds(services.env.clock().now())} {}

  void take(const Event& event, std::string& out) override {
    if (broken_) return;
    switch (event.kind) {
      case EventKind::kTurnStarted:
        return send(R"({"role":"assistant","content":"","refusal":null})", out);
      case EventKind::kTextStarted:
        if (std::exchange(said_, true)) send(delta_of("content", "\n\n"), out);
        return;
      case EventKind::kTextDelta:
        return send(delta_of("content", event.text), out);
      case EventKind::kToolCallStarted:
        if (chat_.tools.has(event.name)) start_call(event, out);
        return;
      case EventKind::kToolCallArguments:
        if (calls_.contains(event.index)) add_arguments(event, out);
        return;
      case EventKind::kReset:
        // Nothing in this protocol can take back what was said.
        if (said_ || !calls_.empty()) break_off(out);
        return;
      default:
        return;
    }
  }

  void end(Result<TurnOutcome> outcome, std::function<void(std::string)> done) override {
    if (!outcome) {
      services_.metrics.turns_failed.fetch_add(1, std::memory_order_relaxed);
      error_ = std::move(outcome).error();
      return done(broken_ ? "" : failed(*error_));
    }
    services_.metrics.input_tokens.fetch_add(outcome->usage.input_tokens, std::memory_order_relaxed);
    services_.metrics.output_tokens.fetch_add(outcome->usage.output_tokens, std::memory_order_relaxed);
    outcome_ = *std::move(outcome);
    Result<std::vector<Message>> handed_back = handed_back_by(services_, *outcome_, chat_.tools);
    if (!handed_back) return fail(std::move(handed_back).error(), done);
    if (!handed_back->empty()) answer_ = handed_back->front();
    if (!chat_.session || handed_back->empty()) return done(last());
    keep_handed_back(services_.store(), *chat_.session, outcome_->branch, outcome_->turn, *handed_back,
                     services_.env.clock().now(), [this, done = std::move(done)](Result<void> kept) {
                       if (!kept) return fail(std::move(kept).error(), done);
                       done(last());
                     });
  }

  Result<Reply> reply() const {
    if (error_) return *error_;
    return Reply::json(completion_body(head_, *outcome_, answer_ ? &*answer_ : nullptr, chat_.tools));
  }

 private:
  void send(std::string_view delta, std::string& out) const {
    append_frame(out, {}, {}, chunk_body(head_, delta, {}, chat_.usage));
  }

  void start_call(const Event& event, std::string& out) {
    const std::size_t index = calls_.size();
    calls_.emplace(event.index, index);
    std::string delta;
    JsonWriter json(delta);
    json.begin_object()
        .key("tool_calls")
        .begin_array()
        .begin_object()
        .key("index")
        .number(std::uint64_t{index});
    json.key("id").string(event.call_id).key("type").string("function").key("function").begin_object();
    json.key("name").string(event.name).key("arguments").string("").end_object();
    json.end_object().end_array().end_object();
    send(delta, out);
  }

  void add_arguments(const Event& event, std::string& out) const {
    std::string delta;
    JsonWriter json(delta);
    json.begin_object().key("tool_calls").begin_array().begin_object();
    json.key("index").number(std::uint64_t{calls_.at(event.index)});
    json.key("function").begin_object().key("arguments").string(event.text).end_object();
    json.end_object().end_array().end_object();
    send(delta, out);
  }

  static std::string failed(const Error& error) {
    std::string frame;
    append_frame(frame, {}, {}, openai_error_body(Problem::of(error), {}));
    return frame;
  }

  void break_off(std::string& out) {
    broken_ = true;
    out += failed(Error(ErrorCode::kBadStream, "the answer broke off and begins anew; ask again"));
  }

  void fail(Error error, const std::function<void(std::string)>& done) {
    error_ = std::move(error);
    done(failed(*error_));
  }

  std::string last() const {
    std::string out;
    if (broken_) return out;
    append_frame(out, {}, {},
                 chunk_body(head_, "{}", finish_reason(*outcome_, answer_.has_value()), chat_.usage));
    if (chat_.usage) append_frame(out, {}, {}, usage_chunk(head_, outcome_->usage));
    append_frame(out, {}, {}, "[DONE]");
    return out;
  }

  Services& services_;
  const ChatRequest chat_;
  const ChatHead head_;
  // The calls of the client's tools, by their number in the turn.
  std::map<std::uint64_t, std::size_t> calls_;
  bool said_ = false;
  // The stream has been ended early; the turn goes on.
  bool broken_ = false;
  std::optional<TurnOutcome> outcome_;
  std::optional<Message> answer_;
  std::optional<Error> error_;
};

Result<RunPtr> run_of(Services& services, ChatRequest& chat) {
  if (!chat.session) {
    TERTULIA_TRY_AS(Branch branch, branch_of(services, std::move(chat.history)));
    return run_stateless(*services.engine, chat.agent, std::move(chat.input),
                         std::make_shared<Branch>(std::move(branch)), chat.options);
  }
  if (!chat.history.empty()) TERTULIA_TRY(put_history(services, *chat.session, std::move(chat.history)));
  return std::make_shared<Run>(
      services.engine->run(chat.agent, std::move(chat.input), chat.session->session.text(), chat.options));
}

void tell_completion(Services& services, ChatRequest asked, RunPtr run, const Done<Reply>& done) {
  start_run(std::move(run), [&services, chat = std::move(asked), done](Result<StartedRun> started) mutable {
    if (!started) return done(std::move(started).error());
    const bool stream = chat.stream;
    auto translator =
        std::make_shared<ChatTranslator>(services, std::move(chat), started->run->turn().text());
    if (stream) return done(event_stream(translated(*std::move(started), std::move(translator))));
    read_through(*std::move(started), translator, [translator, done] { done(translator->reply()); });
  });
}

// A turn that is not stored is found by its key here only.
void create_once(const CallPtr& call, const std::shared_ptr<ChatRequest>& chat, const Done<Reply>& done) {
  Services& services = call->services;
  const std::string key = once_key(*call, chat->options.idempotency_key);
  const auto begin = [&services, chat, key, once = services.once](const Done<RunPtr>& begun) {
    Result<RunPtr> run = run_of(services, *chat);
    if (!run) return begun(std::move(run).error());
    services.metrics.turns_started.fetch_add(1, std::memory_order_relaxed);
    begun(*run);
    forget_if_failed(**run, [once, key] { once->forget(key); });
  };
  services.once->run<Run>(key, once_hash(*call), begin, [&services, chat, done](Result<RunPtr> run) {
    if (!run) return done(std::move(run).error());
    tell_completion(services, *chat, std::make_shared<Run>((*run)->again()), done);
  });
}

void create_completion(const CallPtr& call, Done<Reply> done) {
  Services& services = call->services;
  Result<ChatRequest> chat = read_chat_request(*call);
  if (!chat) return done(std::move(chat).error());
  if (!chat->session && !chat->options.idempotency_key.empty()) {
    return create_once(call, std::make_shared<ChatRequest>(*std::move(chat)), done);
  }
  Result<RunPtr> run = run_of(services, *chat);
  if (!run) return done(std::move(run).error());
  services.metrics.turns_started.fetch_add(1, std::memory_order_relaxed);
  tell_completion(services, *std::move(chat), *std::move(run), done);
}

constexpr std::array kChatCompletionsRoutes{
    later(Method::kPost, "/v1/chat/completions", Access::kWrite, &create_completion, BodyKind::kJson),
};

}  // namespace

std::span<const Route> chat_completion_routes() { return kChatCompletionsRoutes; }

}  // namespace tertulia::server
