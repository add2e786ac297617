// The file that makes a directory a JSON store: tertulia.json.
#pragma once

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"

namespace tertulia {

// Makes the directory, so that it lasts.
Result<void> make_store_directory(FileSystem& files, const Path& directory);

// Ok for a store of ours, and for a directory that is empty or was being made one. kForeignData,
// kNeedsVersion, kDamaged otherwise. Changes nothing.
Result<void> check_store_directory(FileSystem& files, const Path& directory);

// Makes the directory a store if it is none. With the lock held.
Result<void> initialise_store_directory(FileSystem& files, const Path& directory);

}  // namespace tertulia
