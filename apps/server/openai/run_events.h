// Reading a run without a thread that waits, and telling it in another protocol.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tertulia/agent/engine.h"
#include "tertulia/agent/run.h"
#include "tertulia/base/done.h"
#include "tertulia/conversation/branch.h"

#include "http/reply.h"

namespace tertulia::server {

using RunPtr = std::shared_ptr<Run>;

// A turn behind messages that are nobody's else, kept as long as the run. The turn stands in `branch` when it
// has ended.
RunPtr run_stateless(Engine& engine, const AgentDefinitionPtr& agent, Input input,
                     std::shared_ptr<Branch> branch, RunOptions options);

// A run that has begun, with its first event.
struct StartedRun {
  RunPtr run;
  std::optional<Event> first;
};
// Waits until the turn has begun; the error says why it did not.
void start_run(RunPtr run, Done<StartedRun> done);

// Gives each event to `take` as it comes, and nothing at the end, until it wants no more. It is called on the
// threads of the engine, or before this returns.
void read_events(RunPtr run, std::function<bool(std::optional<Event>)> take);

enum class Wanted : std::uint8_t {
  kNothing,
  kMore,
  kIfThere,  // if nothing is there by now, no more, and `idle` is called
};
// The same, as long as it is wanted: `first`, and what `take` says.
void read_events_while(RunPtr run, std::function<Wanted(std::optional<Event>)> take, Wanted first,
                       std::function<void()> idle);

// Tells a turn in the words of a protocol.
class Translator {
 public:
  virtual ~Translator() = default;
  virtual void take(const Event& event, std::string& out) = 0;
  // Everything was told. Calls `done` once with the last words, from any thread.
  virtual void end(Result<TurnOutcome> outcome, std::function<void(std::string)> done) = 0;
  // The turn has asked a person. Unless something is there behind the question, pause() tells it, and that is
  // all: whoever answers is told the rest.
  virtual bool pausing() const { return false; }
  virtual std::string pause() { return {}; }
  virtual std::string_view heartbeat() const;
};

// Reads the turn to its end, and calls `forget` if it has failed without having run a tool: then it may be
// said again.
void forget_if_failed(const Run& run, std::function<void()> forget);

// Reads the whole turn through a translator and drops its words; `done` is called when it has ended.
void read_through(StartedRun started, std::shared_ptr<Translator> translator, std::function<void()> done);

// The turn as a stream of the translator's words.
std::shared_ptr<ByteStream> translated(StartedRun started, std::shared_ptr<Translator> translator);

// An answer of server-sent events.
Reply event_stream(std::shared_ptr<ByteStream> stream);

}  // namespace tertulia::server
