#pragma once

#include <sqlite3.h>

namespace tertulia {

// Opens SQLite's write-ahead log in `under`. SQLite writes each frame in two calls, 24 bytes of header and
// then the page; here both become one. `file` has room for log_file_bytes() and a file of `under` behind it.
int open_log_file(sqlite3_vfs* under, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags);
int log_file_bytes();

}  // namespace tertulia
