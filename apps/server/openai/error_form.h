// Errors as OpenAI's clients understand them.
#pragma once

#include <string>
#include <string_view>

#include "tertulia/base/error.h"

#include "http/problem.h"

namespace tertulia::server {

// {"error":{"message":…,"type":…,"param":…,"code":…}}. The id of the request stands in a header.
std::string openai_error_body(const Problem& problem, std::string_view request_id);
// The same as the object alone, for events.
std::string openai_error(const Problem& problem);

}  // namespace tertulia::server
