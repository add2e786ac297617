// The next turn of a conversation whose client keeps all its messages and sends them every time: pages with
// useChat, and AG-UI.
//
// What counts is how many messages of the user there are. One more than is stored is a new turn; as many or
// fewer mean that the last one was edited, or is to be answered again: the conversation goes on with a branch
// that ends before it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/agent/engine.h"
#include "tertulia/agent/run_options.h"

#include "core/call.h"
#include "openai/client_tools.h"
#include "openai/run_events.h"

namespace tertulia::server {

struct LineTurn {
  AgentDefinitionPtr agent;
  ClientTools tools;
  SessionKey key;
  BranchId branch;
  RunOptions options;
  Input input;
};

// `messages` are those of a chat completion. What was sent under the same `once` before is the same turn;
// empty: the header says. Blocks.
Result<LineTurn> read_line_turn(const Call& call, const SessionKey& key, const std::string& model,
                                const JsonArray& messages, const Json* tools, const std::string& once = {});

RunPtr run_line_turn(Services& services, const LineTurn& turn);

// The turn that goes on in a session, or that a crash has left: it is taken up again by its agent. Null if
// there is none. Blocks.
Result<RunPtr> attach_to_session(const Call& call, const SessionKey& key);

// A question of a turn as pages name it.
struct AskedPlace {
  TurnId turn;
  // As Engine::answer takes it.
  std::string question;
  // Where it stands: the page was told the turn up to this event.
  std::uint64_t number = 0;
};
// "TURN/CALL/NUMBER", and what it says; none if it is no id of ours.
std::string asked_id(std::string_view question, std::uint64_t number);
std::optional<AskedPlace> read_asked_id(std::string_view id);

// The questions of a turn that nobody has answered yet, as far as its events tell.
class OpenQuestions {
 public:
  // Those in `answered` have been, though the events may not tell of it yet.
  explicit OpenQuestions(std::vector<std::string> answered = {}) : answered_(std::move(answered)) {}

  void take(const Event& event);
  bool empty() const { return asked_.empty(); }
  // By the number of the call that they are about.
  const std::map<std::uint64_t, Event>& asked() const { return asked_; }
  // Of the last event that was taken.
  std::uint64_t number() const { return number_; }

 private:
  const std::vector<std::string> answered_;
  std::map<std::uint64_t, Event> asked_;
  std::uint64_t number_ = 0;
};

struct GivenTo {
  AskedPlace place;
  Answer answer;
};
// Answers what a turn has asked, at least one thing, and gives that turn behind event `after`: it is watched
// before it is answered, so that it tells the rest however soon it is over. One that a crash has left is
// taken up again. An answer that is sent again is fine while the turn goes on. kNoQuestion. Blocks.
Result<RunPtr> answer_and_watch(const Call& call, const SessionKey& key, const std::vector<GivenTo>& answers,
                                std::optional<std::uint64_t> after);

// Keeps what the turn hands back even if nobody reads it.
void follow_line_turn(Services& services, const LineTurn& turn, const TurnId& id);

// Keeps what the turn handed back, then calls `done`.
void keep_line_turn(Services& services, const LineTurn& turn, const TurnOutcome& outcome,
                    const std::function<void()>& done);

}  // namespace tertulia::server
