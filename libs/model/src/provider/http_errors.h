// What a provider's refusal means to us.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tertulia/base/clock.h"
#include "tertulia/base/error.h"
#include "tertulia/base/http_client.h"

namespace tertulia {

// As much of an answer whose status is not 200 is read.
inline constexpr std::size_t kErrorBytes = std::size_t{64} << 10U;

// The error of an answer whose status is not 200. `body` is what came, perhaps cut.
Error error_of_status(const HttpHead& head, std::string_view body, Time now);

// The error of an event that reports one, by the provider's words for its type or code.
Error error_of_words(std::string_view type, std::string_view code, std::string_view message);

// From "retry-after-ms", or "Retry-After" in seconds or as a date. Never negative.
std::optional<Duration> retry_after(const HttpHead& head, Time now);

// The error of an exchange that did not end well. `began`: an answer of status 200 had begun.
Error error_of_end(const HttpEnd& end, bool began, const CancelToken& cancel);

}  // namespace tertulia
