#include <algorithm>
#include <cmath>

#include "tertulia/agent/builtin_middleware.h"
#include "tertulia/agent/middleware_state.h"

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

  Result<void> before_model_call(TurnContext& turn, ModelRequest& /*request*/) override {
    const Spending own = spent_in(turn);
    TERTULIA_TRY(check(options_.turn, own, "turn"));
    TERTULIA_TRY_AS(const Spending before, state().read(turn));
    return check(options_.session, before + own, "session");
  }

  Result<void> after_turn(TurnContext& turn, TurnStatus /*status*/) override {
    return state().change(turn, [own = spent_in(turn)](Spending& all) { all = all + own; });
  }

 private:
  // A turn that goes on after a crash knows what its stored answers have cost.
  Spending spent_in(const TurnContext& turn) const {
    const auto answers = std::ranges::count_if(
        turn.messages(), [](const Message& message) { return message.role() == Role::kAssistant; });
    const Usage& usage = turn.usage();
    const double money = static_cast<double>(usage.input_tokens) * options_.input_price +
                         static_cast<double>(usage.output_tokens) * options_.output_price;
    return {.requests = static_cast<std::uint64_t>(answers),
            .input_tokens = usage.input_tokens,
            .output_tokens = usage.output_tokens,
            .money_millionths = static_cast<std::uint64_t>(std::llround(money))};
  }

  static Result<void> check(const SpendingLimit& limit, const Spending& spent, std::string_view scope) {
    TERTULIA_TRY(check_one(limit.requests, spent.requests, "model calls", scope));
    TERTULIA_TRY(check_one(limit.tokens, spent.input_tokens + spent.output_tokens, "tokens", scope));
    if (!limit.money) return {};
    const auto most = static_cast<std::uint64_t>(std::llround(std::max(*limit.money, 0.0) * kMillion));
    return check_one(most, spent.money_millionths, "millionths of money", scope);
  }

  static Result<void> check_one(const std::optional<std::uint64_t>& limit, std::uint64_t used,
                                std::string_view what, std::string_view scope) {
    if (!limit || used < *limit) return {};
    return Error(ErrorCode::kLimitReached, "the " + std::string(scope) + " has used " + std::to_string(used) +
                                               " " + std::string(what) + ", and the limit is " +
                                               std::to_string(*limit))
        .with("limit", static_cast<std::int64_t>(*limit))
        .with("used", static_cast<std::int64_t>(used))
        .with("scope", std::string(scope));
  }

  const LimitOptions options_;
};

}  // namespace

MiddlewarePtr limits_middleware(LimitOptions options) { return std::make_shared<LimitsMiddleware>(options); }

Result<Spending> spending_in(const MiddlewareState& session_state) { return state().read(session_state); }

}  // namespace tertulia
