// Times as the stores write them: microseconds since 1970.
#pragma once

#include <cstdint>

#include "tertulia/base/clock.h"

namespace tertulia {

inline std::int64_t micros(Time time) { return time.time_since_epoch().count(); }
inline Time time_of(std::int64_t micros) { return Time(Duration(micros)); }

}  // namespace tertulia
