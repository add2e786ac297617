// The tools that come with Tertulia.
#pragma once

#include "tertulia/base/clock.h"
#include "tertulia/tools/tool.h"
#include "tertulia/tools/toolkit.h"

namespace tertulia {

// "calculator": {"expression": "2 * (3 + 4)"} gives "14". Read-only.
//   + - * / ^ % ! and parentheses; pi, e, tau; abs ceil floor round(x[, digits]) min max sum gcd lcm
//   factorial sqrt cbrt exp ln log2 log10 log(x, base); sin cos tan asin acos atan atan2, in radians.
// Whole numbers, decimals and fractions are exact up to 1,233 digits: 0.1 + 0.2 is 0.3, 2^64 has all its
// digits. After roots, logarithms and angles it is a double. % has the sign of the divisor; round takes
// halves away from zero.
ToolPtr calculator_tool();

// "clock": {"utc_offset": "+02:00"} gives {"time": "2025-01-01T02:00:00+02:00", "weekday": "Wednesday",
// "unix": 1735689600}. Without an offset it is UTC. Read-only. `clock` must outlive the tool.
ToolPtr clock_tool(Clock& clock);

// "end_conversation": the conversation ends with the turn in which it is called. Idempotent.
ToolPtr end_conversation_tool();

// All of them, as the toolkit "builtin".
Toolkit builtin_tools(Clock& clock);

}  // namespace tertulia
