// Making, recognising and opening the files of a store.
#pragma once

#include "tertulia/base/result.h"

#include "connection.h"
#include "store_core.h"

namespace tertulia {

// Locks the directory, makes the store if there is none, migrates it if it is old, and opens the writing
// connection.
Result<Connection> open_files(StoreCore& core);

// Copies the database that `from` sees to a new file, as it is at one moment.
Result<void> copy_database(Connection& from, StoreCore& core, const Path& to);

// kForeignData, kNeedsVersion, kDamaged: the file is no sound database of ours.
Result<void> check_database_file(Env& env, const SqliteVfs& vfs, const Path& file);

// Copies `backup` to `file` byte for byte, synced.
Result<void> copy_file(FileSystem& files, const Path& from, const Path& to);

}  // namespace tertulia
