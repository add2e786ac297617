#include "mcp/content.h"

#include <array>
#include <cstdint>
#include <utility>

#include "tertulia/base/printable.h"

#include "mcp/access.h"

namespace tertulia {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> base64_table() {
  std::array<std::int8_t, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    table[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::int8_t>(i);
  table['-'] = table['+'];
  table['_'] = table['/'];
  return table;
}

// Collects blocks into one output.
class Collector {
 public:
  void take(const Json& block) {
    const std::string type = text_of(block, "type");
    if (type == "text") return line(text_of(block, "text"));
    if (type == "image" || type == "audio")
      return file(type, type, text_of(block, "mimeType"), text_of(block, "data"));
    if (type == "resource_link") {
      std::string text = "[link to " + in_quotes(text_of(block, "name")) + ": " + text_of(block, "uri");
      if (const std::string about = text_of(block, "description"); !about.empty()) text += ", " + about;
      return line(text + "]");
    }
    if (type == "resource") {
      if (const Json* resource = member_of(block, "resource")) return embedded(*resource);
    }
    line("[content of an unknown kind " + in_quotes(type) + " was left out]");
  }

  ToolOutput take_output() { return std::move(output_); }

 private:
  void line(std::string_view text) {
    if (!output_.text.empty()) output_.text += '\n';
    output_.text += text;
  }

  void embedded(const Json& resource) {
    const std::string uri = text_of(resource, "uri");
    if (member_of(resource, "blob") != nullptr)
      return file("file", uri, text_of(resource, "mimeType"), text_of(resource, "blob"));
    line("[" + uri + "]");
    line(text_of(resource, "text"));
  }

  void file(const std::string& kind, const std::string& name, std::string media_type,
            const std::string& data) {
    std::optional<std::string> bytes = decode_base64(data);
    if (!bytes) return line("[" + kind + " left out: its data are not base64]");
    if (media_type.empty()) media_type = "application/octet-stream";
    const std::size_t slash = name.find_last_of('/');
    std::string short_name = slash == std::string::npos ? name : name.substr(slash + 1);
    if (short_name.empty() || name == kind)
      short_name = kind + "-" + std::to_string(output_.assets.size() + 1);
    line("[" + kind + " " + in_quotes(short_name) + ", " + printable(media_type, 100) + ", " +
         std::to_string(bytes->size()) + " bytes]");
    output_.assets.push_back({std::move(short_name), std::move(media_type), *std::move(bytes)});
  }

  ToolOutput output_;
};

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  static constexpr std::array<std::int8_t, 256> kTable = base64_table();
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  std::size_t letters = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const std::int8_t value = kTable[static_cast<unsigned char>(c)];
    if (value < 0 || padding > 0) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    if (++letters % 4 == 0) {
      for (const int shift : {16, 8, 0}) bytes += static_cast<char>((bits >> shift) & 0xFF);
      bits = 0;
    }
  }
  const std::size_t rest = letters % 4;
  if (rest == 1 || padding > 2) return std::nullopt;
  if (rest >= 2) bytes += static_cast<char>((bits >> (rest == 2 ? 4 : 10)) & 0xFF);
  if (rest == 3) bytes += static_cast<char>((bits >> 2) & 0xFF);
  return bytes;
}

ToolOutput output_of_content(const JsonArray& blocks) {
  Collector collector;
  for (const Json& block : blocks) collector.take(block);
  return collector.take_output();
}

ToolOutput output_of_result(const Json& result, const JsonSchema* schema) {
  ToolOutput output = output_of_content(list_of(result, "content"));
  output.failed = flag_of(result, "isError");
  const Json* structured = member_of(result, "structuredContent");
  if (structured != nullptr && output.text.empty()) output.text = to_text(*structured);
  // 2024-10-07, before there were content blocks.
  if (const Json* old = member_of(result, "toolResult"); old != nullptr && output.text.empty())
    output.text = to_text(*old);
  if (output.failed || schema == nullptr) return output;
  std::string problem = "there is no structured content";
  if (structured != nullptr) {
    const std::vector<JsonProblem> problems = schema->check(*structured);
    if (problems.empty()) return output;
    problem = text_of(problems);
  }
  output.failed = true;
  output.text = "The tool ran, but its result is not what its server has declared: " + problem;
  return output;
}

McpResource resource_of(const Json& value) {
  McpResource resource{.uri = text_of(value, "uri"),
                       .name = text_of(value, "name"),
                       .description = text_of(value, "description"),
                       .media_type = text_of(value, "mimeType")};
  if (const Json* size = member_of(value, "size"); size != nullptr && size->as_int() != nullptr)
    resource.bytes = *size->as_int();
  return resource;
}

McpResourceTemplate resource_template_of(const Json& value) {
  return {.uri_template = text_of(value, "uriTemplate"),
          .name = text_of(value, "name"),
          .description = text_of(value, "description"),
          .media_type = text_of(value, "mimeType")};
}

std::vector<McpResourceContent> contents_of(const Json& result) {
  std::vector<McpResourceContent> all;
  for (const Json& value : list_of(result, "contents")) {
    McpResourceContent content{.uri = text_of(value, "uri"), .media_type = text_of(value, "mimeType")};
    content.is_text = member_of(value, "blob") == nullptr;
    std::optional<std::string> blob =
        content.is_text ? std::optional<std::string>() : decode_base64(text_of(value, "blob"));
    if (!content.is_text && !blob) {
      // Whoever reads it is told, instead of shown nothing.
      content.is_text = true;
      content.bytes = "[what the server sent is no base64 and was left out]";
    } else {
      content.bytes = content.is_text ? text_of(value, "text") : *std::move(blob);
    }
    all.push_back(std::move(content));
  }
  return all;
}

McpPrompt prompt_of(const Json& value) {
  McpPrompt prompt{.name = text_of(value, "name"), .description = text_of(value, "description")};
  for (const Json& argument : list_of(value, "arguments"))
    prompt.arguments.push_back({.name = text_of(argument, "name"),
                                .description = text_of(argument, "description"),
                                .required = flag_of(argument, "required")});
  return prompt;
}

McpPromptText prompt_text_of(const Json& result) {
  McpPromptText text{.description = text_of(result, "description")};
  for (const Json& value : list_of(result, "messages")) {
    const Json* block = member_of(value, "content");
    ToolOutput output = output_of_content(block == nullptr ? JsonArray{} : JsonArray{*block});
    text.messages.push_back(
        {.role = text_of(value, "role"), .text = std::move(output.text), .assets = std::move(output.assets)});
  }
  return text;
}

}  // namespace tertulia
