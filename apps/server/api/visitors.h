// The route that lets visitors of other pages in.
#pragma once

#include <span>

#include "core/route.h"

namespace tertulia::server {

std::span<const Route> visitor_routes();

}  // namespace tertulia::server
