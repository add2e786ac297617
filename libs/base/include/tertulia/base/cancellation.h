// Cancellation: one side asks that work stop and says why; the other looks, or is called.
//
//   CancelSource source;
//   start_work(source.token());
//   source.cancel(CancelReason::kUser);
//
// A client that disconnects is no reason: its turn goes on, and it may come back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "tertulia/base/result.h"

namespace tertulia {

enum class CancelReason : std::uint8_t {
  kUser,      // somebody pressed stop
  kDeadline,  // the time was up
  kShutdown,  // the program ends
};

// "user", "deadline" or "shutdown".
std::string_view name_of(CancelReason reason);

// Keeps a callback registered. Destroying it takes the callback away: after the destructor it is not running
// and never will, except when the callback itself destroys its registration, which does not wait.
class CancelRegistration {
 public:
  CancelRegistration();
  CancelRegistration(CancelRegistration&&) noexcept;
  CancelRegistration& operator=(CancelRegistration&&) noexcept;
  ~CancelRegistration();

 private:
  friend class CancelToken;
  struct Callback;
  std::unique_ptr<Callback> callback_;
};

// The side that works. Cheap to copy.
//
// Concurrency: any thread.
class CancelToken {
 public:
  // Can never be cancelled.
  CancelToken() = default;

  bool can_be_cancelled() const { return state_ != nullptr; }
  bool cancelled() const { return reason().has_value(); }
  std::optional<CancelReason> reason() const;
  // Ok, or kDeadlineExceeded when the reason is the deadline, or kCancelled with the reason in the fact
  // "reason".
  Result<void> check() const;

  // Calls `callback` once when it is cancelled: on the thread that cancels, or right here if that has
  // happened. It should be short, and must not throw.
  [[nodiscard]] CancelRegistration on_cancel(std::function<void(CancelReason)> callback) const;

 private:
  friend class CancelSource;
  friend class CancelRegistration;
  struct State;
  explicit CancelToken(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

// The side that decides. Copies are the same source.
//
// Concurrency: any thread.
class CancelSource {
 public:
  CancelSource();
  // One that is cancelled, at the latest, when `parent` is, for the same reason.
  explicit CancelSource(const CancelToken& parent);

  CancelToken token() const { return token_; }
  // The first reason counts: true if it was this one. Returns after the callbacks have run.
  bool cancel(CancelReason reason);

 private:
  CancelToken token_;
};

}  // namespace tertulia
