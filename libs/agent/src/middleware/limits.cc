#include <algorithm>
#include <cmath>
#include <map>

#include "tertulia/agent/builtin_middleware.h"
#include "tertulia/agent/middleware_state.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia {
namespace {

constexpr double kMillion = 1e6;

const MiddlewareStateOf<Spending>& state() {
  static const MiddlewareStateOf<Spending> spent("limits", StateScope::kSession);
  return spent;
}

Spending operator+(const Spending& one, const Spending& other) {
  return {.requests = one.requests + other.requests,
          .input_tokens = one.input_tokens + other.input_tokens,
          .output_tokens = one.output_tokens + other.output_tokens,
          .money_millionths = one.money_millionths + other.money_millionths};
}

class LimitsMiddleware final : public Middleware {
 public:
  explicit LimitsMiddleware(LimitOptions options) : options_(options) {}
  std::string_view name() const override { return "limits"; }

  Result<void> before_model_call(TurnContext& turn, ModelRequest& request) override {
    const Spending own = spent_in(turn);
    const bool estimated = own.requests > 0 && !is_told(turn.usage());
    TERTULIA_TRY(check(options_.turn, own, "turn", estimated));
    TERTULIA_TRY_AS(const Spending before, state().read(turn));
    TERTULIA_TRY(check(options_.session, before + own, "session", estimated));
    MutexLock lock(mutex_);
    // Of turns that never came to their end.
    if (shown_.size() >= kMostTurns) shown_.clear();
    shown_[turn.info().turn] += number(request.view.tokens());
    return {};
  }

  Result<void> after_turn(TurnContext& turn, TurnStatus /*status*/) override {
    const Spending own = spent_in(turn);
    {
      MutexLock lock(mutex_);
      shown_.erase(turn.info().turn);
    }
    return state().change(turn, [own](Spending& all) { all = all + own; });
  }

 private:
  static bool is_told(const Usage& usage) { return usage.input_tokens + usage.output_tokens > 0; }

  // Many servers that speak OpenAI's protocol do not tell what they have used: then it is what the model was
  // shown and what it said. Of calls before a crash the least that it can have been: the turn itself.
  Usage reckoned(const TurnContext& turn) const {
    Usage usage;
    std::uint64_t before = 0;
    for (const Message& message : turn.messages()) {
      if (message.role() == Role::kAssistant) {
        usage.input_tokens += before;
        usage.output_tokens += number(message.tokens());
      }
      before += number(message.tokens());
    }
    MutexLock lock(mutex_);
    const auto shown = shown_.find(turn.info().turn);
    if (shown != shown_.end()) usage.input_tokens = std::max(usage.input_tokens, shown->second);
    return usage;
  }

  // A turn that goes on after a crash knows what its stored answers have cost.
  Spending spent_in(const TurnContext& turn) const {
    const auto answers = std::ranges::count_if(
        turn.messages(), [](const Message& message) { return message.role() == Role::kAssistant; });
    const Usage usage = is_told(turn.usage()) ? turn.usage() : reckoned(turn);
    const double money = static_cast<double>(usage.input_tokens) * options_.input_price +
                         static_cast<double>(usage.output_tokens) * options_.output_price;
    return {.requests = static_cast<std::uint64_t>(answers),
            .input_tokens = usage.input_tokens,
            .output_tokens = usage.output_tokens,
            .money_millionths = static_cast<std::uint64_t>(std::llround(money))};
  }

  static Result<void> check(const SpendingLimit& limit, const Spending& spent, std::string_view scope,
                            bool estimated) {
    TERTULIA_TRY(check_one(limit.requests, spent.requests, "model calls", scope, false));
    TERTULIA_TRY(
        check_one(limit.tokens, spent.input_tokens + spent.output_tokens, "tokens", scope, estimated));
    if (!limit.money) return {};
    const auto most = static_cast<std::uint64_t>(std::llround(std::max(*limit.money, 0.0) * kMillion));
    return check_one(most, spent.money_millionths, "millionths of money", scope, estimated);
  }

  static Result<void> check_one(const std::optional<std::uint64_t>& limit, std::uint64_t used,
                                std::string_view what, std::string_view scope, bool estimated) {
    if (!limit || used < *limit) return {};
    return Error(ErrorCode::kLimitReached, "the " + std::string(scope) + " has used " + std::to_string(used) +
                                               " " + std::string(what) +
                                               (estimated ? " (estimated: the provider does not tell)" : "") +
                                               ", and the limit is " + std::to_string(*limit))
        .with("limit", static_cast<std::int64_t>(*limit))
        .with("used", static_cast<std::int64_t>(used))
        .with("scope", std::string(scope));
  }

  static constexpr std::size_t kMostTurns = 10'000;
  const LimitOptions options_;
  mutable Mutex mutex_;
  // How many tokens the calls of a turn that is under way were shown.
  std::map<TurnId, std::uint64_t> shown_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace

MiddlewarePtr limits_middleware(LimitOptions options) { return std::make_shared<LimitsMiddleware>(options); }

Result<Spending> spending_in(const MiddlewareState& session_state) { return state().read(session_state); }

}  // namespace tertulia
