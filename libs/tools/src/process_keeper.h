// The process that stands between this one and a program: it starts it, and sees to it that nothing is left.
//
// Everything here runs between fork and exec in a copy of a process that may have had many threads: no
// memory is allocated, no lock taken, nothing called that is not safe in a signal handler. What is needed is
// prepared before, in KeeperPlan.
#pragma once

#include <array>
#include <cstdint>

#include <linux/filter.h>
#include <sys/resource.h>
#include <sys/types.h>

namespace tertulia {

struct KeeperLimit {
  __rlimit_resource resource;
  rlim_t value;
};

// File descriptors are borrowed.
struct KeeperPlan {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  int directory = -1;
  // Instead of the path, if not negative.
  int program_file = -1;
  int input = -1;
  int output = -1;
  int errors = -1;
  // Readable, or closed at the other end: everything is to be killed.
  int leash = -1;
  // Where the KeeperNotes go.
  int notes = -1;
  // Of Landlock; none if negative.
  int ruleset = -1;
  // None if null.
  const sock_fprog* filter = nullptr;
  std::array<KeeperLimit, 7> limits{};
  // Drop to this user and group first.
  bool drop = false;
  uid_t user = 0;
  gid_t group = 0;
  bool namespaces = false;
  bool network = false;
  // "1000 1000 1".
  const char* user_map = "";
  const char* group_map = "";
};

enum class KeeperStage : std::int32_t {
  kEnded,  // the program ran: `value` is its wait status
  kUser,   // the others: it was not run, `value` is errno
  kNamespace,
  kStart,
  kDirectory,
  kLimit,
  kConfine,
  kProgram,
};

struct KeeperNote {
  KeeperStage stage = KeeperStage::kEnded;
  std::int32_t value = 0;
};

// In the child of a fork, with all signals blocked. The program is a grandchild.
[[noreturn]] void keep(const KeeperPlan& plan);

// In the child of a fork: whether namespaces can be made.
bool try_namespaces(const KeeperPlan& plan);

}  // namespace tertulia
