// A WaitsHere: the calling thread has nothing to do until the store answers.
#pragma once

namespace tertulia {

// While one lives, a store may carry out what this thread asks for inside of the call, on this thread, syncs
// included: handing it to a thread of the store's own would wake that one and then this one, and nobody would
// gain by it. A store need not care.
//
// Concurrency: made and destroyed by one thread, and says nothing of others.
class WaitsHere {
 public:
  explicit WaitsHere(bool waits = true) : before_(waits_) { waits_ = waits; }
  ~WaitsHere() { waits_ = before_; }
  WaitsHere(const WaitsHere&) = delete;
  WaitsHere& operator=(const WaitsHere&) = delete;

  static bool waits() { return waits_; }

 private:
  static inline thread_local bool waits_ = false;
  const bool before_;
};

}  // namespace tertulia
