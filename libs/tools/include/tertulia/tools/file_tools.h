// file_tools: the files below one directory for a model, and no others.
#pragma once

#include <cstddef>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"
#include "tertulia/tools/toolkit.h"

namespace tertulia {

struct FileToolsOptions {
  // True: there is no write_file.
  bool read_only = false;
  // What one read gives. Default: 48 KiB.
  std::size_t read_bytes = 48 * 1024;
  // The largest file that is read as text or searched. Default: 16 MiB.
  std::size_t file_bytes = std::size_t{16} << 20;
  // The largest file that is written. Default: 1 MiB.
  std::size_t write_bytes = std::size_t{1} << 20;
  // How many entries a listing, and how many lines a search gives. Default: 500 and 100.
  std::size_t entries = 500;
  std::size_t matches = 100;
};

// The toolkit "files": read_file, list_files and search_files, which are read-only, and write_file, which is
// unsafe and can be probed.
//
// Paths are relative to `root`. The kernel keeps them below it (openat2), whoever changes what while a call
// runs: no "..", no absolute paths, no symbolic links, not even within. Only regular files are read and
// written; pipes, devices and sockets are refused without being opened. A file is written beside its place,
// synced and renamed, so that a crash leaves the old content or the new. What has a second name (a hard link)
// outside of the root is within it too: only somebody outside can arrange that.
//
// kNotFound or kNotPermitted: `root` is no directory, or the kernel cannot keep the promise (Linux before
// 5.6).
Result<Toolkit> file_tools(const Path& root, FileToolsOptions options = {});

}  // namespace tertulia
