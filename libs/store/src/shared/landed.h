// Whether a change whose answer was lost has been made.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tertulia/store/store.h"

#include "wire.h"

namespace tertulia {

// Looks in the store for the change that `body` asks for. The answer to it if it was made, or if that cannot
// be told (kOutcomeUnknown); none if it was not: then it may be asked for again. Blocks.
std::optional<std::string> look_for_change(Store& store, Verb verb, std::string_view body);

}  // namespace tertulia
