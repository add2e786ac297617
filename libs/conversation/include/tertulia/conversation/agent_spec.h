// An AgentSpec: everything that makes an agent what it is, as a value.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/message.h"

namespace tertulia {

// How a history that does not fit is made to fit. Whole turns and whole tool groups only.
enum class Pruning : std::uint8_t {
  kFifo,           // the oldest go
  kSlidingWindow,  // the newest turns stay
  kSummarize,      // the oldest part becomes a summary
  kElideTools,     // old tool results are shortened first
  kStepped,        // rarely and in large steps, so that the provider's prompt cache keeps its prefix
};
std::string_view name_of(Pruning pruning);

enum class RecallMode : std::uint8_t { kSemantic, kRecency };
std::string_view name_of(RecallMode mode);

// Where retrieved context stands.
enum class ContextPlacement : std::uint8_t {
  kAfterSystem,  // before the history
  kBeforeUser,   // behind the history, which keeps the cached prefix
};
std::string_view name_of(ContextPlacement placement);

struct MemoryConfig {
  // What one model call may hold in all, answer included. Default: 100,000.
  Tokens max_working_memory_tokens{100'000};
  // Kept free for the answer. Default: 4,096.
  Tokens output_reserve{4'096};
  // Default: FIFO.
  Pruning pruning = Pruning::kFifo;
  // For the sliding window. Default: 10.
  std::uint32_t sliding_window_turns = 10;
  // The newest messages that stay even over the soft budget. Default: 2.
  std::uint32_t min_history_messages = 2;
  // Default: after the system prompt.
  ContextPlacement context_placement = ContextPlacement::kAfterSystem;
  // How long a turn waits for knowledge, episodes and procedures before it goes on without. Default: 200 ms.
  Duration retrieval_timeout = std::chrono::milliseconds(200);

  // Recall of earlier episodes. Default: on, semantic, 3 episodes; after 90 days without their messages, gone
  // after 365.
  bool episodic_enabled = true;
  RecallMode episodic_recall = RecallMode::kSemantic;
  std::uint32_t episodic_top_k = 3;
  std::uint32_t episodic_retention_days = 90;
  std::uint32_t episodic_delete_days = 365;
  // Finds and masks personal data before an episode is stored. Default: off.
  bool episodic_pii_detection = false;

  // Knowledge found for the current message. Default: on, 5 chunks scoring 0.75 or more, 2,000 tokens in all.
  bool semantic_enabled = true;
  std::uint32_t semantic_top_k = 5;
  double semantic_min_score = 0.75;
  Tokens semantic_max_tokens{2'000};
  // Words as well as meaning. Default: off.
  bool semantic_hybrid = false;
  // Words and meaning decide together about what meaning alone has found. Default: off.
  bool semantic_rerank = false;
  // What users say of themselves is remembered when a session ends, by rules, without a model. Default: off.
  bool semantic_learning = false;

  // Procedures that fit the current message. Default: on, scoring 0.80 or more, none learned by itself.
  bool procedural_enabled = true;
  double procedural_min_score = 0.80;
  bool procedural_learning = false;

  // Fields of a newer minor version, as an object.
  JsonText extra;

  bool operator==(const MemoryConfig&) const = default;
};

// What to do when someone comes back to a session that has ended.
enum class OnReturn : std::uint8_t {
  kResume,  // same history, new episode
  kFresh,   // same id, empty history
  kReject,
};
std::string_view name_of(OnReturn on_return);

struct AgentLimits {
  // Model calls per turn; the last one gets no tools. Default: 40.
  std::uint32_t max_iterations = 40;
  // Rounds of tool calls per turn. Default: 32.
  std::uint32_t max_tool_rounds = 32;
  // Tool calls per turn, 0 for no limit. Default: 0.
  std::uint32_t max_tool_calls = 0;
  // Tool errors one after the other. Default: 3.
  std::uint32_t max_consecutive_errors = 3;
  // Default: 8.
  std::uint32_t parallel_tools = 8;
  // Default: 60 s.
  Duration tool_timeout = std::chrono::seconds(60);
  // Default: 10 min.
  Duration turn_timeout = std::chrono::minutes(10);
  // Silence of a model that is streaming. Default: 60 s.
  Duration stream_idle_timeout = std::chrono::seconds(60);
  // What the model is shown of one tool result; the rest becomes an asset. Default: 64 KiB.
  std::uint64_t tool_result_bytes = 64 * 1024;
  // Of one message. Default: 1 MiB.
  std::uint64_t message_bytes = 1024 * 1024;
  // Messages that may wait for a busy branch. Default: 16.
  std::uint32_t queue = 16;
  // A session without activity ends. Default: 30 min.
  Duration idle_timeout = std::chrono::minutes(30);
  // A session ends. Default: 8 h.
  Duration max_session = std::chrono::hours(8);

  // Fields of a newer minor version, as an object.
  JsonText extra;

  bool operator==(const AgentLimits&) const = default;
};

struct AgentSpec {
  AgentId id;
  std::string name;
  // Who the agent is; stands before the system prompt.
  std::string persona;
  std::string system_prompt;
  // As the model layer knows it: "provider/model", or a name from the configuration.
  std::string model;
  // Names of tools and toolkits. Each once.
  std::vector<std::string> tools;
  MemoryConfig memory;
  AgentLimits limits;
  // Default: resume.
  OnReturn on_return = OnReturn::kResume;
  // Fields of a newer minor version, as an object.
  JsonText extra;

  bool operator==(const AgentSpec&) const = default;
};

// Ok, or kBadConfig {param} saying which setting is out of its range or contradicts another.
Result<void> check_spec(const AgentSpec& spec);

}  // namespace tertulia
