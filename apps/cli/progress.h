// What long work says while it goes on: on standard error, and only to a person who looks.
#pragma once

#include <string>
#include <string_view>

#include "tertulia/store/archive.h"

#include "output.h"

namespace tertulia::cli {

class Progress {
 public:
  // `total_bytes` of the work, 0 if nobody knows.
  Progress(const Output& out, std::string verb, std::uint64_t total_bytes = 0);
  // Takes its line away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // At most ten times a second something is shown.
  ArchiveProgress callback();

 private:
  void show(const ArchiveCounts& counts);

  const bool shown_;
  const std::string verb_;
  const std::uint64_t total_bytes_;
  Instant last_{};
};

}  // namespace tertulia::cli
