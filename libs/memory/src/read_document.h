// Documents of other people's making, read in a process of their own.
#pragma once

#include <string>
#include <string_view>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/result.h"
#include "tertulia/memory/document.h"

namespace tertulia {

Result<std::string> read_html(std::string_view bytes, const CancelToken& cancel, const ReadingLimits& limits);
// The pages in order, an empty line between them. A PDF of pictures has no text: the result is then empty.
Result<std::string> read_pdf(std::string_view bytes, const CancelToken& cancel, const ReadingLimits& limits);

}  // namespace tertulia
