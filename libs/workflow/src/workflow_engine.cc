#include "tertulia/workflow/workflow_engine.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <sodium.h>

#include "read_checkpoints.h"
#include "workflow_run_impl.h"

namespace tertulia {
namespace {

Error no_store() {
  return Error(ErrorCode::kClosed, "there is no store, so nothing is kept of workflows; give the engine one");
}

// Those that have run, and those whose turn it is.
std::map<std::string, NodeMark> marks_in(const RunState& state) {
  std::map<std::string, NodeMark> marks = state.marks;
  for (const Delivery& delivery : state.inflight) {
    NodeMark& mark = marks[delivery.to];
    if (mark.state != NodeMark::State::kFailed) mark.state = NodeMark::State::kRunning;
  }
  return marks;
}

StoredRun stored_run(const SessionKey& key, const FoldedCheckpoint& folded) {
  const Checkpoint& checkpoint = folded.checkpoint;
  return {.key = key,
          .branch = checkpoint.facts.branch,
          .run = checkpoint.facts.run,
          .workflow = checkpoint.facts.workflow,
          .status = checkpoint.state.status,
          .supersteps = checkpoint.state.step,
          .started_at = checkpoint.facts.started_at,
          .last_activity = checkpoint.time,
          .requests = checkpoint.state.requests,
          .marks = marks_in(checkpoint.state),
          .checkpoint = checkpoint_id(checkpoint.facts.run, checkpoint.number),
          .forked_from = checkpoint.facts.forked_from};
}

}  // namespace

class WorkflowEngine::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(std::shared_ptr<EngineParts> parts) : parts_(std::move(parts)) {}

  WorkflowRun start(RunPlan plan) {
    auto log = std::make_shared<RunLog>(parts_->clock());
    auto machine = std::make_shared<RunMachine>(parts_, std::move(plan), log);
    RunMachine* const raw = machine.get();
    machine->on_end([weak = weak_from_this(), raw] {
      if (const auto self = weak.lock()) self->forget(raw);
    });
    auto impl = std::make_shared<WorkflowRun::Impl>();
    impl->log = std::move(log);
    impl->machine = machine;
    impl->run = machine->run();
    {
      MutexLock lock(mutex_);
      running_.insert(machine);
    }
    machine->start();
    return WorkflowRun(std::move(impl));
  }

  // Stops every run where it is.
  void close() {
    std::set<std::shared_ptr<RunMachine>> running;
    {
      MutexLock lock(mutex_);
      running = running_;
    }
    for (const auto& machine : running) machine->cancel(CancelReason::kShutdown);
    {
      MutexLock lock(mutex_);
      while (!running_.empty()) idle_.wait(mutex_);
    }
    parts_->threads.reset();
  }

  const std::shared_ptr<EngineParts>& parts() const { return parts_; }

 private:
  void forget(RunMachine* machine) {
    MutexLock lock(mutex_);
    std::erase_if(running_, [&](const auto& one) { return one.get() == machine; });
    idle_.notify_all();
  }

  const std::shared_ptr<EngineParts> parts_;
  Mutex mutex_;
  CondVar idle_;
  std::set<std::shared_ptr<RunMachine>> running_ TERTULIA_GUARDED_BY(mutex_);
};

WorkflowEngine::WorkflowEngine(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkflowEngine::~WorkflowEngine() { impl_->close(); }

Result<std::unique_ptr<WorkflowEngine>> WorkflowEngine::open(WorkflowEngineOptions options) {
  if (sodium_init() < 0) return Error(ErrorCode::kStorageIo, "libsodium cannot be initialised");
  if (!options.engine)
    return Error(ErrorCode::kBadConfig, "a workflow engine needs the engine its agents run in");
  if (options.threads == 0) return Error(ErrorCode::kOutOfRange, "a workflow engine needs a thread");
  HandleKey key{};
  if (options.handle_key)
    key = *options.handle_key;
  else
    options.engine->env().random().fill(key);
  auto parts = std::make_shared<EngineParts>(options.engine, key, options.threads, options.keep_checkpoints);
  return std::unique_ptr<WorkflowEngine>(new WorkflowEngine(std::make_shared<Impl>(std::move(parts))));
}

WorkflowRun WorkflowEngine::run(const Workflow& workflow, WorkflowInput input, WorkflowOptions options) {
  return impl_->start({.how = RunPlan::How::kRun,
                       .workflow = workflow,
                       .input = std::move(input),
                       .options = std::move(options)});
}

WorkflowRun WorkflowEngine::resume(const Workflow& workflow, const SessionKey& key, const std::string& run,
                                   WorkflowOptions options) {
  return impl_->start({.how = RunPlan::How::kResume,
                       .workflow = workflow,
                       .options = std::move(options),
                       .key = key,
                       .run = run});
}

WorkflowRun WorkflowEngine::fork(const Workflow& workflow, const SessionKey& key,
                                 const std::string& checkpoint, WorkflowOptions options) {
  const std::size_t slash = checkpoint.rfind('/');
  std::uint64_t number = UINT64_MAX;
  if (slash != std::string::npos) {
    std::from_chars(checkpoint.data() + slash + 1, checkpoint.data() + checkpoint.size(), number);
  }
  return impl_->start({.how = RunPlan::How::kFork,
                       .workflow = workflow,
                       .options = std::move(options),
                       .key = key,
                       .run = checkpoint.substr(0, slash),
                       .checkpoint = number == 0 ? UINT64_MAX : number});
}

Result<void> WorkflowEngine::answer(const SessionKey& key, const std::string& run, const std::string& request,
                                    const Json& answer) {
  EngineParts& parts = *impl_->parts();
  if (parts.store() == nullptr) return no_store();
  TERTULIA_TRY_AS(const StoredRun stored, show(key, run));
  const bool asked = std::any_of(stored.requests.begin(), stored.requests.end(),
                                 [&](const InfoRequest& one) { return one.id == request; });
  const auto none = [&] {
    return Error(ErrorCode::kNoQuestion,
                 "run " + run + " does not wait for an answer to '" + request + "', or has got one");
  };
  if (!asked) return none();
  TERTULIA_TRY_AS(const SessionState state, load(*parts.store(), key));
  if (std::ranges::find(state.branches, stored.branch, &BranchHead::id) == state.branches.end()) {
    return Error(ErrorCode::kNoBranch, "branch '" + stored.branch.text() + "', which run " + run +
                                           " is on, was deleted; the run cannot go on");
  }
  Note answered{.key = key, .conditions = {}, .changes = {}};
  answered.changes.emplace_back(AddRecord{answer_record(run, request, answer, parts.clock().now())});
  Result<void> noted = note(*parts.store(), std::move(answered));
  if (!noted && noted.error().code() == ErrorCode::kRevisionConflict) return none();
  return noted;
}

Result<std::vector<StoredRun>> WorkflowEngine::list(const TenantId& tenant, const OwnerId& owner) {
  EngineParts& parts = *impl_->parts();
  if (parts.store() == nullptr) return no_store();
  TERTULIA_TRY_AS(
      std::vector<StoredRecord> records,
      read_all(*parts.store(), {.tenant = tenant, .owner = owner, .kind = RecordKind::kCheckpoint}));
  std::map<std::pair<SessionId, std::string>, std::vector<StoredRecord>> runs;
  for (StoredRecord& record : records) {
    // Runs inside of others are found through those.
    if (record.record.name == kAnswerName || is_own_session(record.session)) continue;
    std::pair<SessionId, std::string> id(record.session, record.record.stream.scope);
    runs[std::move(id)].push_back(std::move(record));
  }
  std::vector<StoredRun> list;
  for (auto& [id, stored] : runs) {
    std::sort(stored.begin(), stored.end(),
              [](const StoredRecord& a, const StoredRecord& b) { return a.record.number < b.record.number; });
    // One that cannot be read hides no other; show() says what is wrong with it.
    const Result<FoldedCheckpoint> folded = fold(stored, id.second, 0);
    if (folded) {
      list.push_back(stored_run({.tenant = tenant, .owner = owner, .session = id.first}, *folded));
    } else {
      parts.log.warn("a run cannot be read", {{"run", id.second}, {"code", name_of(folded.error().code())}});
    }
  }
  std::sort(list.begin(), list.end(), [](const StoredRun& a, const StoredRun& b) {
    return std::pair(b.last_activity, b.run) < std::pair(a.last_activity, a.run);
  });
  return list;
}

Result<StoredRun> WorkflowEngine::show(const SessionKey& key, const std::string& run) {
  EngineParts& parts = *impl_->parts();
  if (parts.store() == nullptr) return no_store();
  TERTULIA_TRY_AS(const FoldedCheckpoint folded, read_checkpoint(*parts.store(), key, run, 0));
  return stored_run(key, folded);
}

Result<std::vector<CheckpointInfo>> WorkflowEngine::checkpoints(const SessionKey& key,
                                                                const std::string& run) {
  EngineParts& parts = *impl_->parts();
  if (parts.store() == nullptr) return no_store();
  TERTULIA_TRY_AS(const std::vector<StoredRecord> records,
                  read_all(*parts.store(), {.tenant = key.tenant,
                                            .owner = key.owner,
                                            .session = key.session,
                                            .kind = RecordKind::kCheckpoint,
                                            .scope = run}));
  std::vector<CheckpointInfo> list;
  for (const StoredRecord& stored : records) {
    Checkpoint one;
    TERTULIA_TRY(apply_checkpoint(stored.record.payload, one));
    list.push_back({.id = stored.record.key,
                    .parent = one.parent,
                    .superstep = one.state.step,
                    .status = one.state.status,
                    .revision = one.revision,
                    .time = stored.record.time});
  }
  if (list.empty()) return Error(ErrorCode::kNoCheckpoint, "there is no run " + run);
  return list;
}

Result<std::vector<Message>> WorkflowEngine::run_messages(const Workflow& workflow,
                                                          std::vector<Message> messages) {
  impl_->parts()->log.warn(
      "run_messages is deprecated: run with a session, and keep the handle instead of the messages",
      {{"workflow", workflow.name()}});
  // An engine without a store: the session is gone with it.
  TERTULIA_TRY_AS(std::shared_ptr<Engine> engine, Engine::open({.env = &impl_->parts()->engine->env()}));
  TERTULIA_TRY_AS(const std::unique_ptr<WorkflowEngine> passing,
                  open({.engine = std::move(engine), .threads = 4}));
  TERTULIA_TRY_AS(const WorkflowOutcome outcome, passing->run(workflow, std::move(messages)).result());
  return View(outcome.snapshot.transcript).to_vector();
}

const std::shared_ptr<Engine>& WorkflowEngine::engine_ptr() const { return impl_->parts()->engine; }

}  // namespace tertulia
