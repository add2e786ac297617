// The RunMachine: one run, from its entry to its end.
//
//   open ─▶ submit entry ─▶ start_step ─▶ nodes ─▶ finish_step ─▶ submit ─▶ start_step … ─▶ end
//
// Everything it decides it decides on its strand, one thing at a time: nodes and commits only report there.
// Each superstep is one commit of the session. The next one begins when that is durable, unless all its nodes
// are harmless: then nothing that they do can be seen before their own commit is, which is behind the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/base/cancellation.h"
#include "tertulia/store/store.h"

#include "engine_parts.h"
#include "node_call.h"
#include "run_log.h"
#include "run_state.h"
#include "strand.h"

namespace tertulia {

// What was asked for.
struct RunPlan {
  enum class How : std::uint8_t { kRun, kResume, kFork };
  How how = How::kRun;
  Workflow workflow;
  WorkflowInput input{};
  WorkflowOptions options{};
  // Of what is resumed or forked.
  SessionKey key{};
  std::string run{};
  // Of the run that is forked.
  std::uint64_t checkpoint = 0;
  // Where the branch is forked from, if it is made for the run.
  std::optional<ForkOrigin> origin{};
};

// Where a run is: in memory, or in the store.
struct RunPlace {
  ConversationManager conversation;
  RunState state;
  // How many checkpoints there are, and which was the last whole one.
  std::uint64_t checkpoints = 0;
  std::uint64_t last_whole = 0;
};

// A commit of the run, until it is durable.
struct PendingCommit {
  RunState state;
  std::optional<Turn> turn{};
  std::vector<ThreadBinding> bindings{};
  std::vector<BranchHead> branches{};
  std::vector<std::string> answered{};
  std::vector<ThreadPlace> threads{};
  // The session's own fields change.
  bool put_session = false;
  // The session is made by it.
  bool create = false;
  // When it was sent.
  Time time{};
  std::optional<Result<Revision>> result{};
};

class RunMachine : public std::enable_shared_from_this<RunMachine> {
 public:
  RunMachine(std::shared_ptr<EngineParts> parts, RunPlan plan, std::shared_ptr<RunLog> log);
  ~RunMachine();

  // Before start(): called once, before the end is shown.
  void on_end(std::function<void()> ended) { ended_ = std::move(ended); }
  void start();
  void cancel(CancelReason reason);
  const std::string& run() const { return facts_.run; }

 private:
  struct NodeRun;

  // Opening: open_run.cc.
  Result<void> open();
  Result<void> open_new();
  Result<void> open_stored();
  Result<void> open_resumed(Checkpoint checkpoint, std::uint64_t newest, std::uint64_t last_whole);
  Result<void> open_fork(Checkpoint checkpoint);
  Result<void> check_names() const;
  Result<void> find_session();
  Result<void> add_agents();
  Result<void> claim();
  // The session and the shared branch as they are stored, or new ones.
  Result<SessionState> load_session(PendingCommit& entry);
  Result<void> load_branch(const SessionState& state, PendingCommit& entry);
  Result<void> check_graph(const RunFacts& facts) const;
  // That a checkpoint names nothing that the graph does not have: it may have been changed behind our back.
  Result<void> check_state(const RunState& state) const;
  // Whether it is the branch that the run began on, with at least so many messages.
  bool is_of_this_run(const BranchHead& head, std::uint64_t messages) const;
  Error branch_gone() const;
  Result<std::optional<Turn>> input_turn();
  Result<Delivery> first_delivery() const;
  void take_part(PendingCommit& entry);
  Result<BranchId> thread_of(const std::string& participant, const BranchId& shared,
                             const std::string& run) const;
  Result<void> make_threads(const std::vector<BranchHead>& there, PendingCommit& entry);
  Result<void> note_answers();
  Result<std::vector<Delivery>> take_answers(PendingCommit& commit);
  void begin(PendingCommit entry);

  // Supersteps: superstep.cc.
  void advance();
  void start_step();
  void run_call(NodeRun& run);
  void call_done(NodeRun& run, Result<void> ended);
  void finish_step();
  void mark_nodes(RunState& state) const;
  Result<void> merge(std::vector<NodeEffects> all, PendingCommit& commit);
  Result<void> merge_changes(const std::vector<NodeEffects>& all, RunState& next) const;
  Result<void> deliver(const WorkflowMessage& message, PendingCommit& commit, std::vector<NodeEffects>& inner,
                       int depth);
  Result<void> pass_over(const std::string& node, PendingCommit& commit, std::vector<NodeEffects>& inner);
  Result<void> hand_over(const Delivery& delivery, PendingCommit& commit, std::vector<NodeEffects>& inner,
                         int depth);
  Event request_event(const InfoRequest& request) const;
  void take_effects(NodeEffects& effects, PendingCommit& commit);
  Result<void> stage(const std::vector<Message>& said, PendingCommit& commit) const;
  void fail_step(std::vector<NodeEffects> done, const Error& error);
  void end_cancelled();
  void end_waiting();

  // Commits: run_commit.cc.
  void submit(PendingCommit commit);
  void send(std::size_t index);
  Commit commit_of(const PendingCommit& pending, const RunPlace& before) const;
  void stored(std::uint64_t sequence, Result<Revision> result);
  void settle();
  Result<void> catch_up();
  void apply(const PendingCommit& commit, Revision revision, RunPlace& place) const;
  void when_durable(std::function<void()> then);
  Result<void> refresh_session();
  Result<void> take_news(SessionState state, ConversationManager& conversation);

  void finish(Result<WorkflowOutcome> outcome);
  void finish_as(WorkflowStatus status);
  void tell(EventKind kind, std::string name = {}, std::string text = {}, std::uint64_t index = 0);
  Event event_of(EventKind kind, std::string name = {}, std::string text = {}, std::uint64_t index = 0) const;
  WorkflowOutcome outcome_of(WorkflowStatus status) const;
  const Workflow::Graph& graph() const { return plan_.workflow.graph(); }
  bool durable() const { return parts_->store() != nullptr; }

  const std::shared_ptr<EngineParts> parts_;
  RunPlan plan_;
  const std::shared_ptr<RunLog> log_;
  std::function<void()> ended_;
  Strand strand_;
  CancelSource cancel_;

  SessionKey key_;
  RunFacts facts_;
  // As nodes see it, and as it is stored.
  RunPlace head_;
  RunPlace durable_;
  std::deque<PendingCommit> pending_;
  // The sequence number of the first of them, how many wait for the store, and whether one was refused.
  std::uint64_t first_pending_ = 0;
  std::size_t outstanding_ = 0;
  std::size_t conflicts_ = 0;
  std::function<void()> then_;
  // What the handle says.
  std::optional<Revision> seen_;
  // The conversation as an earlier run has left it, if it is still so.
  std::optional<ConversationManager> known_;
  // The parent of the first checkpoint of a fork.
  std::string parent_;
  bool claimed_ = false;
  bool finished_ = false;
  // The store has refused a commit for good.
  std::optional<Error> broken_;
  // The branches that keep threads, by participant, and how many messages they have.
  std::map<std::string, BranchId> threads_;
  std::map<std::string, std::uint64_t> thread_sizes_;

  StepView view_;
  std::vector<std::unique_ptr<NodeRun>> running_;
  std::size_t nodes_left_ = 0;
  // Warnings about messages that went nowhere, and what is told once the next commit is durable.
  std::vector<std::string> warnings_;
  std::vector<Event> after_;
};

}  // namespace tertulia
