// A file that cannot be read is damaged, and is never written over: it is kept beside the new one.
#pragma once

#include "tertulia/base/env.h"

namespace tertulia::server {

// Gives the file the name "<path>.damaged-<milliseconds>", and says which that is.
Result<Path> put_aside(Env& env, const Path& path);

}  // namespace tertulia::server
