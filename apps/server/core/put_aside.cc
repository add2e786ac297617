#include "core/put_aside.h"

#include <chrono>
#include <string>

namespace tertulia::server {

Result<Path> put_aside(Env& env, const Path& path) {
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(env.clock().now().time_since_epoch()).count();
  Path aside = path.string() + ".damaged-" + std::to_string(now);
  TERTULIA_TRY(env.files().rename(path, aside));
  return aside;
}

}  // namespace tertulia::server
