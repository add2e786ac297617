#include "mcp/rpc.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace tertulia {
namespace {

// How much of each end of a message that cannot be read is searched for its id.
constexpr std::size_t kSearchedBytes = 256;

Error no_message(std::string sentence) { return {ErrorCode::kBadJson, "JSON-RPC: " + std::move(sentence)}; }

std::optional<std::int64_t> id_after_key(std::string_view text) {
  constexpr std::string_view kKey = "\"id\":";
  const std::size_t at = text.rfind(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + kKey.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::int64_t id = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (problem != std::errc() || rest == text.data() + text.size()) return std::nullopt;
  if (*rest != ',' && *rest != '}' && *rest != ' ') return std::nullopt;
  return id;
}

// Which of our requests a damaged text was meant to answer. SDKs write the id first or last.
std::optional<std::int64_t> likely_answer_to(std::string_view head, std::string_view tail) {
  if (head.find("\"method\"") != std::string_view::npos) return std::nullopt;
  if (const auto id = id_after_key(tail)) return id;
  return id_after_key(head);
}

std::optional<RpcId> id_of(const Json& value) {
  if (const auto* number = value.as_int()) return RpcId(*number);
  if (const auto* text = value.as_string()) return RpcId(*text);
  return std::nullopt;
}

Json json_of(const RpcId& id) {
  if (const auto* number = std::get_if<std::int64_t>(&id)) return Json(*number);
  return Json(std::get<std::string>(id));
}

RpcError error_of(const Json& value) {
  RpcError error{.code = kRpcInternalError, .message = "the peer gave no reason"};
  const JsonObject* object = value.as_object();
  if (object == nullptr) return error;
  if (const Json* code = object->find("code"); code != nullptr && code->as_int() != nullptr)
    error.code = *code->as_int();
  if (const Json* message = object->find("message"); message != nullptr && message->as_string() != nullptr)
    error.message = *message->as_string();
  if (const Json* data = object->find("data")) error.data = *data;
  return error;
}

std::string call_text(const RpcId* id, std::string_view method, const Json& params) {
  std::string text;
  JsonWriter out(text);
  out.begin_object().key("jsonrpc").string("2.0");
  if (id != nullptr) out.key("id").value(json_of(*id));
  out.key("method").string(method);
  if (const JsonObject* object = params.as_object(); object != nullptr && !object->empty())
    out.key("params").value(params);
  out.end_object();
  return text;
}

}  // namespace

Result<RpcMessage> read_rpc_message(const Json& value) {
  const JsonObject* object = value.as_object();
  if (object == nullptr) return no_message("a message is an object");
  const Json* version = object->find("jsonrpc");
  if (version == nullptr || *version != Json("2.0")) return no_message("\"jsonrpc\" must be \"2.0\"");
  const Json* id = object->find("id");
  std::optional<RpcId> known;
  if (id != nullptr) {
    known = id_of(*id);
    if (!known) return no_message("an id is a whole number or a string");
  }
  RpcMessage message;
  if (known) message.id = *std::move(known);
  if (const Json* method = object->find("method")) {
    if (method->as_string() == nullptr) return no_message("\"method\" must be a string");
    message.kind = id != nullptr ? RpcMessage::Kind::kRequest : RpcMessage::Kind::kNotification;
    message.method = *method->as_string();
    const Json* params = object->find("params");
    message.body = params == nullptr || params->is_null() ? Json(JsonObject{}) : *params;
    if (message.body.as_object() == nullptr) return no_message("\"params\" must be an object");
    return message;
  }
  if (id == nullptr) return no_message("neither a method nor an id");
  const Json* error = object->find("error");
  if (error != nullptr && !error->is_null()) {
    message.kind = RpcMessage::Kind::kError;
    message.error = error_of(*error);
    return message;
  }
  const Json* result = object->find("result");
  if (result == nullptr) return no_message("an answer without result and error");
  message.kind = RpcMessage::Kind::kResult;
  message.body = *result;
  return message;
}

void RpcReader::feed(std::string_view bytes, const RpcHandlers& handlers) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    keep(bytes.substr(0, end));
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    end_line(handlers);
  }
}

void RpcReader::keep(std::string_view bytes) {
  if (!too_long_ && line_.size() + bytes.size() <= limits_.bytes) {
    line_ += bytes;
    return;
  }
  if (!too_long_) {
    too_long_ = true;
    tail_ = line_.substr(line_.size() - std::min(line_.size(), kSearchedBytes));
    line_ += bytes.substr(0, kSearchedBytes);
    line_.resize(std::min(line_.size(), kSearchedBytes));
    line_.shrink_to_fit();
  }
  tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kSearchedBytes));
  tail_.erase(0, tail_.size() - std::min(tail_.size(), kSearchedBytes));
}

void RpcReader::end_line(const RpcHandlers& handlers) {
  const std::string line = std::exchange(line_, {});
  if (!std::exchange(too_long_, false)) return take(line, handlers);
  const std::string tail = std::exchange(tail_, {});
  ++counts_.garbage;
  const auto id = likely_answer_to(line, tail);
  if (!id || !handlers.on_lost_answer) return;
  handlers.on_lost_answer(
      *id, Error(ErrorCode::kTooLarge, "the answer has more than " + std::to_string(limits_.bytes) + " bytes")
               .with("limit", static_cast<std::int64_t>(limits_.bytes)));
}

void RpcReader::take(std::string_view text, const RpcHandlers& handlers) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
  if (text.size() > limits_.bytes) {
    return refuse(
        text,
        Error(ErrorCode::kTooLarge, "the message has more than " + std::to_string(limits_.bytes) + " bytes"),
        handlers);
  }
  const Result<Json> value = parse_json(text, {.depth = limits_.depth, .values = limits_.values});
  if (!value) return refuse(text, value.error(), handlers);
  const JsonArray* batch = value->as_array();
  if (batch == nullptr) return give(*value, handlers);
  if (!batches_ || batch->empty() || batch->size() > limits_.batch) {
    ++counts_.garbage;
    return;
  }
  for (const Json& element : *batch) give(element, handlers);
}

void RpcReader::give(const Json& value, const RpcHandlers& handlers) {
  Result<RpcMessage> message = read_rpc_message(value);
  if (!message) {
    ++counts_.garbage;
    return;
  }
  ++counts_.messages;
  handlers.on_message(*std::move(message));
}

void RpcReader::refuse(std::string_view text, const Error& why, const RpcHandlers& handlers) {
  ++counts_.garbage;
  const auto id = likely_answer_to(text.substr(0, kSearchedBytes),
                                   text.substr(text.size() - std::min(text.size(), kSearchedBytes)));
  if (id && handlers.on_lost_answer) handlers.on_lost_answer(*id, Error(why).in("the answer cannot be read"));
}

std::string rpc_request(std::int64_t id, std::string_view method, const Json& params) {
  const RpcId named = id;
  return call_text(&named, method, params);
}

std::string rpc_notification(std::string_view method, const Json& params) {
  return call_text(nullptr, method, params);
}

std::string rpc_result(const RpcId& id, const Json& result) {
  return to_text(JsonObject{{"jsonrpc", "2.0"}, {"id", json_of(id)}, {"result", result}});
}

std::string rpc_error(const RpcId& id, const RpcError& error) {
  JsonObject body{{"code", error.code}, {"message", error.message}};
  if (!error.data.is_null()) body.append("data", error.data);
  return to_text(JsonObject{{"jsonrpc", "2.0"}, {"id", json_of(id)}, {"error", std::move(body)}});
}

}  // namespace tertulia
