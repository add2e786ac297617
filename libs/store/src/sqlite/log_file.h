// The write-ahead log as one write a commit.
//
// SQLite writes each page of a commit as two small writes, its header and its content, and then syncs. Where
// every commit is synced, what is written in between need not be there before: it is gathered, and written at
// once when the sync comes. Whatever reads, cuts or measures the file first writes what was gathered.
#pragma once

#include <sqlite3.h>

#include "tertulia/base/result.h"

namespace tertulia {

// How many bytes an open log needs beside those of the VFS below.
int log_file_bytes();

// Opens a log on the VFS below, in the place that SQLite gave for `file`.
int open_log_file(sqlite3_vfs* under, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags);

// From now on the log of this connection gathers. Only for a connection that syncs with every commit
// (synchronous FULL): without a sync, other connections would look for what is not in the file yet.
Result<void> gather_log_writes(sqlite3* database);

}  // namespace tertulia
