// The engine behind its interface: who asks for a turn, which one it becomes, and what happens when it ends.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "tertulia/agent/engine.h"

#include "engine_core.h"
#include "question_record.h"
#include "session_desk.h"

namespace tertulia {

struct TurnWork;
class Arrival;

// How often leases of running turns get more time; a third of what they have.
inline constexpr auto kRenewEvery = std::chrono::seconds(10);

// How those who may outlive the engine reach it: under the mutex, while there is one.
struct EngineDoor {
  Mutex mutex;
  Engine::Impl* engine TERTULIA_GUARDED_BY(mutex) = nullptr;
};

class Engine::Impl {
 public:
  explicit Impl(EngineOptions options);
  ~Impl();

  Result<void> add(AgentDefinitionPtr agent);
  void submit(const SessionKey& key, SubmissionPtr submission);
  // `expected`: what the caller takes the branch for.
  TicketPtr submit_input(const AgentDefinitionPtr& agent, const Input& input, std::string_view session,
                         RunOptions options, std::optional<Branch> expected = std::nullopt);
  void run_passing(SubmissionPtr submission, Branch branch, std::shared_ptr<Executor> where);
  Result<void> cancel(const TurnId& turn);
  std::vector<RunningTurn> running() const;
  Result<std::vector<InterruptedTurn>> interrupted();
  Result<std::vector<InterruptedTurn>> interrupted(const SessionKey& key);
  void forget(const SessionKey& key);
  // Looks whether another process has answered what turns of this session wait for.
  void hear_answers(const SessionKey& key);

  void watch_stored(SessionKey key, BranchId branch, TurnId turn, TicketPtr ticket);

  void start_elicitation(LiveTurnPtr live, Question question, Done<Answer> done);
  // The turn that runs the call of this key, and the call as a question would be about it.
  std::optional<std::pair<LiveTurnPtr, Question>> call_of(std::string_view call_key) const;

  // The running turn of this id, or one that has just ended; else null.
  LiveTurnPtr live_turn(const TurnId& turn) const;

  EngineCore core;
  const std::shared_ptr<EngineDoor> door = std::make_shared<EngineDoor>();

 private:
  friend class Engine;

  SessionDeskPtr desk_for(const SessionKey& key);
  void trim_desks();
  AgentDefinitionPtr agent_of(const AgentId& id) const;

  // Decides what becomes of a submission; see submit.cc.
  Task<void> serve_next(Arrival arrival);
  Task<Result<void>> place(SessionDeskPtr desk, SubmissionPtr submission);
  Task<Result<bool>> join_earlier(SessionDesk& desk, BranchSlot& slot, const Submission& submission);
  // kTurnRunning if another engine has the branch.
  Result<void> check_lease(BranchSlot& slot) const;
  // kRevisionConflict if the branch is not what its sender takes it for.
  static Result<void> check_expected(const SessionDesk& desk, const BranchSlot& slot,
                                     const Submission& submission);
  static Result<void> place_on_busy(BranchSlot& slot, SubmissionPtr submission);
  void start(SessionDeskPtr desk, BranchSlot& slot, SubmissionPtr submission);

  // Runs a submission to its end, and starts the next one; see run_submission.cc.
  Task<void> run_submission(SessionDeskPtr desk, BranchSlot* slot, SubmissionPtr submission,
                            LiveTurnPtr live);
  // The unfinished turn, if there is one, and then the submission's own.
  Task<Result<OutcomePtr>> run_both(SessionDesk& desk, BranchSlot& slot, const Submission& submission,
                                    const LiveTurnPtr& live);
  Task<Result<OutcomePtr>> run_once(SessionDesk& desk, BranchSlot& slot, const Submission& submission,
                                    const LiveTurnPtr& live);
  // `told`: what became of the turn before it.
  Task<Result<OutcomePtr>> run_fresh(SessionDesk& desk, BranchSlot& slot, const Submission& submission,
                                     const LiveTurnPtr& live, std::vector<Event> told);
  Task<Result<void>> settle_unfinished(SessionDesk& desk, BranchSlot& slot, const Submission& submission,
                                       std::vector<Event>& told);
  Task<Result<OutcomePtr>> end_unfinished(SessionDesk& desk, BranchSlot& slot, const Submission& submission,
                                          std::optional<Error> cause = std::nullopt);
  // `cause`: why it is abandoned, if it is.
  Task<Result<OutcomePtr>> finish_unfinished(SessionDesk& desk, BranchSlot& slot, const Submission& asked,
                                             const LiveTurnPtr& live,
                                             std::optional<Error> cause = std::nullopt);
  Task<Result<OutcomePtr>> run_watched(TurnWork& work, std::shared_ptr<DurableTurn> durable);
  Task<void> free_slot(SessionDeskPtr desk, BranchSlot* slot, bool failed);
  Task<Result<OutcomePtr>> pass(TurnWork& work, const Submission& submission);
  Task<void> run_passing_turn(SubmissionPtr submission, Branch branch, LiveTurnPtr live);
  Task<void> keep_leases();
  void wait_for_renewal(const Done<bool>& done);
  void end_renewal(bool due);
  Task<void> recover(AgentDefinitionPtr agent);
  Task<Result<std::vector<InterruptedTurn>>> find_interrupted();
  Task<Result<void>> find_interrupted_in(SessionKey key, std::vector<InterruptedTurn>& found);
  Task<Result<LiveTurnPtr>> load_stored(SessionKey key, BranchId branch, TurnId turn);

  Task<Result<void>> answer_question(SessionKey key, std::string id, Answer answer);
  std::optional<Question> live_question(const SessionKey& key, const std::string& id) const;
  Task<Result<QuestionState>> stored_question(SessionKey key, std::string id);
  Task<Result<void>> write_answer(Question question, Answer answer);
  // What a server wants to know; see elicitation.cc.
  Task<void> elicit(LiveTurnPtr live, Question question, Done<Answer> done);
  Task<Result<void>> add_rule(SessionKey key, PermissionRule rule);

  void register_live(const LiveTurnPtr& live, const BranchId& branch);
  void unregister_live(const LiveTurnPtr& live);

  const EngineOptions options_;
  struct Running {
    LiveTurnPtr live;
    BranchId branch;
    // Null while it has no lease to keep.
    std::shared_ptr<DurableTurn> durable{};
  };
  mutable Mutex mutex_;
  CondVar idle_;
  // Ends the wait of keep_leases().
  Done<bool> renewal_ TERTULIA_GUARDED_BY(mutex_);
  Timer lease_timer_ TERTULIA_GUARDED_BY(mutex_);
  bool closing_ TERTULIA_GUARDED_BY(mutex_) = false;
  std::size_t tasks_ TERTULIA_GUARDED_BY(mutex_) = 0;
  std::map<AgentId, AgentDefinitionPtr> agents_ TERTULIA_GUARDED_BY(mutex_);
  std::map<TurnId, Running> running_ TERTULIA_GUARDED_BY(mutex_);
  // The most lately used in front.
  std::list<SessionDeskPtr> desks_ TERTULIA_GUARDED_BY(mutex_);
  std::map<SessionKey, std::list<SessionDeskPtr>::iterator> desk_of_ TERTULIA_GUARDED_BY(mutex_);

  // Counts what must end before the engine may.
  class TaskCount;
  template <class Make>
  void spawn(Make make, std::shared_ptr<Executor> where = nullptr);
};

}  // namespace tertulia
