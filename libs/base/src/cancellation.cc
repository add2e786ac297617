#include "tertulia/base/cancellation.h"

#include <atomic>
#include <stop_token>
#include <string>
#include <utility>

#include "tertulia/base/run_safely.h"

namespace tertulia {

// std::stop_source has the hard part: each callback once, and a registration that waits for a running one.
// It knows no reasons, so the reason stands beside it and is written first.
struct CancelToken::State {
  static constexpr int kNone = -1;

  std::atomic<int> reason{kNone};
  std::stop_source source;
  // Of a source inside of another.
  CancelRegistration parent;

  // The first reason counts.
  bool cancel(CancelReason why) {
    int none = kNone;
    if (!reason.compare_exchange_strong(none, static_cast<int>(why), std::memory_order_acq_rel)) return false;
    source.request_stop();
    return true;
  }
};

struct CancelRegistration::Callback {
  Callback(std::shared_ptr<CancelToken::State> state_of_token, std::function<void(CancelReason)> function)
      : state(std::move(state_of_token)),
        call(std::make_shared<std::function<void(CancelReason)>>(std::move(function))),
        registered(state->source.get_token(), [this] {
          // Held here, because the call may destroy this object.
          const auto held = call;
          const auto reason = static_cast<CancelReason>(state->reason.load(std::memory_order_acquire));
          // std::stop_source may not be left by an exception.
          run_safely("a callback of a cancellation", [&] { (*held)(reason); });
        }) {}

  std::shared_ptr<CancelToken::State> state;
  std::shared_ptr<std::function<void(CancelReason)>> call;
  // Last, because making it may call at once.
  std::stop_callback<std::function<void()>> registered;
};

std::string_view name_of(CancelReason reason) {
  switch (reason) {
    case CancelReason::kUser:
      return "user";
    case CancelReason::kDeadline:
      return "deadline";
    case CancelReason::kShutdown:
      return "shutdown";
  }
  return "invalid";
}

CancelRegistration::CancelRegistration() = default;
CancelRegistration::CancelRegistration(CancelRegistration&&) noexcept = default;
CancelRegistration& CancelRegistration::operator=(CancelRegistration&&) noexcept = default;
CancelRegistration::~CancelRegistration() = default;

std::optional<CancelReason> CancelToken::reason() const {
  if (state_ == nullptr) return std::nullopt;
  const int reason = state_->reason.load(std::memory_order_acquire);
  if (reason == State::kNone) return std::nullopt;
  return static_cast<CancelReason>(reason);
}

Result<void> CancelToken::check() const {
  const std::optional<CancelReason> why = reason();
  if (!why) return {};
  if (*why == CancelReason::kDeadline) {
    return Error(ErrorCode::kDeadlineExceeded, "the time allowed for this is up");
  }
  return Error(ErrorCode::kCancelled, "cancelled (" + std::string(name_of(*why)) + ")")
      .with("reason", std::string(name_of(*why)));
}

CancelRegistration CancelToken::on_cancel(std::function<void(CancelReason)> callback) const {
  CancelRegistration registration;
  if (state_ != nullptr) {
    registration.callback_ = std::make_unique<CancelRegistration::Callback>(state_, std::move(callback));
  }
  return registration;
}

CancelSource::CancelSource() : token_(std::make_shared<CancelToken::State>()) {}

CancelSource::CancelSource(const CancelToken& parent) : CancelSource() {
  token_.state_->parent =
      parent.on_cancel([weak = std::weak_ptr<CancelToken::State>(token_.state_)](CancelReason reason) {
        if (const auto state = weak.lock()) state->cancel(reason);
      });
}

bool CancelSource::cancel(CancelReason reason) {
  // A callback may drop the last source, so the state is held here.
  const std::shared_ptr<CancelToken::State> state = token_.state_;
  return state->cancel(reason);
}

}  // namespace tertulia
