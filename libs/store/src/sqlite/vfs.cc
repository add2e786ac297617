#include "tertulia/store/sqlite_vfs.h"

#include "checked_vfs.h"
#include "env_vfs.h"

namespace tertulia {

std::shared_ptr<SqliteVfs> make_sqlite_vfs(Env& env, LogIndex index) {
  return &env == &real_env() ? checked_vfs(index) : make_env_vfs(env);
}

}  // namespace tertulia
