// The WorkflowDesk: the workflows of a configuration, and their runs: begun, watched, answered, resumed.
//
// Durability
//   A run is kept from when begin() returns: whoever opens the data next goes on with it, also one that had
//   not come to its first checkpoint. The events of a run are stored with its session, at each superstep.
// Concurrency
//   Any thread. What blocks says so.
// Ownership
//   Destroying it stops its runs where they are, for the next process.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/base/executor.h"
#include "tertulia/base/log.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/workflow/workflow_engine.h"

#include "run_marker.h"
#include "tracked_run.h"
#include "workflow_agents.h"

namespace tertulia {

struct WorkflowStart {
  TenantId tenant;
  OwnerId owner;
  std::string workflow;
  std::string message{};
  // Empty: a new one, or that of the handle.
  std::string session{};
  std::optional<BranchId> branch{};
  std::string handle{};
  bool exact = false;
  bool show_internal = false;
  // Who is charged for what its agents use. Empty: nobody.
  std::string payer{};
  // A hash of the client's idempotency key, and one of everything it asked for. Empty: it gave none.
  std::string key{};
  std::string hash{};
};

// At a time.
inline constexpr std::size_t kMaxLiveRuns = 256;

class WorkflowDesk {
 public:
  using TrackedRunPtr = std::shared_ptr<TrackedRun>;
  using Workflows = std::map<std::string, Result<Workflow>, std::less<>>;
  // A workflow of the configuration with other agents.
  using Maker = std::function<Result<Workflow>(const std::string& workflow, const ChangeAgent& change)>;
  // An agent whose use is charged to somebody.
  using Meter = std::function<AgentDefinitionPtr(const AgentDefinitionPtr& agent, const std::string& payer)>;

  static Result<std::unique_ptr<WorkflowDesk>> open(std::shared_ptr<Engine> engine, Workflows workflows,
                                                    const HandleKey& handles);
  ~WorkflowDesk();
  WorkflowDesk(const WorkflowDesk&) = delete;
  WorkflowDesk& operator=(const WorkflowDesk&) = delete;

  // Both before anything runs. Without them nobody is charged.
  void set_maker(Maker maker) { maker_ = std::move(maker); }
  void set_meter(Meter meter) { meter_ = std::move(meter); }

  std::vector<std::string> names() const;
  // kNotFound {workflows}, or why it cannot be had.
  Result<Workflow> find(std::string_view name) const;

  // Blocks. kKeyReuse if the key was used for something else, kQueueFull. Other refusals come with the run.
  Result<TrackedRunPtr> begin(WorkflowStart start);
  // Blocks. kTurnRunning if it goes on. kNoCheckpoint.
  Result<TrackedRunPtr> resume(const TenantId& tenant, const OwnerId& owner, const std::string& workflow,
                               const std::string& run, const std::string& payer = {});
  // A new run from "RUN/NUMBER", on a new branch. Blocks.
  Result<TrackedRunPtr> fork(const TenantId& tenant, const OwnerId& owner, const std::string& workflow,
                             const std::string& checkpoint, std::optional<BranchId> branch,
                             const std::string& payer = {});
  // The answer is durable, and taken once; then the run goes on here, unless that is not wanted. Blocks.
  Result<void> answer(const TenantId& tenant, const OwnerId& owner, const std::string& workflow,
                      const std::string& run, const std::string& request, const Json& answer, bool go_on,
                      const std::string& payer = {});
  // False if it does not go on here.
  bool cancel(const TenantId& tenant, const OwnerId& owner, const std::string& run);

  // Its events from the first on, whether it goes on or has ended. Blocks. kNoCheckpoint.
  Result<TrackedRunPtr> watch(const TenantId& tenant, const OwnerId& owner, const std::string& run);
  // Blocks. kNoCheckpoint {param}.
  Result<StoredRun> show(const TenantId& tenant, const OwnerId& owner, const std::string& run);
  Result<std::vector<StoredRun>> list(const TenantId& tenant, const OwnerId& owner);
  Result<std::vector<CheckpointInfo>> checkpoints(const SessionKey& key, const std::string& run);
  bool is_live(const TenantId& tenant, const OwnerId& owner, const std::string& run) const;
  // Its name in the configuration: that of its graph, if there is no such workflow any more.
  std::string name_of_graph(const std::string& graph) const;

  // Goes on with what an earlier process left. Once, before anybody asks.
  void recover();

 private:
  struct Live;
  using LivePtr = std::shared_ptr<Live>;

  WorkflowDesk(std::shared_ptr<Engine> engine, Workflows workflows, const HandleKey& handles);
  Store& store() const { return *turns_->store(); }
  Result<SessionKey> place_of(const TenantId& tenant, const OwnerId& owner, const std::string& run);
  Result<std::optional<RunMarker>> known_by_key(const WorkflowStart& start);
  Result<TrackedRunPtr> launch(RunMarker marker, bool marked = false);
  // The workflow that a run of this payer runs.
  Result<Workflow> find_for(const std::string& name, const std::string& payer);
  Result<void> mark(const RunMarker& marker);
  WorkflowRun start(const Workflow& workflow, const RunMarker& marker);
  // Reads what is stored of the run's earlier lives.
  Result<void> read_past(Live& live);
  void follow(const LivePtr& live);
  void save(Live& live, const Result<std::string>* outcome);
  void finish(const LivePtr& live, const Result<WorkflowOutcome>& outcome, bool begun);
  LivePtr live_run(const TenantId& tenant, const OwnerId& owner, const std::string& run) const;

  const std::shared_ptr<Engine> turns_;
  const Workflows workflows_;
  const HandleKey handles_;
  Maker maker_;
  Meter meter_;
  // Held by runs that use the engine while the desk may be going.
  std::shared_mutex engine_use_;
  std::unique_ptr<WorkflowEngine> engine_;
  UuidMaker ids_;
  Log log_ = Log().component("workflow");
  mutable Mutex mutex_;
  bool stopping_ TERTULIA_GUARDED_BY(mutex_) = false;
  std::map<std::string, LivePtr, std::less<>> live_ TERTULIA_GUARDED_BY(mutex_);
  // By name and payer.
  std::map<std::pair<std::string, std::string>, Workflow> paid_ TERTULIA_GUARDED_BY(mutex_);
  // Answered while they ran: they go on when they would wait.
  std::set<std::string> answered_ TERTULIA_GUARDED_BY(mutex_);
  // A thread for each run that goes on.
  std::unique_ptr<Executor> threads_;
};

}  // namespace tertulia
