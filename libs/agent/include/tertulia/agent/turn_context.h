// A TurnContext: a turn as the hooks of middleware see it, and what they may do to it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/log.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/message.h"
#include "tertulia/conversation/transcript.h"
#include "tertulia/model/language_model.h"
#include "tertulia/store/session_key.h"

namespace tertulia {

enum class StateScope : std::uint8_t {
  kSession,  // the same for all branches
  kBranch,   // a fork begins with a copy
};

// From what is stored to what shall be stored; an empty text is nothing. Called again on what stands at the
// commit, perhaps from another thread, if the state is the session's: it must depend on nothing else.
using StateChange = std::function<Result<JsonText>(const JsonText& stored)>;

struct TurnWork;

// Which turn it is.
struct TurnInfo {
  // Without a session: ids are empty.
  SessionKey key;
  BranchId branch;
  TurnId turn;
  AgentId agent;
  // How many model calls the turn has made, the one under way included.
  std::uint32_t iteration = 0;
  // It goes on after a crash, a shutdown or an unreachable model.
  bool resumed = false;
};

// The turn as a hook sees it. Valid during the hook only.
class TurnContext {
 public:
  explicit TurnContext(TurnWork& work);

  const TurnInfo& info() const { return info_; }
  // The committed messages before this turn.
  const Transcript& transcript() const;
  // The turn's own so far: input, answers, and calls with their results. Calls that are open are not among
  // them.
  std::span<const Message> messages() const;
  // Of the turn's model calls. Of those before a crash, input and output of the answers that were stored.
  const Usage& usage() const;
  Time now() const;
  const Log& log() const;

  // In before_iteration: the next model call reads this behind the history, as a context message. It is
  // counted in the budget and never stored.
  void show(std::string text);
  // The next model call is the last and gets no tools, as when a limit of the agent is reached.
  void answer_next();

  // A message as this turn would make it: with an id, the time, and its tokens counted.
  Result<Message> make_message(MessageDraft draft) const;
  // The same message with other parts; it keeps its id.
  Result<Message> with_parts(const Message& message, std::vector<Part> parts) const;

  // What MiddlewareStateOf is made of. Nothing there: an empty text.
  JsonText state(StateScope scope, const std::string& name) const;
  Result<void> change_state(StateScope scope, const std::string& name, StateChange change);
  // Warns once in a turn that what is stored holds fields that nobody knows any more.
  void warn_left_out(const std::string& name, const std::vector<std::string>& fields) const;

 private:
  TurnWork& work_;
  TurnInfo info_;
};

}  // namespace tertulia
