// A SessionDesk: the branches of one session that are in use, and who is next on each.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/agent/engine.h"

#include "async_mutex.h"
#include "durable_turn.h"
#include "ticket.h"

namespace tertulia {

// What somebody asked for.
struct Submission {
  AgentDefinitionPtr agent;
  // Made into messages, with ids. Empty: resume.
  std::vector<Message> input;
  RunOptions options;
  std::string body_hash;
  TicketPtr ticket;
  // The branch must be this one, with these messages. None: whatever it is.
  std::optional<Branch> expected{};
};
// By pointer, because it is large and travels through several coroutines.
using SubmissionPtr = std::unique_ptr<Submission>;

// A branch that is in use. All but `seat` is guarded by the desk's door; `seat` belongs to the running turn,
// and to whoever is inside the door while none runs.
struct BranchSlot {
  BranchSeat seat;
  // What a crash or a failure left, with the events it has stored.
  std::unique_ptr<UnfinishedTurn> unfinished;
  std::vector<std::string> unfinished_events;
  // The number of the event record before the first of these.
  std::uint64_t events_before_unfinished = 0;
  LiveTurnPtr running;
  std::list<SubmissionPtr> waiting;
  // It must be read again before it is used.
  bool stale = true;

  bool idle() const { return !running && waiting.empty(); }
};

struct SessionDesk : std::enable_shared_from_this<SessionDesk> {
  explicit SessionDesk(SessionKey session_key) : key(std::move(session_key)) {}

  const SessionKey key;
  // Submissions that nobody has decided about yet, in the order in which they were made.
  Mutex arriving_mutex;
  std::list<SubmissionPtr> arriving TERTULIA_GUARDED_BY(arriving_mutex);
  // Who decides about the desk is inside.
  AsyncMutex door;
  SessionSeat seat;
  bool loaded = false;
  // What is known of the session must be read again, before anybody else decides. Set from any thread.
  std::atomic<bool> outdated = false;
  // The branches there are, by what the rules need to know of them.
  std::vector<BranchInfo> branches;
  std::map<BranchId, std::unique_ptr<BranchSlot>> slots;
};

using SessionDeskPtr = std::shared_ptr<SessionDesk>;

// Inside the door: learns of the session, making it if it is not there and `create` is set.
Task<Result<void>> load_desk(EngineCore& engine, SessionDesk& desk, bool create);
// Inside the door: reads the branch again.
Task<Result<void>> load_slot(EngineCore& engine, SessionDesk& desk, const BranchId& id, BranchSlot& slot);
// Inside the door: the branch that is meant, ready for a turn.
Task<Result<BranchSlot*>> open_slot(EngineCore& engine, SessionDesk& desk,
                                    const std::optional<BranchId>& wanted, bool create);

}  // namespace tertulia
