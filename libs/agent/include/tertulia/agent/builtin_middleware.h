// Middleware that comes with Tertulia. docs/guides/middleware.md tells what each of them promises.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/agent/middleware.h"
#include "tertulia/base/clock.h"
#include "tertulia/base/env.h"
#include "tertulia/base/log.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/tools/json_type.h"

namespace tertulia {

// A plan that the model keeps with the tool `plan`. It belongs to the branch, and is shown to the model
// before each of its answers.
enum class PlanStatus : std::uint8_t { kOpen, kDoing, kDone };
TERTULIA_ENUM(PlanStatus, {kOpen, "open"}, {kDoing, "doing"}, {kDone, "done"})

struct PlanStep {
  std::string text;
  PlanStatus status = PlanStatus::kOpen;

  bool operator==(const PlanStep&) const = default;
};
TERTULIA_FIELDS(PlanStep, (text, "What is to be done.", {.min_length = 1, .max_length = 500}),
                (status, "How far it is.", {.has_default = true}))

struct Plan {
  std::vector<PlanStep> steps;

  bool operator==(const Plan&) const = default;
};
TERTULIA_FIELDS(Plan, (steps, "All steps, in their order; none clears the plan.", {.max_items = 50}))

MiddlewarePtr plan_middleware();
// The plan in the state of a branch; empty if there is none.
Result<Plan> plan_in(const MiddlewareState& state);
// "[x] done\n[>] under way\n[ ] open", a line for each step.
std::string text_of(const Plan& plan);

struct RetryOptions {
  // Of one call, the first included. Default: 3.
  std::uint32_t attempts = 3;
  // Before the second attempt; doubled before each further one. Default: 200 ms.
  Duration first_pause = std::chrono::milliseconds(200);
  // Default: 10 s.
  Duration longest_pause = std::chrono::seconds(10);
};
// Runs a call of a read_only or idempotent tool again if it fails. Wrong arguments are not tried again.
MiddlewarePtr retry_middleware(RetryOptions options = {});

struct BreakerOptions {
  // How often the same tool may run with the same arguments in one turn. Default: 3.
  std::uint32_t repeats = 3;
};
// A call beyond that does not run and gets a result that says so; one more, and the next answer is the last.
MiddlewarePtr breaker_middleware(BreakerOptions options = {});

// What was used up. Money is in millionths of whatever the prices are in.
struct Spending {
  std::uint64_t requests = 0;
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  std::uint64_t money_millionths = 0;

  bool operator==(const Spending&) const = default;
};
TERTULIA_FIELDS(Spending, requests, input_tokens, output_tokens, money_millionths)

struct SpendingLimit {
  std::optional<std::uint64_t> requests{};
  // Input and output together.
  std::optional<std::uint64_t> tokens{};
  std::optional<double> money{};
};
struct LimitOptions {
  SpendingLimit turn{};
  SpendingLimit session{};
  // For a million tokens.
  double input_price = 0;
  double output_price = 0;
};
// Before each model call: kLimitReached {limit, used, scope} if a limit is used up. A request that was begun
// below the limit may end above it.
MiddlewarePtr limits_middleware(LimitOptions options);
// What the committed turns of a session have used, by its state.
Result<Spending> spending_in(const MiddlewareState& session_state);

struct RedactionRule {
  std::string name;
  // RE2 syntax: linear time, whatever the text.
  std::string pattern;
  // Stands in its place. Empty: the name in brackets.
  std::string replacement{};
};
struct RedactionOptions {
  std::vector<RedactionRule> rules{};
  // In what the model reads: messages, results, arguments. Default: yes.
  bool shown = true;
  // In what is stored and told: input, answers, results. Answers are then told whole, because a pattern may
  // begin in one piece and end in the next. Default: no.
  bool stored = false;
};
// Addresses of e-mail, numbers of payment cards, keys as providers give them out.
std::vector<RedactionRule> common_redaction_rules();
// kBadConfig for a pattern that does not compile or matches nothing at all.
Result<MiddlewarePtr> redaction_middleware(RedactionOptions options);

// One record for each model call, tool call, turn and error: ids, counts, durations, codes. Never content.
MiddlewarePtr logging_middleware(Log log = Log().component("turn"), Clock& clock = real_env().clock());

}  // namespace tertulia
