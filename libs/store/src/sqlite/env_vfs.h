#pragma once

#include <memory>

#include "tertulia/store/sqlite_vfs.h"

namespace tertulia {

// A VFS over env.files(), env.clock() and env.random(), with page checksums.
std::shared_ptr<SqliteVfs> make_env_vfs(Env& env);

}  // namespace tertulia
