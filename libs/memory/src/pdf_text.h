// The text of a PDF.
#pragma once

#include <string>
#include <string_view>

#include "tertulia/base/result.h"

namespace tertulia {

// The pages in order, an empty line between them. kDamaged if it cannot be read, kNotPermitted if it asks for
// a password. A PDF of pictures has no text: the result is then empty.
Result<std::string> pdf_text(std::string_view bytes);

}  // namespace tertulia
