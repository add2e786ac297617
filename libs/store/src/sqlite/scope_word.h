// What the text index is made of.
#pragma once

#include <string>

#include "tertulia/base/id.h"
#include "tertulia/conversation/turn.h"

namespace tertulia {

// The owner as one word, so that a search looks at nobody else's turns.
std::string scope_word(const TenantId& tenant, const OwnerId& owner);
// The text of a turn that is searched: what was said, and what tools gave back.
std::string words_of(const Turn& turn);

}  // namespace tertulia
