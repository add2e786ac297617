#include "tertulia/base/version.h"

namespace tertulia {

std::string_view version() { return TERTULIA_VERSION; }

}  // namespace tertulia
