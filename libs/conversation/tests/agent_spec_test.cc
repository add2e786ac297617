#include "tertulia/conversation/agent_spec.h"

#include <chrono>
#include <functional>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace tertulia {
namespace agent_spec_test {

AgentSpec sample() {
  return {.id = AgentId::parse("helper").value(), .model = "offline", .tools = {"calculator", "clock"}};
}

TEST(AgentSpec, IsCompleteWithAnIdAndAModel) { EXPECT_TRUE(check_spec(sample()).ok()); }

TEST(AgentSpec, HasTheDefaultsThatAreDocumented) {
  const AgentSpec spec;
  EXPECT_EQ(spec.memory.max_working_memory_tokens, Tokens{100'000});
  EXPECT_EQ(spec.memory.output_reserve, Tokens{4'096});
  EXPECT_EQ(spec.memory.pruning, Pruning::kFifo);
  EXPECT_EQ(spec.memory.semantic_top_k, 5U);
  EXPECT_EQ(spec.memory.semantic_min_score, 0.75);
  EXPECT_EQ(spec.limits.max_iterations, 40U);
  EXPECT_EQ(spec.limits.max_tool_rounds, 32U);
  EXPECT_EQ(spec.limits.idle_timeout, std::chrono::minutes(30));
  EXPECT_EQ(spec.limits.max_session, std::chrono::hours(8));
  EXPECT_EQ(spec.on_return, OnReturn::kResume);
}

TEST(AgentSpec, SaysWhichSettingIsWrong) {
  const struct {
    std::string setting;
    std::function<void(AgentSpec&)> spoil;
  } cases[] = {
      {"id", [](AgentSpec& spec) { spec.id = {}; }},
      {"model", [](AgentSpec& spec) { spec.model.clear(); }},
      {"tools", [](AgentSpec& spec) { spec.tools = {"a", "b", "a"}; }},
      {"tools", [](AgentSpec& spec) { spec.tools = {""}; }},
      {"memory.max_working_memory_tokens",
       [](AgentSpec& spec) { spec.memory.max_working_memory_tokens = {}; }},
      {"memory.output_reserve", [](AgentSpec& spec) { spec.memory.output_reserve = Tokens{100'000}; }},
      {"memory.semantic_min_score", [](AgentSpec& spec) { spec.memory.semantic_min_score = 1.01; }},
      {"memory.procedural_min_score",
       [](AgentSpec& spec) { spec.memory.procedural_min_score = std::numeric_limits<double>::quiet_NaN(); }},
      {"limits.max_iterations", [](AgentSpec& spec) { spec.limits.max_iterations = 0; }},
      {"limits.parallel_tools", [](AgentSpec& spec) { spec.limits.parallel_tools = 0; }},
      {"limits.tool_timeout", [](AgentSpec& spec) { spec.limits.tool_timeout = Duration(-1); }},
      {"limits.max_session", [](AgentSpec& spec) { spec.limits.max_session = Duration::max(); }},
  };
  for (const auto& [setting, spoil] : cases) {
    AgentSpec spec = sample();
    spoil(spec);
    const auto checked = check_spec(spec);
    ASSERT_FALSE(checked.ok()) << setting;
    EXPECT_EQ(checked.error().code(), ErrorCode::kBadConfig);
    EXPECT_EQ(std::get<std::string>(*checked.error().fact("param")), setting);
  }
}

}  // namespace agent_spec_test
}  // namespace tertulia
