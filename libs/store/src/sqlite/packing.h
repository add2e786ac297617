// Turns are kept compressed, by zstd with a dictionary that knows how rows and prose look: what one turn
// alone holds is too short to learn from. A turn then touches one page less, and that is most of what it
// writes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tertulia/base/result.h"

namespace tertulia {

// Adds `bytes` to `out` in packed form, unless that is no shorter: then `out` is left as it is. What cannot
// be packed for want of memory is not either.
bool append_packed(std::string& out, std::string_view bytes);

// Puts what was packed into `out`, which is `size` bytes long. kDamaged if it is not just that.
Result<void> unpack(std::string_view packed, char* out, std::size_t size);

}  // namespace tertulia
