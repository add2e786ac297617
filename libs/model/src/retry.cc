#include "tertulia/model/retry.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "tertulia/model/ask_model.h"

#include "later.h"

namespace tertulia {
namespace {

bool is_worth_another_try(ErrorCode code) {
  return code == ErrorCode::kModelUnavailable || code == ErrorCode::kRateLimited ||
         code == ErrorCode::kBadStream;
}

// What the models of one decorator share.
struct Shared {
  std::shared_ptr<LanguageModel> model;
  RetryPolicy policy;
  Env& env;
  Later later;
};

// One call through all its attempts. Kept alive by whatever will continue it: the attempt or the wait.
class Attempts : public std::enable_shared_from_this<Attempts> {
 public:
  Attempts(std::shared_ptr<const Shared> shared, ModelCall call, Done<ModelResponse> done)
      : shared_(std::move(shared)), call_(std::move(call)), done_(std::move(done)) {}

  void begin() {
    ModelCall attempt{.request = call_.request,
                      .cancel = call_.cancel,
                      .deadline = call_.deadline,
                      .idle_timeout = call_.idle_timeout};
    attempt.on_delta = [self = shared_from_this()](const ModelDelta& delta) {
      self->told_ = true;
      if (self->call_.on_delta) self->call_.on_delta(delta);
    };
    ++begun_;
    ask_model(*shared_->model, std::move(attempt),
              first_answer<ModelResponse>([self = shared_from_this()](Result<ModelResponse> result) {
                self->end(std::move(result));
              }));
  }

 private:
  void end(Result<ModelResponse> result) {
    const std::optional<Duration> delay = result ? std::nullopt : delay_after(result.error());
    if (!delay) return done_(std::move(result));
    why_ = result.error().message();
    waits_ = true;
    // By whichever comes first: `waits_` is taken down once.
    registration_ = call_.cancel.on_cancel([weak = weak_from_this()](CancelReason) {
      if (const auto self = weak.lock(); self && self->waits_.exchange(false))
        self->done_(self->call_.cancel.check().error());
    });
    shared_->later(*delay, [self = shared_from_this()] {
      if (!self->waits_.exchange(false)) return;
      self->registration_ = {};
      if (self->call_.on_delta)
        self->call_.on_delta({.kind = ModelDelta::Kind::kRetry, .index = self->begun_, .text = self->why_});
      self->told_ = false;
      self->begin();
    });
  }

  // Nothing if it is not to be tried again.
  std::optional<Duration> delay_after(const Error& error) {
    const RetryPolicy& policy = shared_->policy;
    if (begun_ >= policy.attempts || !is_worth_another_try(error.code()) || call_.cancel.cancelled())
      return std::nullopt;
    if (told_ && !policy.after_partial_text) return std::nullopt;
    Duration delay = policy.first_delay;
    for (std::uint32_t i = 1; i < begun_ && delay < policy.longest_delay; ++i) delay *= 2;
    delay = std::min(delay, policy.longest_delay);
    const auto half = static_cast<std::uint64_t>(std::max<std::int64_t>(delay.count() / 2, 0));
    delay = Duration(static_cast<std::int64_t>(half + shared_->env.random().below(half + 1)));
    if (const auto* asked = error.fact("retry_after"); asked != nullptr) {
      if (const auto* seconds = std::get_if<std::int64_t>(asked)) {
        const Duration wait = std::chrono::seconds(*seconds);
        if (wait > policy.longest_retry_after) return std::nullopt;
        delay = std::max(delay, wait);
      }
    }
    if (call_.deadline.remaining(shared_->env.clock()) <= delay) return std::nullopt;
    return delay;
  }

  const std::shared_ptr<const Shared> shared_;
  const ModelCall call_;
  const Done<ModelResponse> done_;
  std::uint32_t begun_ = 0;
  bool told_ = false;
  std::string why_;
  std::atomic<bool> waits_{false};
  CancelRegistration registration_;
};

class RetryingModel final : public LanguageModel {
 public:
  explicit RetryingModel(Shared shared) : shared_(std::make_shared<const Shared>(std::move(shared))) {}

  ModelInfo info(std::string_view model) const override { return shared_->model->info(model); }
  void respond(ModelCall call, Done<ModelResponse> done) override {
    std::make_shared<Attempts>(shared_, std::move(call), std::move(done))->begin();
  }

 private:
  const std::shared_ptr<const Shared> shared_;
};

}  // namespace

std::shared_ptr<LanguageModel> with_retries(std::shared_ptr<LanguageModel> model, RetryPolicy policy,
                                            Env& env, Later later) {
  if (!later) later = run_later;
  return std::make_shared<RetryingModel>(
      Shared{.model = std::move(model), .policy = policy, .env = env, .later = std::move(later)});
}

}  // namespace tertulia
