// A run of a workflow, told as server-sent events or answered as one body.
#pragma once

#include <cstdint>
#include <memory>

#include "tertulia/base/done.h"

#include "host/tracked_run.h"
#include "http/reply.h"

namespace tertulia::server {

// Streams its events from a number on, with `outcome` or `failed` behind the last. A run that was refused is
// an ordinary error.
void stream_run(std::shared_ptr<TrackedRun> run, std::uint64_t from, Done<Reply> done);

// Waits for its end, holding no thread, and answers with its outcome.
void finish_run(const std::shared_ptr<TrackedRun>& run, Done<Reply> done);

}  // namespace tertulia::server
