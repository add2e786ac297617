#pragma once

#include <memory>

#include "tertulia/store/sqlite_vfs.h"

namespace tertulia {

// SQLite's own VFS, with page checksums.
std::shared_ptr<SqliteVfs> checked_vfs(LogIndex index);

}  // namespace tertulia
