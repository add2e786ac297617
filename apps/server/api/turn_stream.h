// A turn, told as server-sent events or answered as one body.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tertulia/agent/run.h"
#include "tertulia/base/done.h"
#include "tertulia/conversation/event.h"

#include "core/metrics.h"
#include "http/reply.h"

namespace tertulia::server {

// Streams the events of a run, with `outcome` or `failed` behind the last. Errors that come before the first
// event are the answer's own, with their status. `session` is told in a header. Keeps a reference to
// `metrics`.
void stream_turn(Run run, std::string session, Metrics& metrics, Done<Reply> done);

// Waits for the end of the turn, holding no thread, and answers with its outcome.
void finish_turn(Run run, Metrics& metrics, Done<Reply> done);

// Waits until the turn has begun, or was refused. Gives the run and the first event, if there is one.
struct BegunRun {
  std::shared_ptr<Run> run;
  std::optional<Event> first;
};
void begin_run(Run run, Done<BegunRun> done);

}  // namespace tertulia::server
