#pragma once

#include <memory>

#include "tertulia/base/file_system.h"

namespace tertulia {

std::unique_ptr<FileSystem> make_real_file_system();

}  // namespace tertulia
