#include "kept_log.h"

#include <algorithm>
#include <utility>

namespace tertulia::cli {
namespace {

constexpr std::size_t kMostLines = 20;

}  // namespace

KeptLog& KeptLog::instance() {
  // Never destroyed: threads of the library may log while the program ends.
  static KeptLog* const kLog = new KeptLog;
  return *kLog;
}

void KeptLog::write(const LogRecord& record) {
  std::string text = std::string(name_of(record.level)) + ": " + text_of(record);
  MutexLock lock(mutex_);
  if (const auto same = std::ranges::find(lines_, text, &Line::text); same != lines_.end()) {
    ++same->times;
  } else if (lines_.size() < kMostLines) {
    lines_.push_back({.text = std::move(text)});
  } else {
    ++more_;
  }
}

std::vector<std::string> KeptLog::take() {
  std::vector<std::string> out;
  MutexLock lock(mutex_);
  for (const Line& line : std::exchange(lines_, {})) {
    out.push_back(line.times == 1 ? line.text : line.text + " (" + std::to_string(line.times) + " times)");
  }
  if (const std::size_t more = std::exchange(more_, 0); more > 0) {
    out.push_back("and " + std::to_string(more) + " more");
  }
  return out;
}

}  // namespace tertulia::cli
