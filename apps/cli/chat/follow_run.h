// Follows a turn to its end: shows it, asks a person where the turn asks, and stops it on Ctrl-C.
#pragma once

#include "tertulia/agent/engine.h"
#include "tertulia/agent/run.h"

#include "turn_view.h"

namespace tertulia::cli {

struct FollowOptions {
  // Somebody sits at a terminal and answers questions.
  bool person = false;
  // Nobody does: what is asked is denied at once, and answers that were given before still hold.
  bool deny = false;
  bool colour = false;
  // Called for every event, before it is shown.
  std::function<void(const Event&)> watch{};
};

Result<TurnOutcome> follow_run(Engine& engine, const SessionKey& key, Run run, TurnView& view,
                               const FollowOptions& options);

// From the first call on, SIGINT stops the turn that is followed; a second one, or one without a turn, ends
// the program. Called before any thread is started, which inherits that the signal waits.
void catch_interrupts(bool at_prompt = false);

}  // namespace tertulia::cli
