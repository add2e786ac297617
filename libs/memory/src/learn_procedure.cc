// Procedures that nobody wrote: what a turn did with its tools, in a form that holds nothing of what was
// said.
#include <algorithm>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/memory/procedural_memory.h"
#include "tertulia/memory/prompt.h"

namespace tertulia {
namespace {

// Fewer calls than these are no procedure, and more are no longer one that a person reads.
constexpr std::size_t kLeastCalls = 3;
constexpr std::size_t kMostCalls = 32;

// "search_flights" as one says it: "search flights".
std::string spoken(std::string_view tool) {
  std::string words(tool);
  std::replace_if(words.begin(), words.end(), [](char c) { return c == '_' || c == '-' || c == '.'; }, ' ');
  return words;
}

// The names of the arguments, not what they were.
std::string instruction_of(const ToolCallRecord& call) {
  std::string names;
  const Result<Json> input = parse_json(call.input.text());
  if (input && input->as_object() != nullptr) {
    for (const auto& [name, value] : *input->as_object()) names += (names.empty() ? "" : ", ") + name;
  }
  return "Use it to " + spoken(call.tool) + (names.empty() ? "" : "; it needs: " + names);
}

}  // namespace

Result<bool> ProceduralMemory::learn(const TenantId& tenant, const AgentId& agent,
                                     std::span<const ToolCallRecord> calls) {
  const bool worked =
      std::all_of(calls.begin(), calls.end(), [](const ToolCallRecord& call) { return call.succeeded(); });
  if (calls.size() < kLeastCalls || calls.size() > kMostCalls || !worked) return false;
  Procedure procedure;
  std::string tools;
  for (const ToolCallRecord& call : calls) {
    tools += call.tool + "\n";
    procedure.steps.push_back({.instruction = instruction_of(call), .tool = call.tool});
    procedure.description += (procedure.description.empty() ? "" : ", then ") + spoken(call.tool);
  }
  // The same tools in the same order are the same procedure.
  procedure.name = "learned-" + hash_of(tools).substr(0, 12);
  TERTULIA_TRY_AS(const std::vector<Procedure> known, list(tenant, agent));
  const bool there = std::any_of(known.begin(), known.end(),
                                 [&](const Procedure& one) { return one.name == procedure.name; });
  if (there) return false;
  const MemoryWriter writer{.kind = WriterKind::kModel, .name = agent.text()};
  TERTULIA_TRY(put(tenant, agent, std::move(procedure), writer));
  return true;
}

}  // namespace tertulia
