// What the program's exit code says, in the words of sysexits(3) where they fit.
#pragma once

#include "tertulia/base/error_code.h"

namespace tertulia::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;        // the request could not be carried out; the message says why
inline constexpr int kExitUsage = 2;          // unknown command, flag or value
inline constexpr int kExitBadData = 65;       // the input is not what it should be
inline constexpr int kExitNoInput = 66;       // a file is not there
inline constexpr int kExitIo = 74;            // the disk is full or failed
inline constexpr int kExitTryAgain = 75;      // somebody else has it: try again
inline constexpr int kExitNotAllowed = 77;    // the system or a rule forbids it
inline constexpr int kExitInterrupted = 130;  // Ctrl-C
inline constexpr int kExitBadConfig = 78;     // the configuration is wrong

int exit_code_of(ErrorCode code);

}  // namespace tertulia::cli
