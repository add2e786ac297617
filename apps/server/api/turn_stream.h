// A turn, told as server-sent events or answered as one body.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tertulia/agent/run.h"
#include "tertulia/base/done.h"
#include "tertulia/conversation/event.h"

#include "api/turn_feed.h"
#include "core/metrics.h"
#include "http/reply.h"

namespace tertulia::server {

// Streams the events of a run, with `outcome` or `failed` behind the last. Errors that come before the first
// event are the answer's own, with their status. `session` is told in a header. Keeps a reference to
// `metrics`.
void stream_turn(Run run, std::string session, Metrics& metrics, Done<Reply> done);

// The same for one of many who watch a turn. `feeds` is null for a turn that does not run.

void stream_watched(const WatchTurn& watch, std::optional<std::uint64_t> after, std::string session,
                    std::shared_ptr<TurnFeeds> feeds, Done<Reply> done);

// Waits for the end of the turn, holding no thread, and answers with its outcome.
void finish_turn(Run run, Metrics& metrics, Done<Reply> done);

// Waits until the turn has begun, or was refused. Gives the run and the first event, if there is one.
struct BegunRun {
  std::shared_ptr<Run> run;
  std::optional<Event> first;
};
void begin_run(Run run, Done<BegunRun> done);

}  // namespace tertulia::server
