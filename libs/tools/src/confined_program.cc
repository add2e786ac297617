#include "tertulia/tools/confined_program.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tertulia/base/deadline.h"

#include "file_root.h"
#include "process_confinement.h"
#include "process_run.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TERTULIA_SHADOW_MEMORY 1
#endif
#endif

namespace tertulia {
namespace {

Result<Fd> file_with(std::string_view bytes) {
  Fd file(::memfd_create("input", MFD_CLOEXEC));
  if (!file.is_open()) return file_error(errno, "make", "a file in memory");
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return file_error(errno, "write", "a file in memory");
    done += static_cast<std::size_t>(written);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  // Others may open what nobody needs to: its mode is for the owner, whom the program may not be.
  ::fchmod(file.get(), 0444);
  return file;
}

ConfinedOutcome outcome_of(ProgramEnd end) {
  using Why = ConfinedOutcome::Why;
  ConfinedOutcome outcome{.output = std::move(end.output), .errors = std::move(end.errors)};
  switch (end.why) {
    case ProgramEnd::Why::kTime:
      outcome.why = Why::kTime;
      return outcome;
    case ProgramEnd::Why::kOutput:
      outcome.why = Why::kOutput;
      return outcome;
    case ProgramEnd::Why::kCancelled:
      outcome.why = Why::kCancelled;
      return outcome;
    case ProgramEnd::Why::kKeeperLost:
      outcome.why = Why::kLost;
      return outcome;
    case ProgramEnd::Why::kEnded:
      break;
  }
  outcome.why = WIFEXITED(end.status) ? Why::kExited : Why::kSignal;
  outcome.value = WIFEXITED(end.status) ? WEXITSTATUS(end.status) : WTERMSIG(end.status);
  return outcome;
}

}  // namespace

Result<ConfinedOutcome> run_confined(const ConfinedProgram& what, const CancelToken& cancel) {
  const Fd program(::open(what.program.c_str(), O_RDONLY | O_CLOEXEC));
  if (!program.is_open()) {
    return Error(ErrorCode::kNotFound, "there is no program '" + what.program.string() + "' that can be run");
  }
  const Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.is_open()) return file_error(errno, "open", "/");
  TERTULIA_TRY_AS(const Fd input, file_with(what.input));
  ProgramRun run{.program = what.program.string(), .arguments = what.arguments, .limits = what.limits};
  run.environment = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent"};
  run.program_file = program.get();
  run.input = input.get();
  run.directory = root.get();
#ifdef TERTULIA_SHADOW_MEMORY
  run.limits.address_space = RLIM_INFINITY;
#endif
  const ConfinementReport& report = confinement_report();
  run.namespaces = report.namespaces;
  if (report.filter) run.filter = make_filter(false);
  Fd ruleset;
  if (report.landlock > 0) {
    std::vector<Path> readable = ProcessOptions{}.readable;
    readable.push_back(what.program);
    TERTULIA_TRY_AS(ruleset, make_ruleset(report.landlock, {}, readable));
  }
  run.ruleset = ruleset.get();
  TERTULIA_TRY_AS(ProgramEnd end, run_program(run, cancel, Deadline::never()));
  return outcome_of(std::move(end));
}

}  // namespace tertulia
