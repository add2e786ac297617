// Where an image or a file of a message may stand.
#pragma once

#include <string>
#include <string_view>

#include "tertulia/base/result.h"

namespace tertulia::server {

// Inline data, or a public address as it is spelled. We fetch none of them; a provider does, and one that
// runs beside us must not be sent to what only this machine reaches. kUrlNotAllowed {param}.
Result<void> check_part_address(std::string_view address, const std::string& param);

}  // namespace tertulia::server
