// A LastAct: what the calling thread does now is the last of its job.
#pragma once

namespace tertulia {

// While one lives, whoever is handed work by this thread may leave it to this thread, which is about to be
// free, instead of waking another. To be made only around code that is known to the end: what comes behind it
// keeps that work waiting.
//
// Concurrency: made and destroyed by one thread, and says nothing of others.
class LastAct {
 public:
  explicit LastAct(bool is_last = true) : before_(is_last_) { is_last_ = is_last; }
  ~LastAct() { is_last_ = before_; }
  LastAct(const LastAct&) = delete;
  LastAct& operator=(const LastAct&) = delete;

  static bool here() { return is_last_; }

 private:
  static inline thread_local bool is_last_ = false;
  const bool before_;
};

}  // namespace tertulia
