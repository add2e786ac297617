// One run of a program under its keeper.
#pragma once

#include <string>
#include <vector>

#include <linux/filter.h>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/deadline.h"
#include "tertulia/base/result.h"
#include "tertulia/tools/process_tool.h"

namespace tertulia {

struct ProgramRun {
  std::string program;
  // Without the name of the program, which goes in front.
  std::vector<std::string> arguments{};
  // "NAME=value".
  std::vector<std::string> environment{};
  // Borrowed file descriptors; no ruleset if negative.
  int directory = -1;
  int ruleset = -1;
  // Its standard input; negative: nothing to read.
  int input = -1;
  // The program itself, opened; negative: it is found by its path, as whoever it runs as.
  int program_file = -1;
  // No filter if empty.
  std::vector<sock_filter> filter{};
  bool namespaces = false;
  bool network = false;
  unsigned user = 65534;
  unsigned group = 65534;
  ProcessLimits limits{};
};

struct ProgramEnd {
  enum class Why { kEnded, kTime, kOutput, kCancelled, kKeeperLost } why = Why::kEnded;
  // As wait() gives it.
  int status = 0;
  std::string output;
  std::string errors;
};

// Blocks until the program and all it has started are gone. kToolFailed: it could not be started.
Result<ProgramEnd> run_program(const ProgramRun& run, const CancelToken& cancel, const Deadline& deadline);

}  // namespace tertulia
