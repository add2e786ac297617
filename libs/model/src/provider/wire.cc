#include "provider/wire.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tertulia {
namespace {

// What every provider takes: OpenAI allows 40 bytes, Anthropic only these characters.
bool is_fit(std::string_view id) {
  return !id.empty() && id.size() <= 40 && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::string with_source(const Message& message, std::string_view text) {
  std::string_view source = message.source().empty() ? message.author() : message.source();
  std::string result = source.empty() ? "[Context]\n" : "[Context from " + std::string(source) + "]\n";
  result += text;
  result += "\n[End of context]";
  return result;
}

class WireBuilder {
 public:
  Result<WireConversation> build(const View& view) {
    for (const Message& message : view) take(message);
    std::erase_if(wire_.messages, [](const WireMessage& message) { return message.parts.empty(); });
    if (wire_.messages.empty() && wire_.system.empty())
      return Error(ErrorCode::kEmptyMessage, "there is nothing to send to the model");
    return std::move(wire_);
  }

 private:
  struct OpenCall {
    std::string original;
    std::string tool;
    std::string id;
  };

  void take(const Message& message) {
    const bool leads = wire_.messages.empty();
    switch (message.role()) {
      case Role::kSystem:
        if (leads) return add_system(message.text_content());
        return add(Role::kSystem, message);
      case Role::kContext: {
        std::string text = with_source(message, message.text_content());
        if (leads) return add_system(text);
        wire_.texts.push_back(std::move(text));
        at(Role::kUser).parts.push_back({.text = wire_.texts.back()});
        return;
      }
      case Role::kUser:
      case Role::kAssistant:
      case Role::kTool:
        return add(message.role(), message);
    }
  }

  void add_system(std::string_view text) {
    if (text.empty()) return;
    if (!wire_.system.empty()) wire_.system += "\n\n";
    wire_.system += text;
  }

  // The message to add to: the last one if that is of the same side.
  WireMessage& at(Role role) {
    const bool joins = !wire_.messages.empty() && wire_.messages.back().role == role &&
                       (role == Role::kUser || role == Role::kTool ||
                        (role == Role::kAssistant && !wire_.messages.back().has_calls()));
    if (!joins) wire_.messages.push_back({.role = role});
    return wire_.messages.back();
  }

  void add(Role role, const Message& message) {
    WireMessage& target = at(role);
    if (role == Role::kAssistant) open_.clear();
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const Part part = message.part(i);
      if (part.kind == PartKind::kText && part.text.empty()) continue;
      WirePart wire{.kind = part.kind,
                    .outcome = part.outcome,
                    .name = part.name,
                    .text = part.text,
                    .extra = part.extra};
      if (part.kind == PartKind::kImage || part.kind == PartKind::kFile) wire.asset = part.call_id;
      if (part.kind == PartKind::kReasoning) wire.signature = part.call_id;
      if (part.kind == PartKind::kToolCall) wire.id = open_call(part);
      if (part.kind == PartKind::kToolResult) wire.id = close_call(part);
      target.parts.push_back(std::move(wire));
    }
  }

  std::string open_call(const Part& part) {
    std::string id(part.call_id);
    for (std::size_t n = used_.size() + 1; !is_fit(id) || used_.contains(id); ++n)
      id = "call_" + std::to_string(n);
    used_.insert(id);
    open_.push_back({.original = std::string(part.call_id), .tool = std::string(part.name), .id = id});
    return id;
  }

  // A view has a result for each call, behind it, so there always is one to find.
  std::string close_call(const Part& part) {
    auto found = std::ranges::find_if(open_, [&](const OpenCall& call) {
      return call.original == part.call_id && (part.name.empty() || call.tool == part.name);
    });
    if (found == open_.end()) found = open_.begin();
    if (found == open_.end()) return std::string(part.call_id);
    std::string id = found->id;
    open_.erase(found);
    return id;
  }

  WireConversation wire_;
  std::vector<OpenCall> open_;
  std::set<std::string, std::less<>> used_;
};

}  // namespace

bool WireMessage::has_calls() const {
  return std::ranges::any_of(parts, [](const WirePart& part) { return part.kind == PartKind::kToolCall; });
}

Result<WireConversation> wire_conversation(const View& view) { return WireBuilder().build(view); }

bool is_address(std::string_view text) { return text.starts_with("https://") || text.starts_with("http://"); }

Result<std::string_view> asset_bytes(const ModelRequest& request, const WirePart& part) {
  if (request.assets != nullptr) {
    if (const auto found = request.assets->find(part.asset); found != request.assets->end())
      return std::string_view(found->second);
  }
  return Error(ErrorCode::kNotFound, "the bytes of asset '" + std::string(part.asset) +
                                         "' are needed for the request and were not given with it");
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t n) {
      return i + n < bytes.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i + n])) : 0U;
    };
    const std::uint32_t block = byte(0) << 16U | byte(1) << 8U | byte(2);
    text += kDigits[block >> 18U];
    text += kDigits[block >> 12U & 63U];
    text += i + 1 < bytes.size() ? kDigits[block >> 6U & 63U] : '=';
    text += i + 2 < bytes.size() ? kDigits[block & 63U] : '=';
  }
  return text;
}

Result<std::string> data_url(const ModelRequest& request, const WirePart& part) {
  if (part.asset.empty() && (is_address(part.text) || part.text.starts_with("data:")))
    return std::string(part.text);
  TERTULIA_TRY_AS(const std::string_view bytes, asset_bytes(request, part));
  return "data:" + std::string(part.name) + ";base64," + base64(bytes);
}

RequestBody::RequestBody(const JsonText& extra) : out_(text_) {
  if (const Json value = extra.value(); value.as_object() != nullptr) extra_ = *value.as_object();
  out_.begin_object();
}

bool RequestBody::begin(std::string_view key) {
  if (extra_.find(key) != nullptr) return false;
  out_.key(key);
  return true;
}

std::string RequestBody::finish() {
  for (const auto& [key, value] : extra_) out_.key(key).value(value);
  out_.end_object();
  return std::move(text_);
}

Error unsupported(std::string_view provider, std::string param) {
  const std::string sentence = std::string(provider) + " cannot honour '" + param + "': leave it out";
  return Error(ErrorCode::kUnsupportedParameter, sentence).with("param", std::move(param));
}

Result<void> check_options(const ModelOptions& options) {
  const auto outside = [](const char* param, const char* range) {
    return Error(ErrorCode::kOutOfRange, std::string(param) + " must be " + range).with("param", param);
  };
  if (options.temperature && !(*options.temperature >= 0 && *options.temperature <= 2))
    return outside("temperature", "between 0 and 2");
  if (options.top_p && !(*options.top_p >= 0 && *options.top_p <= 1))
    return outside("top_p", "between 0 and 1");
  if (options.max_output_tokens && *options.max_output_tokens == 0)
    return outside("max_output_tokens", "at least 1");
  return {};
}

std::string_view parameters_of(const ToolDefinition& tool) {
  return tool.parameters.empty() ? std::string_view(R"({"type":"object","properties":{}})")
                                 : std::string_view(tool.parameters.text());
}

}  // namespace tertulia
