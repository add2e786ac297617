#include "tertulia/conversation/agent_spec.h"

#include <cmath>
#include <set>

namespace tertulia {
namespace {

Error bad(std::string_view setting, const std::string& rule) {
  return Error(ErrorCode::kBadConfig, "The setting '" + std::string(setting) + "' of an agent " + rule)
      .with("param", std::string(setting));
}

Result<void> check_score(std::string_view setting, double score) {
  if (std::isfinite(score) && score >= 0 && score <= 1) return {};
  return bad(setting, "must be a number from 0 to 1.");
}

Result<void> check_count(std::string_view setting, std::uint64_t value, std::uint64_t least,
                         std::uint64_t most) {
  if (value >= least && value <= most) return {};
  return bad(setting, "is " + std::to_string(value) + "; it must be from " + std::to_string(least) + " to " +
                          std::to_string(most) + ".");
}

Result<void> check_positive(std::string_view setting, Duration duration) {
  if (duration > Duration::zero() && duration <= std::chrono::hours(24 * 366)) return {};
  return bad(setting, "must be above zero and at most a year.");
}

Result<void> check_memory(const MemoryConfig& memory) {
  constexpr std::uint64_t kMostTokens = 1'000'000'000;
  TERTULIA_TRY(check_count("memory.max_working_memory_tokens", number(memory.max_working_memory_tokens), 1,
                           kMostTokens));
  TERTULIA_TRY(check_count("memory.output_reserve", number(memory.output_reserve), 0,
                           number(memory.max_working_memory_tokens) - 1));
  TERTULIA_TRY(check_count("memory.sliding_window_turns", memory.sliding_window_turns, 1, 1'000'000));
  TERTULIA_TRY(check_count("memory.min_history_messages", memory.min_history_messages, 0, 1'000'000));
  TERTULIA_TRY(check_count("memory.episodic_top_k", memory.episodic_top_k, 0, 1'000));
  TERTULIA_TRY(check_count("memory.episodic_retention_days", memory.episodic_retention_days, 1, 36'525));
  TERTULIA_TRY(check_count("memory.episodic_delete_days", memory.episodic_delete_days,
                           memory.episodic_retention_days, 36'525));
  TERTULIA_TRY(check_positive("memory.retrieval_timeout", memory.retrieval_timeout));
  TERTULIA_TRY(check_count("memory.semantic_top_k", memory.semantic_top_k, 0, 1'000));
  TERTULIA_TRY(check_score("memory.semantic_min_score", memory.semantic_min_score));
  TERTULIA_TRY(check_count("memory.semantic_max_tokens", number(memory.semantic_max_tokens), 0, kMostTokens));
  return check_score("memory.procedural_min_score", memory.procedural_min_score);
}

Result<void> check_limits(const AgentLimits& limits) {
  TERTULIA_TRY(check_count("limits.max_iterations", limits.max_iterations, 1, 10'000));
  TERTULIA_TRY(check_count("limits.max_tool_rounds", limits.max_tool_rounds, 0, 10'000));
  TERTULIA_TRY(check_count("limits.max_tool_calls", limits.max_tool_calls, 0, 1'000'000));
  TERTULIA_TRY(check_count("limits.max_consecutive_errors", limits.max_consecutive_errors, 1, 10'000));
  TERTULIA_TRY(check_count("limits.parallel_tools", limits.parallel_tools, 1, 1'000));
  TERTULIA_TRY(check_count("limits.tool_result_bytes", limits.tool_result_bytes, 1, 64ULL << 20U));
  TERTULIA_TRY(check_count("limits.message_bytes", limits.message_bytes, 1, 64ULL << 20U));
  TERTULIA_TRY(check_count("limits.queue", limits.queue, 0, 1'000'000));
  TERTULIA_TRY(check_positive("limits.tool_timeout", limits.tool_timeout));
  TERTULIA_TRY(check_positive("limits.turn_timeout", limits.turn_timeout));
  TERTULIA_TRY(check_positive("limits.stream_idle_timeout", limits.stream_idle_timeout));
  TERTULIA_TRY(check_positive("limits.idle_timeout", limits.idle_timeout));
  return check_positive("limits.max_session", limits.max_session);
}

}  // namespace

Result<void> check_spec(const AgentSpec& spec) {
  if (spec.id.empty()) return bad("id", "is missing.");
  if (spec.model.empty()) return bad("model", "is missing: name the model that is to answer.");
  std::set<std::string_view> names;
  for (const std::string& tool : spec.tools) {
    if (tool.empty()) return bad("tools", "holds an empty name.");
    if (!names.insert(tool).second) return bad("tools", "names '" + tool + "' twice.");
  }
  TERTULIA_TRY(check_memory(spec.memory));
  return check_limits(spec.limits);
}

}  // namespace tertulia
