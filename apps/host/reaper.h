// The Reaper: closes sessions that have ended by themselves, every minute, in a thread of its own.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/memory/lifecycle.h"

namespace tertulia {

class Engine;
class Memory;

// Closes the turns of these sessions that were interrupted, as far as they came, and gives the sessions that
// have no turn left. Not those with a turn that runs, here or elsewhere, nor those that wait for somebody's
// answer.
using GiveUpTurns = std::function<std::vector<SessionKey>(const std::vector<SessionKey>& sessions)>;
// `closer` signs for agents that are there no more.
GiveUpTurns give_up_turns(std::shared_ptr<Engine> engine, AgentDefinitionPtr closer);

// Closes every session whose time is up. One that nobody has come back to since its turn failed ends by an
// error, unless `give_up` is empty.
Result<ReapReport> reap_and_give_up(Memory& memory, const RuleBook& rules, const GiveUpTurns& give_up);

class Reaper {
 public:
  Reaper(std::shared_ptr<Memory> memory, GiveUpTurns give_up);
  // Waits for a session that is being closed.
  ~Reaper();

 private:
  void work();

  std::shared_ptr<Memory> memory_;
  const GiveUpTurns give_up_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tertulia
