// Sessions in which the program keeps what is its own: "~runs", "~ingest".
#pragma once

#include "tertulia/base/clock.h"
#include "tertulia/base/result.h"
#include "tertulia/store/store.h"

namespace tertulia {

// Makes the session with its branch `main` unless it is there. Blocks.
Result<void> put_own_session(Store& store, const SessionKey& key, Time now);

}  // namespace tertulia
