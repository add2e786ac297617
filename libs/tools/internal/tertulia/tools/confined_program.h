// A program of our own choice that reads what others wrote: shut off like the programs of a model
// (process_tool.h), with bytes to read and nothing else. It has no network, no files but those of the system,
// and limits on everything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"
#include "tertulia/tools/process_tool.h"

namespace tertulia {

struct ConfinedProgram {
  // An absolute path, opened before rights are given up: its directory may be closed to others.
  Path program;
  std::vector<std::string> arguments{};
  // What it finds at its standard input, a file that it can seek in.
  std::string_view input{};
  ProcessLimits limits{};
};

struct ConfinedOutcome {
  enum class Why : std::uint8_t { kExited, kSignal, kTime, kOutput, kCancelled, kLost };
  Why why = Why::kExited;
  // The exit code, or the signal.
  int value = 0;
  std::string output{};
  std::string errors{};
};

// Blocks until the program and all it has started are gone. kToolFailed: it could not be started; kNotFound:
// there is no such program; kStorageFull: there is no memory for its input.
Result<ConfinedOutcome> run_confined(const ConfinedProgram& what, const CancelToken& cancel);

}  // namespace tertulia
