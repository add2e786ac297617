// The value of an arithmetic expression.
#pragma once

#include <string>
#include <string_view>

#include "tertulia/base/result.h"

namespace tertulia {

// + - * / ^ % ! and parentheses; pi, e, tau; the functions in builtin_tools.h.
//
// Whole numbers, decimals and fractions are exact: 0.1 + 0.2 is 0.3, and 1/3*3 is 1. Exact numbers have up to
// 4,096 bits (1,233 digits) above and below the line; beyond that, and after roots that are not whole,
// logarithms and angles, a number is a double.
//
// kBadArguments {position: the byte at which it went wrong, from 1}.
Result<std::string> calculate(std::string_view expression);

}  // namespace tertulia
