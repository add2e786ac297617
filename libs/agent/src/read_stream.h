// Reading a whole stream of records.
#pragma once

#include <vector>

#include "async.h"
#include "engine_core.h"

namespace tertulia {

// Every record of it, in order.
Task<Result<std::vector<Record>>> read_stream(EngineCore& engine, SessionKey key, StreamId stream);

}  // namespace tertulia
