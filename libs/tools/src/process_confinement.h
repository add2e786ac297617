// Landlock rules and seccomp filters for programs that a model runs.
#pragma once

#include <string>
#include <vector>

#include <linux/filter.h>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"

#include "file_root.h"

namespace tertulia {

// A Landlock ruleset: below `writable` everything, below `readable` reading and running. Paths that are
// missing are passed over. kStorageIo.
Result<Fd> make_ruleset(int version, const std::vector<Path>& writable, const std::vector<Path>& readable);

// Refuses the system calls that no program of a model needs: those that look into other processes, load code
// into the kernel, mount, or make namespaces; without `network` also sockets.
std::vector<sock_filter> make_filter(bool network);

}  // namespace tertulia
