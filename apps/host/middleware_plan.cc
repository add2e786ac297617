#include "middleware_plan.h"

#include <utility>

namespace tertulia {
namespace {

bool is_set(const SpendingLimit& limit) { return limit.requests || limit.tokens || limit.money; }

Result<MiddlewarePtr> redaction_of(const MiddlewarePlan& plan) {
  RedactionOptions options{
      .rules = common_redaction_rules(), .shown = plan.redact_shown, .stored = plan.redact_stored};
  for (const std::string& pattern : plan.redact_patterns) {
    options.rules.push_back({.name = "redacted", .pattern = pattern});
  }
  return redaction_middleware(std::move(options));
}

}  // namespace

bool MiddlewarePlan::limits_anything() const { return is_set(limits.turn) || is_set(limits.session); }

Result<std::vector<MiddlewarePtr>> make_middleware(const MiddlewarePlan& plan) {
  std::vector<MiddlewarePtr> made;
  if (plan.log) made.push_back(logging_middleware());
  if (plan.limits_anything()) made.push_back(limits_middleware(plan.limits));
  if (plan.redact_shown || plan.redact_stored) {
    TERTULIA_TRY_AS(MiddlewarePtr redaction, redaction_of(plan));
    made.push_back(std::move(redaction));
  }
  if (plan.plan) made.push_back(plan_middleware());
  if (plan.repeats > 0) made.push_back(breaker_middleware({.repeats = plan.repeats}));
  if (plan.retries > 0) made.push_back(retry_middleware({.attempts = plan.retries + 1}));
  return made;
}

}  // namespace tertulia
