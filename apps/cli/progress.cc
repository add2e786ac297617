#include "progress.h"

#include <cstdio>

#include <unistd.h>

#include "tertulia/base/env.h"

#include "words.h"

namespace tertulia::cli {

Progress::Progress(const Output& out, std::string verb, std::uint64_t total_bytes)
    : shown_(!out.json && ::isatty(STDERR_FILENO) == 1), verb_(std::move(verb)), total_bytes_(total_bytes) {}

Progress::~Progress() {
  if (last_ != Instant{}) std::fputs("\r\x1b[K", stderr);
}

ArchiveProgress Progress::callback() {
  if (!shown_) return {};
  return [this](const ArchiveCounts& counts) { show(counts); };
}

void Progress::show(const ArchiveCounts& counts) {
  const Instant now = real_env().clock().instant();
  if (last_ != Instant{} && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  std::string line =
      verb_ + " " + counted(counts.sessions, "session") + ", " + counted(counts.messages, "message");
  if (total_bytes_ > 0) line += " · " + std::to_string(counts.bytes * 100 / total_bytes_) + " %";
  std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
}

}  // namespace tertulia::cli
