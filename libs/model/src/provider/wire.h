// A view as providers take it: one instruction in front, then messages of alternating sides, every tool call
// with an id that is fit and used once, every result behind its call.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/model/language_model.h"

namespace tertulia {

// As Part, with the id that is sent in `id`. The views live as long as the request and the conversation.
struct WirePart {
  PartKind kind = PartKind::kText;
  ToolOutcome outcome = ToolOutcome::kOk;
  std::string_view name{};
  std::string_view text{};
  std::string_view asset{};
  std::string_view signature{};
  std::string_view extra{};
  std::string id{};
};

struct WireMessage {
  // kUser, kAssistant, kTool, or kSystem for an instruction given in the middle.
  Role role = Role::kUser;
  std::vector<WirePart> parts;

  bool has_calls() const;
};

struct WireConversation {
  // The instructions and the context that stand in front of everything said; context with its source.
  std::string system;
  // No two of kUser, and no two of kTool, behind one another. None is empty.
  std::vector<WireMessage> messages;
  // Text that is not in a message.
  std::deque<std::string> texts;
};

// kEmptyMessage if there is nothing to send.
Result<WireConversation> wire_conversation(const View& view);

// The bytes of an image or file. kNotFound if they were not given with the request.
Result<std::string_view> asset_bytes(const ModelRequest& request, const WirePart& part);
std::string base64(std::string_view bytes);
// "data:image/png;base64,…", or the address if the part has one.
Result<std::string> data_url(const ModelRequest& request, const WirePart& part);

bool is_address(std::string_view text);

// The members of a request body. What the caller's `extra` says goes before what we would.
class RequestBody {
 public:
  explicit RequestBody(const JsonText& extra);

  // True if the member is ours to write: it has been begun, and its value must follow.
  bool begin(std::string_view key);
  JsonWriter& out() { return out_; }
  std::string finish();

 private:
  std::string text_;
  JsonWriter out_;
  JsonObject extra_;
};

// kUnsupportedParameter {param}.
Error unsupported(std::string_view provider, std::string param);
// Options whose values make no sense to anybody. kOutOfRange.
Result<void> check_options(const ModelOptions& options);
// The schema of a tool's arguments as JSON text.
std::string_view parameters_of(const ToolDefinition& tool);

}  // namespace tertulia
