// A store in memory: for tests, for trying things out, and for conversations that nobody needs afterwards.
#pragma once

#include <memory>

#include "tertulia/store/store.h"

namespace tertulia {

// Empty, and gone with the object. Everything else is as for every store.
//
// Completions are called before the call returns. A fork costs a name and an origin; its messages are those
// of the parent. Every call holds the one lock of the store, for as long as it takes to copy what was asked
// for: messages are shared, not copied.
std::unique_ptr<Store> open_memory_store();

}  // namespace tertulia
