// The smallest JSON value that a schema accepts.
#pragma once

#include <string_view>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"

namespace tertulia::offline {

// Text goes into the strings and its last number into the numbers, as far as the schema lets them. Knows
// type, const, enum, default, required, properties, items, minItems, minLength, maxLength, minimum, maximum,
// exclusiveMinimum, multipleOf, anyOf, oneOf, allOf and $ref within the schema; patterns are not solved.
// kTooLarge if it asks for too much.
Result<Json> value_for_schema(const Json& schema, std::string_view text);

}  // namespace tertulia::offline
