// KeptLog: what the library logs while a chat draws on the screen, kept until it can be shown between two
// turns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tertulia/base/log.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia::cli {

// Concurrency: any thread.
class KeptLog final : public LogSink {
 public:
  // The one that chats write to.
  static KeptLog& instance();

  void write(const LogRecord& record) override;
  // What came since the last call, a line each; what was said again is counted, and what did not fit as well.
  std::vector<std::string> take();

 private:
  struct Line {
    std::string text;
    std::size_t times = 1;
  };
  Mutex mutex_;
  std::vector<Line> lines_ TERTULIA_GUARDED_BY(mutex_);
  std::size_t more_ TERTULIA_GUARDED_BY(mutex_) = 0;
};

}  // namespace tertulia::cli
