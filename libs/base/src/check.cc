#include "tertulia/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tertulia {

void check_failed(const char* file, int line, const char* condition, std::string_view sentence) {
  std::fprintf(stderr, "tertulia: broken promise at %s:%d: %.*s (%s)\n", file, line,
               static_cast<int>(sentence.size()), sentence.data(), condition);
  std::abort();
}

}  // namespace tertulia
