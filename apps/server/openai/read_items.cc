#include "openai/read_items.h"

#include <utility>
#include <vector>

#include "core/part_address.h"
#include "openai/fields.h"

namespace tertulia::server {
namespace {

std::string at(const std::string& param, std::size_t index) {
  return param + "[" + std::to_string(index) + "]";
}

Error unsupported(const std::string& param, const std::string& what) {
  return Error(ErrorCode::kUnsupportedParameter, what + " is not supported").with("param", param);
}

// "image/png" of "data:image/png;base64,…"; for other addresses what is most likely.
std::string media_type_of(std::string_view address, std::string_view other) {
  if (!address.starts_with("data:")) return std::string(other);
  address.remove_prefix(5);
  return std::string(address.substr(0, address.find_first_of(";,")));
}

// {"image_url": "…"} of responses, or {"image_url": {"url": "…"}} of chats.
Result<OwnedPart> read_image(const Fields& in) {
  const Json* image = in.find("image_url");
  if (image == nullptr) return in.unsupported("file_id", "an image needs an image_url");
  OwnedPart part{.kind = PartKind::kImage};
  if (const JsonObject* object = image->as_object()) {
    TERTULIA_TRY_AS(part.text, Fields(*object, in.param("image_url") + ".").text("url"));
  } else {
    TERTULIA_TRY_AS(part.text, in.text("image_url"));
  }
  TERTULIA_TRY(check_part_address(part.text, in.param("image_url")));
  part.name = media_type_of(part.text, "image/png");
  return part;
}

Result<OwnedPart> read_file(const Fields& in) {
  OwnedPart part{.kind = PartKind::kFile};
  TERTULIA_TRY_AS(part.text, in.text_or("file_url", {}));
  if (part.text.empty()) {
    // Without "data:" it is the bytes in base64, which has no colons.
    TERTULIA_TRY_AS(part.text, in.text_or("file_data", {}));
    if (part.text.find(':') != std::string::npos) {
      TERTULIA_TRY(check_part_address(part.text, in.param("file_data")));
    }
  } else {
    TERTULIA_TRY(check_part_address(part.text, in.param("file_url")));
  }
  if (part.text.empty()) return in.unsupported("file_id", "a file needs a file_url or file_data");
  part.name = media_type_of(part.text, "application/octet-stream");
  return part;
}

Result<OwnedPart> read_part(const Json& value, const std::string& param) {
  TERTULIA_TRY_AS(const JsonObject* object, as_object(value, param));
  const Fields in(*object, param + ".");
  TERTULIA_TRY_AS(const std::string type, in.text("type"));
  if (type == "text" || type == "input_text" || type == "output_text" || type == "summary_text") {
    TERTULIA_TRY_AS(std::string text, in.text("text"));
    return OwnedPart{.text = std::move(text)};
  }
  if (type == "refusal") {
    TERTULIA_TRY_AS(std::string text, in.text("refusal"));
    return OwnedPart{.text = std::move(text)};
  }
  if (type == "image_url" || type == "input_image") return read_image(in);
  if (type == "input_file") return read_file(in);
  if (type == "file") {
    TERTULIA_TRY_AS(const JsonObject* file, in.object("file"));
    if (file == nullptr) return in.missing("file");
    return read_file(Fields(*file, in.param("file") + "."));
  }
  return unsupported(in.param("type"), "content of type '" + type + "'");
}

Result<std::vector<OwnedPart>> read_content(const Json* content, const std::string& param) {
  std::vector<OwnedPart> parts;
  if (content == nullptr) return parts;
  if (const std::string* text = content->as_string()) {
    if (!text->empty()) parts.push_back({.text = *text});
    return parts;
  }
  const JsonArray* array = content->as_array();
  if (array == nullptr) {
    return Error(ErrorCode::kWrongType, "'" + param + "' must be a string or an array").with("param", param);
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    TERTULIA_TRY_AS(OwnedPart part, read_part((*array)[i], at(param, i)));
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<void> read_said(const std::string& role, std::vector<OwnedPart> parts, const Fields& in,
                       Assembler& out) {
  if (role == "system" || role == "developer") {
    for (const OwnedPart& part : parts) out.instruct(part.text);
    return {};
  }
  if (role == "assistant") return parts.empty() ? Result<void>() : out.answer(std::move(parts));
  if (role != "user") return unsupported(in.param("role"), "the role '" + role + "'");
  if (parts.empty()) {
    return Error(ErrorCode::kEmptyMessage, "a message of the user is empty")
        .with("param", in.param("content"));
  }
  return out.user(parts);
}

Result<void> read_tool_calls(const Fields& in, Assembler& out) {
  TERTULIA_TRY_AS(const JsonArray* calls, in.array("tool_calls"));
  if (calls == nullptr) return {};
  for (std::size_t i = 0; i < calls->size(); ++i) {
    const std::string param = at(in.param("tool_calls"), i);
    TERTULIA_TRY_AS(const JsonObject* object, as_object((*calls)[i], param));
    const Fields call(*object, param + ".");
    TERTULIA_TRY_AS(const JsonObject* function, call.object("function"));
    if (function == nullptr)
      return unsupported(call.param("type"), "a call of something else than a function");
    const Fields named(*function, call.param("function") + ".");
    TERTULIA_TRY_AS(std::string id, call.text("id"));
    TERTULIA_TRY_AS(std::string name, named.text("name"));
    TERTULIA_TRY_AS(std::string arguments, named.text_or("arguments", "{}"));
    TERTULIA_TRY(out.call(std::move(id), std::move(name), std::move(arguments)));
  }
  return {};
}

Result<void> read_call(const Fields& in, Assembler& out) {
  TERTULIA_TRY_AS(std::string id, in.text("call_id"));
  TERTULIA_TRY_AS(std::string name, in.text("name"));
  TERTULIA_TRY_AS(std::string arguments, in.text_or("arguments", "{}"));
  return out.call(std::move(id), std::move(name), std::move(arguments));
}

Result<void> read_output(const Fields& in, Assembler& out) {
  TERTULIA_TRY_AS(const std::string id, in.text("call_id"));
  const Json* output = in.find("output");
  if (output == nullptr) return in.missing("output");
  TERTULIA_TRY_AS(const std::string text, read_text_content(*output, in.param("output")));
  return out.output(id, text);
}

// A call that this server has made: the client has it from us, and gives it back.
Result<void> read_mcp_call(const Fields& in, Assembler& out) {
  TERTULIA_TRY_AS(const std::string id, in.text("id"));
  TERTULIA_TRY_AS(std::string name, in.text("name"));
  TERTULIA_TRY_AS(std::string arguments, in.text_or("arguments", "{}"));
  TERTULIA_TRY_AS(const std::string output, in.text_or("output", {}));
  TERTULIA_TRY(out.call(id, std::move(name), std::move(arguments)));
  return out.output(id, output, in.find("error") != nullptr);
}

// What compacting gave: a summary that can be read.
Result<void> read_compaction(const Fields& in, Assembler& out) {
  TERTULIA_TRY_AS(const std::string summary, in.text("encrypted_content"));
  return out.user({{.text = summary}});
}

}  // namespace

Result<std::string> read_text_content(const Json& content, const std::string& param) {
  TERTULIA_TRY_AS(const std::vector<OwnedPart> parts, read_content(&content, param));
  std::string text;
  for (const OwnedPart& part : parts) {
    if (part.kind != PartKind::kText) return unsupported(param, "content that is not text");
    text += part.text;
  }
  return text;
}

Result<void> read_chat_message(const Json& message, const std::string& param, Assembler& out) {
  TERTULIA_TRY_AS(const JsonObject* object, as_object(message, param));
  const Fields in(*object, param + ".");
  TERTULIA_TRY_AS(const std::string role, in.text("role"));
  if (role == "tool") {
    TERTULIA_TRY_AS(const std::string id, in.text("tool_call_id"));
    const Json* content = in.find("content");
    if (content == nullptr) return in.missing("content");
    TERTULIA_TRY_AS(const std::string text, read_text_content(*content, in.param("content")));
    return out.output(id, text);
  }
  TERTULIA_TRY_AS(std::vector<OwnedPart> parts, read_content(in.find("content"), in.param("content")));
  TERTULIA_TRY(read_said(role, std::move(parts), in, out));
  return role == "assistant" ? read_tool_calls(in, out) : Result<void>();
}

Result<void> read_item(const Json& item, const std::string& param, const FindItem& find, Assembler& out) {
  TERTULIA_TRY_AS(const JsonObject* object, as_object(item, param));
  const Fields in(*object, param + ".");
  const bool message = in.find("role") != nullptr;
  TERTULIA_TRY_AS(const std::string type, in.text_or("type", message ? "message" : "item_reference"));
  if (type == "message") {
    TERTULIA_TRY_AS(const std::string role, in.text("role"));
    TERTULIA_TRY_AS(std::vector<OwnedPart> parts, read_content(in.find("content"), in.param("content")));
    return read_said(role, std::move(parts), in, out);
  }
  if (type == "function_call") return read_call(in, out);
  if (type == "function_call_output") return read_output(in, out);
  if (type == "mcp_call") return read_mcp_call(in, out);
  if (type == "compaction") return read_compaction(in, out);
  // What a model thought is not said to it again: another one may answer, and it is not ours to vouch for.
  if (type == "reasoning" || type == "mcp_list_tools") return {};
  if (type == "item_reference") {
    TERTULIA_TRY_AS(const std::string id, in.text("id"));
    TERTULIA_TRY_AS(const Json found, find(id));
    return read_item(found, param, [](const std::string&) -> Result<Json> { return Json(); }, out);
  }
  return unsupported(in.param("type"), "an item of type '" + type + "'");
}

Result<void> read_input_items(const Json& input, const FindItem& find, Assembler& out) {
  if (const std::string* text = input.as_string()) {
    if (text->empty()) return Error(ErrorCode::kEmptyMessage, "the input is empty").with("param", "input");
    return out.user({{.text = *text}});
  }
  const JsonArray* items = input.as_array();
  if (items == nullptr) {
    return Error(ErrorCode::kWrongType, "'input' must be a string or an array").with("param", "input");
  }
  for (std::size_t i = 0; i < items->size(); ++i)
    TERTULIA_TRY(read_item((*items)[i], at("input", i), find, out));
  return {};
}

}  // namespace tertulia::server
