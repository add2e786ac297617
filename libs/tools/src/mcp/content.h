// What a server gives back, made into what a tool gives back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/json.h"
#include "tertulia/tools/json_schema.h"
#include "tertulia/tools/mcp_types.h"
#include "tertulia/tools/tool.h"

namespace tertulia {

// Nothing if it is not base64, with or without padding. White space is passed over.
std::optional<std::string> decode_base64(std::string_view text);

// The parts of a list of content blocks: texts by lines, pictures, sounds and files as assets that the text
// names, links as lines.
ToolOutput output_of_content(const JsonArray& blocks);

// The result of "tools/call". `schema`: what the tool says of its structured content; null if it says
// nothing. Structured content is shown if there is no text beside it.
ToolOutput output_of_result(const Json& result, const JsonSchema* schema);

McpResource resource_of(const Json& value);
McpResourceTemplate resource_template_of(const Json& value);
std::vector<McpResourceContent> contents_of(const Json& result);
McpPrompt prompt_of(const Json& value);
McpPromptText prompt_text_of(const Json& result);

}  // namespace tertulia
