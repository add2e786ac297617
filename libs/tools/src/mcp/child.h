// A child process with its three pipes.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tertulia/base/descriptor.h"
#include "tertulia/base/result.h"
#include "tertulia/base/setting.h"

namespace tertulia {

struct ChildCommand {
  // A path, or a name to be looked for in the PATH of `environment`.
  std::string program;
  std::vector<std::string> arguments{};
  // All that the child sees of an environment.
  Environment environment{};
  // Empty: ours.
  std::string directory{};
};

// Started without a shell, as the leader of a process group of its own, with no descriptors but its three. It
// is told to end when the thread that started it does, and so when the program is killed.
struct Child {
  pid_t pid = -1;
  // Becomes readable when the process has ended. Not reaped by itself.
  Descriptor exited;
  // Ours of the pipes; not blocking.
  Descriptor input;
  Descriptor output;
  Descriptor errors;
};

// kNotFound: there is no such program, or no such directory; kNotPermitted; kQueueFull: the system has no
// processes or descriptors left.
Result<Child> start_child(const ChildCommand& command);

// To the child and whatever it has started in its group. Only before it has been reaped.
void signal_group(const Child& child, int signal);

// Ends what is left of its group and reaps it: "exit code 1", "signal 9". For a child that has exited.
std::string reap(Child& child);

}  // namespace tertulia
