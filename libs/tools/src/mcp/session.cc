#include "mcp/session.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/env.h"
#include "tertulia/base/printable.h"
#include "tertulia/base/units.h"
#include "tertulia/base/version.h"

#include "mcp/access.h"

namespace tertulia {
namespace {

// Questions of one server that may be open at a time.
constexpr std::size_t kMostAsked = 64;

bool is_known(std::string_view version) {
  return std::ranges::find(kMcpVersions, version) != std::end(kMcpVersions);
}

// The newest version that an error says the server knows, and we too.
std::string_view common_version(const RpcError& refusal) {
  const Json* supported = member_of(refusal.data, "supported");
  const JsonArray* list = supported == nullptr ? nullptr : supported->as_array();
  std::string_view best;
  if (list == nullptr) return best;
  for (const std::string_view known : kMcpVersions) {
    if (std::ranges::find(*list, Json(known)) != list->end()) best = known;
  }
  return best;
}

}  // namespace

const Json* McpHello::option(std::string_view what, std::string_view how) const {
  const Json* value = member_of(capabilities, what);
  return value == nullptr || how.empty() ? value : member_of(*value, how);
}

void McpSession::start(Json capabilities, Duration timeout, McpSessionHandlers handlers,
                       Done<McpHello> done) {
  capabilities_ = std::move(capabilities);
  timeout_ = timeout;
  handlers_ = std::move(handlers);
  started_ = std::move(done);
  const auto weak = weak_from_this();
  const RpcHandlers incoming{.on_message =
                                 [weak](RpcMessage message) {
                                   if (const auto self = weak.lock()) self->take(std::move(message));
                                 },
                             .on_lost_answer =
                                 [weak](std::int64_t id, const Error& why) {
                                   if (const auto self = weak.lock()) self->settle(id, {McpFate::kLost, why});
                                 }};
  transport_->start({.on_bytes =
                         [weak, incoming](std::string_view bytes) {
                           const auto self = weak.lock();
                           if (!self || self->closed_) return;
                           if (self->transport_->whole_texts()) {
                             self->reader_.take(bytes, incoming);
                           } else {
                             self->reader_.feed(bytes, incoming);
                           }
                         },
                     .is_awaited =
                         [weak](std::int64_t id) {
                           const auto self = weak.lock();
                           return self && self->pending_.contains(id);
                         },
                     .on_failed =
                         [weak](std::int64_t id, const Error& why, bool unprocessed) {
                           const auto self = weak.lock();
                           const auto fate = unprocessed ? McpFate::kUnprocessed : McpFate::kLost;
                           if (self && self->pending_.contains(id)) self->settle(id, {fate, why});
                         },
                     .on_down =
                         [weak](const Error& why) {
                           if (const auto self = weak.lock()) self->down(why);
                         }});
  initialize(std::end(kMcpVersions)[-1], false);
}

void McpSession::initialize(std::string_view version, bool is_retry) {
  McpRequest hello{.method = "initialize",
                   .params = JsonObject{{"protocolVersion", version},
                                        {"capabilities", capabilities_},
                                        {"clientInfo", JsonObject{{"name", "tertulia"},
                                                                  {"title", "Tertulia"},
                                                                  {"version", tertulia::version()}}}},
                   .deadline = Deadline::after(timeout_, real_env().clock())};
  request(std::move(hello), [weak = weak_from_this(), is_retry](McpReply reply) {
    if (const auto self = weak.lock()) self->greet(std::move(reply), is_retry);
  });
}

void McpSession::greet(McpReply reply, bool is_retry) {
  if (reply.fate == McpFate::kRefused && !is_retry) {
    if (const std::string_view version = common_version(reply.refusal); !version.empty())
      return initialize(version, true);
  }
  if (!reply.result) {
    if (const auto started = std::exchange(started_, nullptr)) started(std::move(reply.result).error());
    return;
  }
  const Json* info = member_of(*reply.result, "serverInfo");
  const Json* offers = member_of(*reply.result, "capabilities");
  McpHello hello{.protocol = text_of(*reply.result, "protocolVersion"),
                 .name = info == nullptr ? "" : text_of(*info, "name"),
                 .version = info == nullptr ? "" : text_of(*info, "version"),
                 .instructions = text_of(*reply.result, "instructions"),
                 .capabilities = offers == nullptr ? Json(JsonObject{}) : *offers};
  if (!is_known(hello.protocol)) {
    if (const auto started = std::exchange(started_, nullptr))
      started(Error(ErrorCode::kNeedsVersion, "the server speaks version " + in_quotes(hello.protocol) +
                                                  " of MCP; known are " + std::string(kMcpVersions[0]) +
                                                  " to " + std::string(std::end(kMcpVersions)[-1])));
    return;
  }
  reader_.allow_batches(hello.protocol == "2025-03-26");
  transport_->established(hello.protocol);
  // Only once the server has it may anything else be sent: over HTTP each message travels by itself.
  notify("notifications/initialized", JsonObject{}, [weak = weak_from_this(), hello = std::move(hello)] {
    const auto self = weak.lock();
    if (!self) return;
    if (const auto started = std::exchange(self->started_, nullptr)) started(hello);
  });
}

void McpSession::request(McpRequest request, std::function<void(McpReply)> done) {
  if (closed_) {
    return done({McpFate::kUnprocessed, Error(ErrorCode::kClosed, "the connection is closed")});
  }
  const std::int64_t id = ++last_id_;
  if (request.on_progress) {
    if (JsonObject* params = request.params.as_object())
      params->set("_meta", JsonObject{{"progressToken", id}});
  }
  Pending& pending = pending_[id];
  pending.method = request.method;
  pending.deadline = request.deadline;
  pending.silence = request.silence;
  pending.on_progress = std::move(request.on_progress);
  pending.done = std::move(done);
  arm(id);
  transport_->send(
      {.text = rpc_request(id, request.method, request.params), .request = id, .once = request.once});
  // Only now, since one that has been cancelled is told at once; the pending one may be gone already.
  const auto found = pending_.find(id);
  if (found == pending_.end() || !request.cancel.can_be_cancelled()) return;
  found->second.cancel = request.cancel.on_cancel([weak = weak_from_this(), id](CancelReason reason) {
    McpLoop::shared().post([weak, id, reason] {
      const auto self = weak.lock();
      if (!self) return;
      self->give_up(
          id, reason == CancelReason::kDeadline
                  ? Error(ErrorCode::kDeadlineExceeded, "the time was up")
                  : Error(ErrorCode::kCancelled, "cancelled").with("reason", std::string(name_of(reason))));
    });
  });
}

void McpSession::notify(std::string_view method, const Json& params, std::function<void()> on_sent) {
  if (!closed_) transport_->send({.text = rpc_notification(method, params), .on_sent = std::move(on_sent)});
}

void McpSession::arm(std::int64_t id) {
  Pending& pending = pending_.at(id);
  loop_.cancel(std::exchange(pending.timer, 0));
  Clock& clock = real_env().clock();
  Deadline due = pending.deadline;
  // A server that waits for an answer of ours is not silent.
  if (pending.silence > Duration::zero() && asked_.empty())
    due = min(due, Deadline::after(pending.silence, clock));
  if (due.is_never()) return;
  pending.timer = loop_.after(due.remaining(clock), [weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) self->expire(id);
  });
}

void McpSession::arm_all() {
  for (const auto& [id, pending] : pending_) arm(id);
}

void McpSession::expire(std::int64_t id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  give_up(id, Error(ErrorCode::kDeadlineExceeded,
                    "the server has not answered '" + found->second.method + "' in time"));
}

void McpSession::give_up(std::int64_t id, Error why) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  // The protocol does not let the handshake be cancelled.
  if (found->second.method != "initialize") {
    notify("notifications/cancelled",
           JsonObject{{"requestId", id}, {"reason", std::string(name_of(why.code()))}});
  }
  transport_->forget(id);
  settle(id, {McpFate::kGivenUp, std::move(why)});
}

void McpSession::settle(std::int64_t id, McpReply reply) {
  auto node = pending_.extract(id);
  if (node.empty()) {
    ++late_;
    return;
  }
  loop_.cancel(node.mapped().timer);
  node.mapped().done(std::move(reply));
}

void McpSession::take(RpcMessage message) {
  switch (message.kind) {
    case RpcMessage::Kind::kRequest:
      return take_request(std::move(message));
    case RpcMessage::Kind::kNotification:
      return take_notification(message);
    case RpcMessage::Kind::kResult:
    case RpcMessage::Kind::kError:
      return answer(message);
  }
}

void McpSession::answer(const RpcMessage& message) {
  const auto* id = std::get_if<std::int64_t>(&message.id);
  if (id == nullptr) {
    ++late_;
    return;
  }
  if (message.kind == RpcMessage::Kind::kResult) return settle(*id, {McpFate::kAnswered, message.body});
  Error why = Error(ErrorCode::kToolFailed, "the server says: " + printable(message.error.message, 1'000))
                  .with("rpc_code", message.error.code);
  settle(*id, {McpFate::kRefused, std::move(why), message.error});
}

void McpSession::take_notification(const RpcMessage& message) {
  if (message.method == "notifications/progress") {
    const Json* token = member_of(message.body, "progressToken");
    const std::int64_t* id = token == nullptr ? nullptr : token->as_int();
    const auto found = id == nullptr ? pending_.end() : pending_.find(*id);
    if (found == pending_.end() || !found->second.on_progress) return;
    arm(*id);
    // Copied, since whoever listens may end the request.
    const auto on_progress = found->second.on_progress;
    return on_progress(message.body);
  }
  if (message.method == "notifications/cancelled") {
    const Json* id = member_of(message.body, "requestId");
    if (id == nullptr) return;
    RpcId asked;
    if (const auto* number = id->as_int()) asked = *number;
    if (const auto* text = id->as_string()) asked = *text;
    const auto node = asked_.extract(asked);
    if (node.empty()) return;
    arm_all();
    node.mapped().cancel(CancelReason::kUser);
    return;
  }
  if (handlers_.on_notification) handlers_.on_notification(message.method, message.body);
}

void McpSession::take_request(RpcMessage message) {
  if (message.method == "ping") return transport_->send({.text = rpc_result(message.id, JsonObject{})});
  if (asked_.size() >= kMostAsked || asked_.contains(message.id)) {
    const RpcError busy{kRpcInvalidRequest, "too many requests are open, or one with this id is"};
    return transport_->send({.text = rpc_error(message.id, busy)});
  }
  CancelSource& source = asked_[message.id];
  arm_all();
  auto respond = [weak = weak_from_this(), id = message.id](std::variant<Json, RpcError> answer) {
    McpLoop::shared().post([weak, id, answer = std::move(answer)] {
      const auto self = weak.lock();
      // One that was cancelled, answered or whose connection is gone wants none.
      if (!self || self->closed_ || self->asked_.erase(id) == 0) return;
      self->arm_all();
      const auto* error = std::get_if<RpcError>(&answer);
      self->transport_->send(
          {.text = error != nullptr ? rpc_error(id, *error) : rpc_result(id, std::get<Json>(answer))});
    });
  };
  const CancelToken cancel = source.token();
  handlers_.on_request(message.method, message.body, cancel, std::move(respond));
}

void McpSession::lose_all(const Error& why) {
  for (auto& [id, source] : std::exchange(asked_, {})) source.cancel(CancelReason::kShutdown);
  while (!pending_.empty()) settle(pending_.begin()->first, {McpFate::kLost, why});
}

void McpSession::down(const Error& why) {
  if (closed_) return;
  const auto self = shared_from_this();
  closed_ = true;
  lose_all(why);
  if (const auto started = std::exchange(started_, nullptr)) return started(why);
  if (handlers_.on_down) handlers_.on_down(why);
}

void McpSession::close(const Error& why, std::function<void()> done) {
  const auto self = shared_from_this();
  closed_ = true;
  started_ = nullptr;
  handlers_.on_down = nullptr;
  lose_all(why);
  transport_->close(std::move(done));
}

}  // namespace tertulia
