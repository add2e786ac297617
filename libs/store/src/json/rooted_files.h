// Files below one directory, and no others.
#pragma once

#include <memory>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"

namespace tertulia {

// The operating system's files below `root`, which must exist. A path that leads out of it, or over a
// symbolic link anywhere below it, is refused with kNotPermitted, whoever puts the link there and when: the
// kernel decides (openat2). Paths are given with `root` in front. Refers to `files`, which must be the real
// ones.
Result<std::unique_ptr<FileSystem>> make_rooted_files(FileSystem& files, const Path& root);

}  // namespace tertulia
