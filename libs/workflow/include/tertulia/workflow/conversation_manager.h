// The ConversationManager: one authoritative transcript, and what each participant has seen of it.
//
// The shared branch of a session holds what everybody said. A participant has a thread: the same conversation
// from its own side, in which its words are the assistant's and everybody else's are the user's, with their
// names. The thread of a participant with tools is a branch of its own, so that the journal of its turns
// holds; others are served from the shared branch. Each message of the shared branch is given to each thread
// exactly once: the cursor (ThreadBinding::applied) moves by what was delivered, never past what others wrote
// meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/policy.h"
#include "tertulia/conversation/projection.h"
#include "tertulia/conversation/session.h"
#include "tertulia/conversation/thread_binding.h"
#include "tertulia/conversation/view.h"
#include "tertulia/store/session_store.h"
#include "tertulia/workflow/node.h"

namespace tertulia {

// What one participant is to see.
struct ConversationView {
  std::string participant;
  // What its thread has been given, as its side of the conversation; empty where a branch or a service keeps
  // the thread. A service that has none yet, or none any more, has to be given it.
  Transcript history;
  // What it has not been given yet. Of role user; never empty.
  std::vector<Message> delta;
  // The cursor once the delta is delivered.
  std::uint64_t applied = 0;
  // Of the session, when the view was made.
  Revision revision{};
};

// Hands messages to a thread that a service keeps; the id it has afterwards. Called before a turn, with what
// the thread lacks but for the last message, which comes with the turn's own request. A binding without a
// service thread wants a new one. After a crash it may be called again with the same messages: they have the
// same ids. May block.
using ResumeHook =
    std::function<Result<std::string>(const ThreadBinding& binding, const std::vector<Message>& delta)>;

// Concurrency: one thread at a time, but for view_for and transcript, which any number may call while nothing
// changes.
class ConversationManager {
 public:
  ConversationManager() = default;
  // `shared` as it is stored in `session`. `base`: how many messages it had before the run, with `input` of
  // the run's own behind them.
  ConversationManager(Session session, Branch shared, std::uint64_t base, std::uint64_t input);

  const Session& session() const { return session_; }
  const Branch& shared() const { return shared_; }
  const Transcript& transcript() const { return shared_.transcript; }
  std::uint64_t base() const { return base_; }
  std::uint64_t input() const { return input_; }

  void set_policy(const std::string& participant, ConversationPolicy policy);
  void set_selection(const std::string& participant, ViewSelection selection);

  // The projection of the conversation for a participant, by its policy. History is given only
  // where nobody keeps the thread.
  Result<ConversationView> view_for(const std::string& participant,
                                    ThreadKind thread = ThreadKind::kShared) const;
  // What of the branch that keeps its thread a participant is shown, by its policy.
  Projection projection_for(const std::string& participant, ThreadKind thread) const;
  // Where a participant stands; one that knows nothing if it has not been here.
  ThreadBinding resolve_thread(const std::string& participant) const;
  // Gives a thread that a service keeps what it lacks through the hook, and takes that out of the view.
  // Without a hook nothing is done: the turn brings it all.
  Result<void> replay_to_thread(ThreadBinding& binding, ConversationView& view, const ResumeHook& hook) const;
  // The messages a participant's turn brought, in its name and without what it was given. To be committed;
  // the binding then says that `view` was delivered.
  Result<std::vector<Message>> merge_response(ThreadBinding& binding, const ConversationView& view,
                                              const std::vector<Message>& turn) const;

  // Makes ready what the participant is shown of the past, so that view_for adds only what came since. Kept
  // for the next run by remember(), from the conversation as an earlier run has left it.
  void hear(const std::string& participant);
  void remember(const ConversationManager& left);

  // After a commit.
  void committed(const Turn& turn, Revision revision);
  void bind(ThreadBinding binding);
  // The session was read again: keeps the bindings, which only runs write.
  void saw(Session session);
  void saw(Revision revision, Time time) {
    session_.revision = revision;
    session_.last_activity = time;
  }
  // What others have written to the shared branch, up to its head.
  Result<void> append_stored(const BranchHead& head, std::span<const StoredTurn> turns) {
    return append_news(head, turns, shared_.transcript);
  }
  void attach(const std::vector<Attachment>& attachments);
  // Says who takes part. True if that is news.
  bool ensure_participant(Participant participant);

 private:
  // What a participant has heard of messages 0..upto.
  struct Heard {
    Transcript transcript;
    std::uint64_t upto = 0;
  };
  struct Profile {
    ConversationPolicy policy;
    ViewSelection selection;
    Heard heard;
  };
  const Profile& profile(const std::string& participant) const;
  // How far it has been given the shared branch, if nobody keeps its thread.
  std::uint64_t known_by(const std::string& participant) const;
  // What it has heard and hears of messages up to `known`.
  Result<Heard> heard_up_to(const std::string& participant, std::uint64_t known) const;

  Session session_;
  Branch shared_;
  std::uint64_t base_ = 0;
  std::uint64_t input_ = 0;
  std::map<std::string, Profile, std::less<>> profiles_;
};

// The branch that holds the thread of a participant of `shared`.
Result<BranchId> thread_branch(const BranchId& shared, const std::string& participant);

// Of roles, authors and parts, not of ids and times: runs that went the same way have the same.
std::string transcript_hash(const Transcript& transcript);

}  // namespace tertulia
