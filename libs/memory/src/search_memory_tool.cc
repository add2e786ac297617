#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/memory/memory.h"
#include "tertulia/tools/function_tool.h"

#include "memory_sources.h"

namespace tertulia {
namespace {

// What all sources have found. The error of one that failed only if there is nothing else to tell.
Result<ToolOutput> searched(const Memory& memory, const ContextRequest& request) {
  ToolOutput output;
  std::string failed;
  std::optional<Error> problem;
  for (const auto& source : memory.sources()) {
    Result<std::vector<ContextItem>> items = source->retrieve(request);
    if (!items) {
      failed += "The " + std::string(source->name()) + " could not be looked at.\n";
      problem = std::move(items).error();
      continue;
    }
    for (const ContextItem& item : *items) {
      if (item.reason != FateReason::kFits) continue;
      output.text += "[" + item.source + "]\n" + item.text + "\n\n";
    }
  }
  if (output.text.empty() && problem) return *std::move(problem);
  if (output.text.empty()) output.text = "Nothing is known about that.";
  output.text += failed;
  return output;
}

}  // namespace

ToolPtr search_memory_tool(std::shared_ptr<Memory> memory, const AgentSpec& agent) {
  Json schema = JsonObject{
      {"type", "object"},
      {"properties",
       JsonObject{{"query", JsonObject{{"type", "string"}, {"description", "What to look for."}}}}},
      {"required", JsonArray{"query"}},
      {"additionalProperties", false}};
  MemoryConfig config = agent.memory;
  config.semantic_min_score = 0;
  config.semantic_hybrid = true;
  auto body = [memory = std::move(memory), id = agent.id,
               config](const ToolCall& call) -> Result<ToolOutput> {
    JsonReader reader(call.arguments, "search_memory");
    const ContextRequest request{.key = {call.tenant, call.owner, call.session},
                                 .branch = call.branch,
                                 .agent = id,
                                 .question = reader.required_string("query"),
                                 .config = config,
                                 .cancel = call.cancel};
    TERTULIA_TRY(reader.finish());
    return searched(*memory, request);
  };
  return make_raw_tool(
      "search_memory",
      "Looks up what is known about something: documents, facts, and what was said in earlier "
      "conversations with this user.",
      std::move(schema), std::move(body), {.tool_class = ToolClass::kReadOnly});
}

}  // namespace tertulia
