// HTML as the markdown of what a reader sees.
#pragma once

#include <string>
#include <string_view>

#include "tertulia/base/result.h"

namespace tertulia {

// `html` is UTF-8. Any of it can be read, as browsers do; kTooDeep for elements within elements beyond all
// reason.
Result<std::string> html_text(std::string_view html);

}  // namespace tertulia
