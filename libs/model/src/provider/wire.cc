#include "provider/wire.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tertulia/base/base64.h"
#include "tertulia/base/utf8.h"
#include "tertulia/model/asset.h"
#include "tertulia/model/model_catalog.h"

namespace tertulia {

bool is_address(std::string_view text) { return text.starts_with("https://") || text.starts_with("http://"); }

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

// "[An image (image/png) stands here. …]"
std::string in_place_of(const Part& part, std::string_view why) {
  std::string text = part.kind == PartKind::kImage ? "[An image" : "[A file";
  if (part.kind == PartKind::kFile && !part.call_id.empty() && !part.text.empty()) {
    text += " '" + std::string(part.text) + "'";
  }
  text += " (" + std::string(part.name) + ") stands here. ";
  text += why;
  text += ']';
  return text;
}

std::string file_text(const Part& part, std::string_view bytes) {
  std::string text = "[File";
  if (!part.text.empty()) text += " '" + std::string(part.text) + "'";
  text += " (" + std::string(part.name) + ")]\n";
  text += bytes;
  text += "\n[End of file]";
  return text;
}

class WireBuilder {
 public:
  WireBuilder(const ModelRequest& request, const WireAbilities& abilities)
      : request_(request), abilities_(abilities) {}

  Result<WireConversation> build() {
    for (const Message& message : request_.view) TERTULIA_TRY(take(message));
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

  Result<void> take(const Message& message) {
    const bool leads = wire_.messages.empty();
    switch (message.role()) {
      case Role::kSystem:
        if (!leads) return add(Role::kSystem, message);
        add_system(message.text_content());
        return {};
      case Role::kContext: {
        std::string text = with_source(message, message.text_content());
        if (leads) {
          add_system(text);
        } else {
          add_text(at(Role::kUser), std::move(text));
        }
        return {};
      }
      case Role::kUser:
      case Role::kAssistant:
      case Role::kTool:
        return add(message.role(), message);
    }
    return {};
  }

  void add_text(WireMessage& target, std::string text) {
    wire_.texts.push_back(std::move(text));
    target.parts.push_back({.text = wire_.texts.back()});
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

  Result<void> add(Role role, const Message& message) {
    WireMessage& target = at(role);
    if (role == Role::kAssistant) open_.clear();
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const Part part = message.part(i);
      if (part.kind == PartKind::kText && part.text.empty()) continue;
      if (is_asset(part)) {
        TERTULIA_TRY(add_asset(target, part));
        continue;
      }
      WirePart wire{.kind = part.kind,
                    .outcome = part.outcome,
                    .name = part.name,
                    .text = part.text,
                    .extra = part.extra};
      if (part.kind == PartKind::kReasoning) wire.signature = part.call_id;
      if (part.kind == PartKind::kToolCall) wire.id = open_call(part);
      if (part.kind == PartKind::kToolResult) wire.id = close_call(part);
      target.parts.push_back(std::move(wire));
    }
    return {};
  }

  Result<void> add_asset(WireMessage& target, const Part& part) {
    const bool image = part.kind == PartKind::kImage;
    const bool takes = image ? abilities_.images : abilities_.files;
    WirePart wire{.kind = part.kind, .name = part.name, .text = part.text};
    if (!part.call_id.empty()) {
      if (takes || (!image && is_text_type(part.name))) {
        TERTULIA_TRY_AS(wire.bytes, bytes_of(part));
        if (wire.bytes.empty()) {
          add_text(target, in_place_of(part,
                                       "It was left out: it is not stored any more, or there is no "
                                       "room for it beside what came later."));
          return {};
        }
      }
      const bool reads = !image && is_text_type(part.name) && !(takes && abilities_.text_files);
      if (reads && is_utf8(wire.bytes)) {
        add_text(target, file_text(part, wire.bytes));
        return {};
      }
    }
    if (part.call_id.empty() && !is_address(part.text) && !part.text.starts_with("data:")) {
      add_text(target, in_place_of(part, "Where it is kept is not known here."));
      return {};
    }
    if (part.call_id.empty() && request_.refused_addresses &&
        request_.refused_addresses->contains(part.text)) {
      add_text(target,
               in_place_of(part, "It was left out: its address does not lead to the public internet."));
      return {};
    }
    if (!takes) {
      add_text(target, in_place_of(part, image ? "This model takes no images, so it cannot be seen."
                                               : "This model takes no such files, so it cannot be read."));
      return {};
    }
    target.parts.push_back(std::move(wire));
    return {};
  }

  Result<std::string_view> bytes_of(const Part& part) const {
    if (request_.assets != nullptr) {
      if (const auto found = request_.assets->find(part.call_id); found != request_.assets->end())
        return std::string_view(found->second);
    }
    return Error(ErrorCode::kNotFound, "the bytes of asset '" + std::string(part.call_id) +
                                           "' are needed for the request and were not given with it");
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

  const ModelRequest& request_;
  const WireAbilities abilities_;
  WireConversation wire_;
  std::vector<OpenCall> open_;
  std::set<std::string, std::less<>> used_;
};

}  // namespace

bool WireMessage::has_calls() const {
  return std::ranges::any_of(parts, [](const WirePart& part) { return part.kind == PartKind::kToolCall; });
}

WireAbilities abilities_of(const ModelRequest& request, const ProviderOptions& options, bool text_files) {
  const ModelInfo info = known_model(request.model);
  return {.images = options.images.value_or(info.images),
          .files = options.files.value_or(info.files),
          .text_files = text_files};
}

Result<WireConversation> wire_conversation(const ModelRequest& request, const WireAbilities& abilities) {
  return WireBuilder(request, abilities).build();
}

std::string data_url(const WirePart& part) {
  if (part.bytes.empty()) return std::string(part.text);
  return "data:" + std::string(part.name) + ";base64," + to_base64(part.bytes);
}

std::string_view file_name(const WirePart& part) {
  return part.bytes.empty() || part.text.empty() ? std::string_view("file") : part.text;
}

std::optional<InlineData> inline_data(std::string_view address) {
  constexpr std::string_view kStart = "data:";
  constexpr std::string_view kMark = ";base64,";
  const std::size_t mark = address.find(kMark);
  if (!address.starts_with(kStart) || mark == std::string_view::npos) return std::nullopt;
  return InlineData{.media_type = address.substr(kStart.size(), mark - kStart.size()),
                    .base64 = address.substr(mark + kMark.size())};
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
