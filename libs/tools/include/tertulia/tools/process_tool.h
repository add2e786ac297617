// process_tool: programs that a model may run, without a shell, within limits, shut off as far as the kernel
// can.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"
#include "tertulia/tools/tool.h"

namespace tertulia {

struct ProcessLimits {
  // Of one call, by the clock. Default: 60 s.
  Duration time = std::chrono::seconds(60);
  // Of each process, on a processor. Default: 60 s.
  std::chrono::seconds cpu{60};
  // Of each process, in bytes. Default: 4 GiB.
  std::uint64_t address_space = std::uint64_t{4} << 30;
  // Of each file that is written, in bytes. Default: 64 MiB.
  std::uint64_t file_size = std::uint64_t{64} << 20;
  // Processes and threads of one call at a time. Default: 64.
  unsigned processes = 64;
  // Of each process. Default: 256.
  unsigned open_files = 256;
  // Of what is written to standard output and standard error together; beyond it the call is ended.
  // Default: 1 MiB.
  std::size_t output_bytes = std::size_t{1} << 20;
};

struct ProcessOptions {
  // The directory in which programs run, and below which a call may name another.
  Path root;
  // What may be run, as absolute paths. The model calls them by their file names, which must differ.
  std::vector<Path> programs{};
  // True: a model may also give a line to /bin/sh. Whoever has a shell has every program that can be read.
  bool shell = false;
  // Variables that are handed on from the environment of this process. Default: none.
  std::vector<std::string> pass_environment{};
  // Further ones. PATH, HOME, TMPDIR and LANG are set unless they are given here.
  std::vector<std::pair<std::string, std::string>> environment{};
  // True: programs may use the network, the local one included: no EgressPolicy holds for them.
  bool network = false;
  // What may be read besides the root and the programs. Default: what programs of the system need.
  std::vector<Path> readable = {"/usr",
                                "/bin",
                                "/sbin",
                                "/lib",
                                "/lib32",
                                "/lib64",
                                "/etc/alternatives",
                                "/etc/ld.so.cache",
                                "/etc/localtime",
                                "/etc/ssl/certs"};
  // Whom a program runs as when this process is root's. Not 0. Default: nobody.
  unsigned user = 65534;
  unsigned group = 65534;
  // process_tool fails where a part of ConfinementReport is missing. False: it does without.
  bool require_confinement = true;
  ProcessLimits limits{};
};

// What the kernel lets this process use to shut programs off. Without namespaces: a program that means to can
// kill its keeper and outlive its call, and its processes are counted with the others of the same user.
// Without Landlock: it reads and writes what its user may. Without a filter: it may call everything that the
// kernel offers to its user.
struct ConfinementReport {
  // Of users, processes, and networks.
  bool namespaces = false;
  // Files (Landlock); 0 if there is none, else its version.
  int landlock = 0;
  // System calls (seccomp).
  bool filter = false;
  // This process is root's: programs run as somebody else.
  bool root = false;

  bool complete() const { return namespaces && landlock > 0 && filter; }
  // A line for each part, for a person.
  std::string text() const;
};

// Tried out once, in a process of its own.
const ConfinementReport& confinement_report();

// "run_program": {"program": "git", "arguments": ["status"], "directory": "sub"}, and "command" with a shell.
// Unsafe: it is never run twice. Standard input is empty. The text says how it ended, and what was written.
//
// A call ends with its program, at its limits, or when it is cancelled; whatever processes the program has
// started are killed then, however they have detached themselves, and also when this process dies.
//
// kBadConfig: no program, one that cannot be run, two of one name. kNotPermitted: require_confinement.
// Errors of file_tools for `root`.
Result<ToolPtr> process_tool(ProcessOptions options);

}  // namespace tertulia
