// A DirectCall: the tool is called by the agent itself, and by nobody in between.
#pragma once

#include "tertulia/tools/tool.h"

namespace tertulia {

// While one lives on the calling thread, a tool that is run by it answers to code of ours alone. A tool that
// another one wraps answers to the wrapper, which may do what it likes behind the answer.
class DirectCall {
 public:
  explicit DirectCall(const Tool& tool) : before_(called_) { called_ = &tool; }
  ~DirectCall() { called_ = before_; }
  DirectCall(const DirectCall&) = delete;
  DirectCall& operator=(const DirectCall&) = delete;

  static bool is_to(const Tool& tool) { return called_ == &tool; }

 private:
  static inline thread_local const Tool* called_ = nullptr;
  const Tool* const before_;
};

}  // namespace tertulia
