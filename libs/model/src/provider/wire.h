// A view as providers take it: one instruction in front, then messages of alternating sides, every tool call
// with an id that is fit and used once, every result behind its call.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/model/language_model.h"
#include "tertulia/model/provider_options.h"

namespace tertulia {

// As Part, with the id that is sent in `id`. The views live as long as the request and the conversation.
struct WirePart {
  PartKind kind = PartKind::kText;
  ToolOutcome outcome = ToolOutcome::kOk;
  std::string_view name{};
  std::string_view text{};
  // Of an asset: its bytes. Empty: it has an address instead.
  std::string_view bytes{};
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

// What an endpoint and the model behind it take beside text.
struct WireAbilities {
  bool images = false;
  bool files = false;
  // Files that are text go as files; else what they say goes as text.
  bool text_files = false;
};
WireAbilities abilities_of(const ModelRequest& request, const ProviderOptions& options, bool text_files);

// Images and files that cannot be sent have a sentence in their place. kEmptyMessage if there is nothing to
// send; kNotFound if the bytes of an asset are needed and were not given with the request.
Result<WireConversation> wire_conversation(const ModelRequest& request, const WireAbilities& abilities);

// "data:image/png;base64,…", or the address if the part has one.
std::string data_url(const WirePart& part);
// What a file is called; "file" if nobody said.
std::string_view file_name(const WirePart& part);

bool is_address(std::string_view text);

// The parts of "data:TYPE;base64,DATA"; nothing if it is something else.
struct InlineData {
  std::string_view media_type;
  std::string_view base64;
};
std::optional<InlineData> inline_data(std::string_view address);

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
