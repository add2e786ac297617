// A Talk: the conversation that a chat is in, with what can be done to it besides speaking.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tertulia/agent/engine.h"
#include "tertulia/conversation/receipt.h"
#include "tertulia/store/session_store.h"

#include "host/host.h"

namespace tertulia::cli {

class Talk {
 public:
  // `options` says how its turns are run; its branch is where it begins.
  Talk(Host& host, AgentDefinitionPtr agent, SessionKey key, RunOptions options);

  const SessionKey& key() const { return key_; }
  const AgentDefinition& agent() const { return *agent_; }
  Host& host() const { return host_; }
  // The one that turns go to; "main" for a session that is not there yet.
  std::string branch() const { return options_.branch ? options_.branch->text() : "main"; }
  std::string model() const;

  // Another session, at the branch it was used last.
  Result<void> enter(const SessionKey& key);
  // None if the session is not there yet.
  Result<std::optional<SessionState>> state() const;
  Result<std::optional<BranchHead>> head() const;

  Run say(const std::string& text);
  // What was said before, with the pictures that went with it.
  Run say_again(const Message& said);
  Run resume();
  // The turn of this branch that did not come to its end, if there is one.
  Result<std::optional<InterruptedTurn>> waiting() const;
  // Takes it back, as far as nothing came of it.
  Run discard();

  // Reads a file that goes with the next message: text as text, a picture as a picture.
  Result<void> attach(const Path& file);
  const std::vector<std::string>& attached() const { return attached_names_; }

  // All of these go on in the branch they make or name.
  Result<void> fork(const std::string& name, std::optional<std::uint64_t> at);
  Result<void> switch_to(const std::string& name);
  // Before the last turn. The message that began it, and the new branch in branch().
  Result<Message> step_back(const std::string& prefix);
  // The session ends and becomes an episode; whoever comes back meets what `on_return` says.
  Result<void> close();

  // Of the last model call that was seen here, or that is stored.
  Result<std::optional<Receipt>> receipt() const;
  void saw(const Event& event);

 private:
  Result<SessionState> existing() const;
  // The message that began the last turn, and where it stands.
  Result<std::pair<Message, std::uint64_t>> last_input(const BranchHead& head) const;
  std::string free_name(const SessionState& state, const std::string& prefix) const;
  SessionStore sessions() const;

  Host& host_;
  AgentDefinitionPtr agent_;
  SessionKey key_;
  RunOptions options_;
  std::optional<Receipt> receipt_;
  // Owned text that the parts of the next message point into.
  std::vector<std::string> attached_names_;
  std::vector<std::string> attached_types_;
  std::vector<std::string> attached_texts_;
};

}  // namespace tertulia::cli
