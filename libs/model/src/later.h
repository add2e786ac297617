// Jobs for later, on one thread of the process.
#pragma once

#include <functional>

#include "tertulia/base/clock.h"

namespace tertulia {

// The job must be short, and must not throw.
void run_later(Duration delay, std::function<void()> job);

}  // namespace tertulia
