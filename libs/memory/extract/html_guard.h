// A look at HTML before it is parsed: a parser's work for each tag grows with how deep it stands.
#pragma once

#include <cstddef>
#include <string_view>

#include "tertulia/base/result.h"

namespace tertulia {

// Elements that are open at once, of those that need an end tag. Pages have tens; one that forgets the end
// tags of its formatting has hundreds.
inline constexpr std::size_t kMaxOpenElements = 1'000;

// kTooDeep. One pass, in the order of the bytes.
Result<void> check_html(std::string_view html);

}  // namespace tertulia
