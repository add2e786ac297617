#include <exception>
#include <utility>

#include "tertulia/base/env.h"
#include "tertulia/base/printable.h"

#include "mcp/access.h"
#include "mcp/content.h"
#include "mcp/server_core.h"
#include "once.h"

namespace tertulia {
namespace {

constexpr int kMostAttempts = 2;
constexpr int kMostPages = 1'000;
constexpr std::size_t kMostListed = 10'000;

std::optional<double> number_at(const Json& value, std::string_view key) {
  const Json* found = member_of(value, key);
  if (found == nullptr) return std::nullopt;
  if (const auto* whole = found->as_int()) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&found->variant())) return *real;
  return std::nullopt;
}

ToolOutput unknown_outcome(const std::string& what_happened, const Error& why) {
  return {
      .text = what_happened +
              " Its outcome is unknown: it may have taken effect or not. Find out before you call it again.",
      .failed = true,
      .detail = why.message(),
      .unknown = true};
}

// Whether to do it twice does no harm, as its server says.
bool may_repeat(const McpToolInfo& tool) { return tool.tool_class != ToolClass::kUnsafe; }

// The answer to a question, as the protocol has it; an error if it is not what was asked for.
std::variant<Json, RpcError> elicitation_result(McpAnswer answer, const Json& schema) {
  if (answer.action == McpAnswer::Action::kDecline) return Json(JsonObject{{"action", "decline"}});
  if (answer.action == McpAnswer::Action::kCancel) return Json(JsonObject{{"action", "cancel"}});
  if (schema.is_null()) return Json(JsonObject{{"action", "accept"}});
  if (answer.content.is_null()) answer.content = JsonObject{};
  if (const Result<JsonSchema> compiled = JsonSchema::compile(schema)) {
    compiled->fill_defaults(answer.content);
    if (const auto problems = compiled->check(answer.content); !problems.empty())
      return RpcError{kRpcInternalError, "the answer does not fit the schema: " + text_of(problems)};
  }
  return Json(JsonObject{{"action", "accept"}, {"content", std::move(answer.content)}});
}

}  // namespace

void McpServer::Core::call(const McpToolInfo& tool, ToolCall call, Done<ToolOutput> done) {
  auto one = std::make_shared<Call>(Call{tool, std::move(call), std::move(done)});
  post([one](Core& core) { core.send(one); });
}

void McpServer::Core::send(const CallPtr& call) {
  if (const Result<void> wanted = call->call.cancel.check(); !wanted)
    return call->done(Error(wanted.error()).in("before the tool began"));
  when_ready([weak = weak_from_this(), call](const Result<void>& connected) {
    const auto self = weak.lock();
    if (!connected || !self)
      return call->done(connected ? Error(ErrorCode::kClosed, "the MCP server is closed")
                                  : connected.error());
    ++call->attempts;
    self->open_calls_[call.get()] = call->call.key;
    McpRequest request{.method = "tools/call",
                       .params = JsonObject{{"name", call->tool.name}, {"arguments", call->call.arguments}},
                       .deadline = call->call.deadline,
                       .silence = self->config_.call_timeout.value_or(Duration::zero()),
                       .cancel = call->call.cancel,
                       .once = !may_repeat(call->tool)};
    if (self->config_.call_timeout || self->options_.listeners.on_progress) {
      request.on_progress = [weak, call](const Json& params) {
        if (const auto core = weak.lock()) core->tell_progress(call, params);
      };
    }
    self->session_->request(std::move(request), [weak, call](McpReply reply) {
      if (const auto core = weak.lock()) return core->replied(call, std::move(reply));
      call->done(Error(ErrorCode::kClosed, "the MCP server is closed"));
    });
  });
}

void McpServer::Core::replied(const CallPtr& call, McpReply reply) {
  open_calls_.erase(call.get());
  const bool again = call->attempts < kMostAttempts && state_ != McpState::kClosed;
  switch (reply.fate) {
    case McpFate::kAnswered: {
      answered_ = true;
      std::optional<JsonSchema> schema;
      if (!call->tool.output_schema.empty()) {
        if (auto compiled = JsonSchema::compile(call->tool.output_schema.value()))
          schema = *std::move(compiled);
      }
      return call->done(output_of_result(*reply.result, schema ? &*schema : nullptr));
    }
    case McpFate::kRefused:
      answered_ = true;
      return call->done(ToolOutput{.text = reply.refusal.message,
                                   .failed = true,
                                   .detail = "JSON-RPC error " + std::to_string(reply.refusal.code)});
    case McpFate::kGivenUp:
      if (!may_repeat(call->tool) && reply.result.error().code() == ErrorCode::kDeadlineExceeded) {
        return call->done(unknown_outcome("The server of tool '" + call->tool.definition.name +
                                              "' was silent for too long, and the call was given up.",
                                          reply.result.error()));
      }
      return call->done(reply.result.error());
    case McpFate::kUnprocessed:
      // Later, when the loss of the connection has been noticed.
      if (again) return post([call](Core& core) { core.send(call); });
      return call->done(std::move(reply.result).error().in("the tool was not run"));
    case McpFate::kLost:
      if (again && may_repeat(call->tool)) return post([call](Core& core) { core.send(call); });
      if (may_repeat(call->tool))
        return call->done(std::move(reply.result).error().in("the connection was lost"));
      return call->done(unknown_outcome("The connection to the server of tool '" +
                                            call->tool.definition.name + "' was lost while the call ran.",
                                        reply.result.error()));
  }
}

void McpServer::Core::tell_progress(const CallPtr& call, const Json& params) const {
  if (!options_.listeners.on_progress) return;
  options_.listeners.on_progress({.tool = call->tool.definition.name,
                                  .call_key = call->call.key,
                                  .progress = number_at(params, "progress").value_or(0),
                                  .total = number_at(params, "total"),
                                  .message = text_of(params, "message")});
}

void McpServer::Core::request(std::string method, Json params, Done<Json> done) {
  when_ready([weak = weak_from_this(), method = std::move(method), params = std::move(params),
              done = std::move(done)](const Result<void>& connected) {
    const auto self = weak.lock();
    if (!connected || !self)
      return done(connected ? Error(ErrorCode::kClosed, "the MCP server is closed") : connected.error());
    self->session_->request({.method = method,
                             .params = params,
                             .deadline = Deadline::after(self->config_.timeout, real_env().clock())},
                            [done](McpReply reply) { done(std::move(reply.result)); });
  });
}

void McpServer::Core::list(std::string method, std::string key, std::string_view offered,
                           Done<JsonArray> done) {
  when_ready([weak = weak_from_this(), method = std::move(method), key = std::move(key),
              offered = std::string(offered), done = std::move(done)](const Result<void>& connected) {
    const auto self = weak.lock();
    if (!connected || !self)
      return done(connected ? Error(ErrorCode::kClosed, "the MCP server is closed") : connected.error());
    if (!self->hello_.offers(offered)) return done(JsonArray{});
    self->list_page(method, key, {}, "", 0, done);
  });
}

void McpServer::Core::list_page(std::string method, std::string key, JsonArray so_far, std::string cursor,
                                int pages, Done<JsonArray> done) {
  JsonObject params;
  if (!cursor.empty()) params.append("cursor", cursor);
  McpRequest request{.method = method,
                     .params = std::move(params),
                     .deadline = Deadline::after(config_.timeout, real_env().clock())};
  session_->request(std::move(request), [weak = weak_from_this(), method, key = std::move(key),
                                         so_far = std::move(so_far), cursor, pages,
                                         done = std::move(done)](McpReply reply) mutable {
    const auto self = weak.lock();
    if (!reply.result) return done(std::move(reply.result).error());
    const JsonArray& page = list_of(*reply.result, key);
    so_far.insert(so_far.end(), page.begin(), page.end());
    std::string next = text_of(*reply.result, "nextCursor");
    if (next.empty() || !self || !self->session_) return done(std::move(so_far));
    if (next == cursor || pages >= kMostPages || so_far.size() > kMostListed)
      return done(Error(ErrorCode::kTooLarge, "'" + method + "' does not come to an end"));
    self->list_page(method, std::move(key), std::move(so_far), std::move(next), pages + 1, std::move(done));
  });
}

void McpServer::Core::subscribe(const std::string& uri, bool wanted, Done<void> done) {
  request(wanted ? "resources/subscribe" : "resources/unsubscribe", JsonObject{{"uri", uri}},
          [weak = weak_from_this(), uri, wanted, done = std::move(done)](Result<Json> result) {
            const auto self = weak.lock();
            if (!result) return done(std::move(result).error());
            if (self && wanted) self->subscriptions_.insert(uri);
            if (self && !wanted) self->subscriptions_.erase(uri);
            done({});
          });
}

void McpServer::Core::on_notification(const std::string& method, const Json& params) {
  const McpListeners& listeners = options_.listeners;
  if (method == "notifications/tools/list_changed") {
    // Before the first list has been read there is nothing to be changed.
    if (state_ == McpState::kReady || loading_) reload_tools();
  } else if (method == "notifications/resources/list_changed") {
    if (listeners.on_resources_changed) listeners.on_resources_changed();
  } else if (method == "notifications/prompts/list_changed") {
    if (listeners.on_prompts_changed) listeners.on_prompts_changed();
  } else if (method == "notifications/resources/updated") {
    if (listeners.on_resource_updated) listeners.on_resource_updated(text_of(params, "uri"));
  } else if (method == "notifications/message" && listeners.on_log) {
    const Json* data = member_of(params, "data");
    listeners.on_log(text_of(params, "level"), text_of(params, "logger"), data == nullptr ? Json() : *data);
  }
}

void McpServer::Core::on_request(const std::string& method, const Json& params, CancelToken cancel,
                                 McpSessionHandlers::Respond respond) {
  if (method == "roots/list" && !config_.roots.empty()) {
    JsonArray roots;
    for (const McpRoot& root : config_.roots) {
      JsonObject one{{"uri", root.uri}};
      if (!root.name.empty()) one.append("name", root.name);
      roots.emplace_back(std::move(one));
    }
    return respond(Json(JsonObject{{"roots", std::move(roots)}}));
  }
  if (method == "elicitation/create" && options_.questions) return ask(params, std::move(cancel), respond);
  if (method == "sampling/createMessage" && options_.sampling) {
    try {
      return options_.sampling(params, std::move(cancel), once<Json>([respond](Result<Json> result) {
                                 if (result) return respond(*std::move(result));
                                 respond(RpcError{kRpcInternalError, result.error().message()});
                               }));
    } catch (const std::exception&) {
      return respond(RpcError{kRpcInternalError, "sampling failed"});
    }
  }
  respond(RpcError{kRpcMethodNotFound, "this client does not offer " + in_quotes(method)});
}

// The key of the call that a question belongs to. The protocol does not say; of several calls of one turn it
// is the same person who is asked, so any will do that has not asked yet. Empty if there is none, or if it
// could be another's.
std::string McpServer::Core::asking_call() const {
  const auto turn_of = [](const std::string& key) { return key.substr(0, key.rfind('/')); };
  const auto questions = [this](const std::string& key) {
    const auto found = asked_for_.find(key);
    return found == asked_for_.end() ? 0 : found->second;
  };
  const std::string* best = nullptr;
  for (const auto& [call, key] : open_calls_) {
    if (best != nullptr && turn_of(key) != turn_of(*best)) return {};
    if (best == nullptr || std::pair(questions(key), key) < std::pair(questions(*best), *best)) best = &key;
  }
  return best == nullptr ? std::string() : *best;
}

void McpServer::Core::ask(const Json& params, CancelToken cancel,
                          const McpSessionHandlers::Respond& respond) {
  McpQuestion question{.server = config_.name, .message = text_of(params, "message")};
  if (text_of(params, "mode") == "url") {
    question.url = text_of(params, "url");
    question.id = text_of(params, "elicitationId");
  } else if (const Json* schema = member_of(params, "requestedSchema")) {
    question.schema = *schema;
  } else {
    return respond(RpcError{kRpcInvalidParams, "a question needs a requestedSchema or a url"});
  }
  question.call_key = asking_call();
  question.cancel = std::move(cancel);
  ++asked_for_[question.call_key];
  auto answer = once<McpAnswer>([respond, schema = question.schema, key = question.call_key,
                                 weak = weak_from_this()](Result<McpAnswer> given) {
    if (const auto self = weak.lock()) {
      self->post([key](Core& core) {
        if (--core.asked_for_[key] == 0) core.asked_for_.erase(key);
      });
    }
    if (given) return respond(elicitation_result(*std::move(given), schema));
    respond(RpcError{kRpcInternalError, given.error().message()});
  });
  try {
    options_.questions->ask(std::move(question), answer);
  } catch (const std::exception&) {
    answer(Error(ErrorCode::kToolFailed, "the question could not be asked"));
  }
}

}  // namespace tertulia
