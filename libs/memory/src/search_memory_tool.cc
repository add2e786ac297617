#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/memory/memory.h"
#include "tertulia/tools/function_tool.h"

#include "memory_sources.h"

namespace tertulia {

ToolPtr search_memory_tool(std::shared_ptr<Memory> memory) {
  Json schema = JsonObject{
      {"type", "object"},
      {"properties",
       JsonObject{{"query", JsonObject{{"type", "string"}, {"description", "What to look for."}}}}},
      {"required", JsonArray{"query"}},
      {"additionalProperties", false}};
  auto body = [memory = std::move(memory)](const ToolCall& call) -> Result<ToolOutput> {
    JsonReader reader(call.arguments, "search_memory");
    ContextRequest request{.key = {call.tenant, call.owner, call.session},
                           .branch = call.branch,
                           .agent = {},
                           .question = reader.required_string("query"),
                           .config = {},
                           .cancel = call.cancel};
    TERTULIA_TRY(reader.finish());
    request.config.semantic_min_score = 0;
    request.config.semantic_hybrid = true;
    ToolOutput output;
    for (const auto& source : memory->sources()) {
      Result<std::vector<ContextItem>> items = source->retrieve(request);
      if (!items) return std::move(items).error();
      for (const ContextItem& item : *items) {
        if (item.reason != FateReason::kFits) continue;
        output.text += "[" + item.source + "]\n" + item.text + "\n\n";
      }
    }
    if (output.text.empty()) output.text = "Nothing is known about that.";
    return output;
  };
  return make_raw_tool(
      "search_memory",
      "Looks up what is known about something: documents, facts, and what was said in earlier "
      "conversations with this user.",
      std::move(schema), std::move(body), {.tool_class = ToolClass::kReadOnly});
}

}  // namespace tertulia
