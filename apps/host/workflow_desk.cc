#include "workflow_desk.h"

#include <mutex>
#include <utility>

#include "tertulia/base/nearest.h"
#include "tertulia/base/outside_name.h"
#include "tertulia/store/episode_store.h"

#include "own_session.h"
#include "workflow_forms.h"

namespace tertulia {
namespace {

// Events that have not been stored are lost with the process: a life that a crash has cut is followed by one
// whose numbers are above any that can have been told.
constexpr std::uint64_t kLeap = 1U << 20U;
constexpr std::size_t kBatchBytes = 256U << 10U;

RecordQuery events_of(const SessionKey& key, const std::string& run) {
  return {.tenant = key.tenant,
          .owner = key.owner,
          .session = key.session,
          .kind = RecordKind::kEvent,
          .scope = run,
          .limit = 1'000};
}

Error no_run(const std::string& run) {
  return Error(ErrorCode::kNoCheckpoint, "there is no run '" + run.substr(0, 64) + "'").with("param", "run");
}

}  // namespace

struct WorkflowDesk::Live {
  RunMarker marker;
  std::shared_ptr<TrackedRun> tracked;
  std::unique_ptr<WorkflowRun> run;
  // The branch of its words; not known before its first checkpoint.
  std::optional<BranchId> branch{};
  std::uint64_t next_number = 0;
  std::uint64_t next_record = 1;
  std::vector<Event> unsaved{};
  std::size_t unsaved_bytes = 0;
  // How the last life ended, if it came to its end.
  std::optional<Result<std::string>> outcome{};
};

WorkflowDesk::WorkflowDesk(std::shared_ptr<Engine> engine, Workflows workflows, const HandleKey& handles)
    : turns_(std::move(engine)),
      workflows_(std::move(workflows)),
      handles_(handles),
      ids_(turns_->env().clock(), turns_->env().random()),
      threads_(thread_pool(kMaxLiveRuns)) {}

Result<std::unique_ptr<WorkflowDesk>> WorkflowDesk::open(std::shared_ptr<Engine> engine, Workflows workflows,
                                                         const HandleKey& handles) {
  std::unique_ptr<WorkflowDesk> desk(new WorkflowDesk(std::move(engine), std::move(workflows), handles));
  TERTULIA_TRY_AS(desk->engine_, WorkflowEngine::open({.engine = desk->turns_, .handle_key = handles}));
  return desk;
}

WorkflowDesk::~WorkflowDesk() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  std::unique_ptr<WorkflowEngine> engine;
  {
    const std::unique_lock lock(engine_use_);
    engine = std::move(engine_);
  }
  engine.reset();
  // Then, before all else that they use, the threads end: `threads_` is the last member. Not by reset(),
  // which would empty it first, and one of them may be about to post the next life of its run.
}

std::vector<std::string> WorkflowDesk::names() const {
  std::vector<std::string> names;
  for (const auto& [name, workflow] : workflows_) names.push_back(name);
  return names;
}

Result<Workflow> WorkflowDesk::find(std::string_view name) const {
  const auto found = workflows_.find(name);
  if (found != workflows_.end()) return found->second;
  std::vector<std::string> known = names();
  return Error(ErrorCode::kNotFound, "there is no workflow '" + std::string(name.substr(0, 64)) + "'" +
                                         did_you_mean(name, known) +
                                         "; workflows stand in [workflows.NAME] of the configuration")
      .with("param", "workflow")
      .with("workflows", std::move(known));
}

Result<Workflow> WorkflowDesk::find_for(const std::string& name, const std::string& payer) {
  TERTULIA_TRY_AS(Workflow plain, find(name));
  if (payer.empty() || !meter_ || !maker_) return plain;
  {
    MutexLock lock(mutex_);
    if (const auto found = paid_.find({name, payer}); found != paid_.end()) return found->second;
  }
  TERTULIA_TRY_AS(Workflow made,
                  maker_(name, [&](const AgentDefinitionPtr& agent) { return meter_(agent, payer); }));
  MutexLock lock(mutex_);
  return paid_.try_emplace({name, payer}, std::move(made)).first->second;
}

std::string WorkflowDesk::name_of_graph(const std::string& graph) const {
  for (const auto& [name, workflow] : workflows_) {
    if (workflow && workflow->name() == graph) return name;
  }
  return graph;
}

WorkflowDesk::LivePtr WorkflowDesk::live_run(const TenantId& tenant, const OwnerId& owner,
                                             const std::string& run) const {
  MutexLock lock(mutex_);
  const auto found = live_.find(run);
  if (found == live_.end()) return nullptr;
  const SessionKey& key = found->second->marker.key;
  return key.tenant == tenant && key.owner == owner ? found->second : nullptr;
}

bool WorkflowDesk::is_live(const TenantId& tenant, const OwnerId& owner, const std::string& run) const {
  return live_run(tenant, owner, run) != nullptr;
}

// The session of a run, by its checkpoints.
Result<SessionKey> WorkflowDesk::place_of(const TenantId& tenant, const OwnerId& owner,
                                          const std::string& run) {
  if (run.empty() || run.size() > 64) return no_run(run);
  if (const LivePtr live = live_run(tenant, owner, run)) return live->marker.key;
  TERTULIA_TRY_AS(
      const RecordPage page,
      read_records(
          store(),
          {.tenant = tenant, .owner = owner, .kind = RecordKind::kCheckpoint, .scope = run, .limit = 1}));
  // Runs inside of others are those others' business.
  if (page.records.empty() || is_own_session(page.records.front().session)) return no_run(run);
  return SessionKey{tenant, owner, page.records.front().session};
}

Result<StoredRun> WorkflowDesk::show(const TenantId& tenant, const OwnerId& owner, const std::string& run) {
  TERTULIA_TRY_AS(const SessionKey key, place_of(tenant, owner, run));
  return engine_->show(key, run);
}

Result<std::vector<StoredRun>> WorkflowDesk::list(const TenantId& tenant, const OwnerId& owner) {
  return engine_->list(tenant, owner);
}

Result<std::vector<CheckpointInfo>> WorkflowDesk::checkpoints(const SessionKey& key, const std::string& run) {
  return engine_->checkpoints(key, run);
}

Result<std::optional<RunMarker>> WorkflowDesk::known_by_key(const WorkflowStart& start) {
  const SessionKey runs = runs_session(start.tenant, start.owner);
  const RecordQuery query{.tenant = start.tenant,
                          .owner = start.owner,
                          .session = runs.session,
                          .kind = RecordKind::kSubmission,
                          .scope = run_key_stream(start.key).scope,
                          .limit = 1};
  TERTULIA_TRY_AS(const RecordPage page, read_records(store(), query));
  if (page.records.empty()) return std::optional<RunMarker>();
  const Record& record = page.records.front().record;
  if (record.name != start.hash) {
    return Error(ErrorCode::kKeyReuse, "this Idempotency-Key was used for another run; use a new one");
  }
  TERTULIA_TRY_AS(RunMarker marker, parse_marker(runs, record.payload));
  return std::optional<RunMarker>(std::move(marker));
}

Result<WorkflowDesk::TrackedRunPtr> WorkflowDesk::begin(WorkflowStart start) {
  TERTULIA_TRY(find(start.workflow));
  const Time now = turns_->env().clock().now();
  RunMarker marker{.key = {start.tenant, start.owner, SessionId::of(ids_.make())},
                   .run = ids_.make().text(),
                   .workflow = start.workflow,
                   .message = start.message,
                   .branch = start.branch,
                   .handle = start.handle,
                   .exact = start.exact,
                   .show_internal = start.show_internal,
                   .payer = start.payer};
  if (!start.handle.empty()) {
    TERTULIA_TRY_AS(const ConversationHandle handle,
                    decode_handle(start.handle, handles_, start.tenant, now));
    marker.key.session = handle.session;
  } else if (!start.session.empty()) {
    TERTULIA_TRY_AS(marker.key.session, from_outside<SessionId>(start.session));
  }
  if (start.key.empty()) return launch(std::move(marker));

  const SessionKey runs = runs_session(start.tenant, start.owner);
  TERTULIA_TRY(put_own_session(store(), runs, now));
  Note noted{.key = runs, .conditions = {}, .changes = {}};
  noted.changes.emplace_back(AddRecord{{.stream = run_key_stream(start.key),
                                        .number = 1,
                                        .time = now,
                                        .key = marker.run,
                                        .name = start.hash,
                                        .payload = to_text(marker)}});
  const Result<void> stored = note(store(), std::move(noted));
  if (stored) return launch(std::move(marker));
  if (stored.error().code() != ErrorCode::kRevisionConflict) return stored.error();
  TERTULIA_TRY_AS(std::optional<RunMarker> known, known_by_key(start));
  if (!known) return stored.error();
  if (const LivePtr live = live_run(start.tenant, start.owner, known->run)) return live->tracked;
  // One that came to its end gives that again; one that was refused or failed is tried again.
  Live past{.marker = *known, .tracked = std::make_shared<TrackedRun>(known->key, known->run)};
  if (Result<void> read = read_past(past); read && past.outcome && *past.outcome) {
    past.tracked->close(*past.outcome);
    return past.tracked;
  }
  return launch(*std::move(known));
}

Result<WorkflowDesk::TrackedRunPtr> WorkflowDesk::resume(const TenantId& tenant, const OwnerId& owner,
                                                         const std::string& workflow, const std::string& run,
                                                         const std::string& payer) {
  TERTULIA_TRY(find(workflow));
  TERTULIA_TRY_AS(const SessionKey key, place_of(tenant, owner, run));
  return launch({.key = key, .run = run, .workflow = workflow, .how = RunStart::kResume, .payer = payer});
}

Result<WorkflowDesk::TrackedRunPtr> WorkflowDesk::fork(const TenantId& tenant, const OwnerId& owner,
                                                       const std::string& workflow,
                                                       const std::string& checkpoint,
                                                       std::optional<BranchId> branch,
                                                       const std::string& payer) {
  TERTULIA_TRY(find(workflow));
  TERTULIA_TRY_AS(const SessionKey key, place_of(tenant, owner, checkpoint.substr(0, checkpoint.rfind('/'))));
  return launch({.key = key,
                 .run = ids_.make().text(),
                 .workflow = workflow,
                 .how = RunStart::kFork,
                 .branch = std::move(branch),
                 .checkpoint = checkpoint,
                 .payer = payer});
}

WorkflowRun WorkflowDesk::start(const Workflow& workflow, const RunMarker& marker) {
  WorkflowOptions options{.branch = marker.branch,
                          .tenant = marker.key.tenant,
                          .owner = marker.key.owner,
                          .show_internal = marker.show_internal,
                          .run = marker.run};
  if (marker.how == RunStart::kResume) return engine_->resume(workflow, marker.key, marker.run, options);
  if (marker.how == RunStart::kFork) return engine_->fork(workflow, marker.key, marker.checkpoint, options);
  if (marker.handle.empty()) {
    options.session = marker.key.session.text();
  } else {
    options.handle = marker.handle;
    options.exact = marker.exact;
  }
  WorkflowInput input;
  input.text = marker.message;
  return engine_->run(workflow, std::move(input), std::move(options));
}

// From now on the run is begun again by whoever opens the data next.
Result<void> WorkflowDesk::mark(const RunMarker& marker) {
  const SessionKey runs = runs_session(marker.key.tenant, marker.key.owner);
  const Time now = turns_->env().clock().now();
  TERTULIA_TRY(put_own_session(store(), runs, now));
  TERTULIA_TRY(add_record(store(), runs,
                          {.stream = marker_stream(marker.run),
                           .time = now,
                           .key = marker.run,
                           .name = std::string(kMarkerName),
                           .payload = to_text(marker)}));
  return {};
}

Result<WorkflowDesk::TrackedRunPtr> WorkflowDesk::launch(RunMarker marker, bool marked) {
  TERTULIA_TRY_AS(const Workflow workflow, find_for(marker.workflow, marker.payer));
  auto live = std::make_shared<Live>();
  live->marker = std::move(marker);
  live->tracked = std::make_shared<TrackedRun>(live->marker.key, live->marker.run);
  const RunMarker& what = live->marker;
  {
    MutexLock lock(mutex_);
    if (stopping_) return Error(ErrorCode::kClosed, "the server is shutting down");
    if (live_.size() >= kMaxLiveRuns) {
      return Error(ErrorCode::kQueueFull, "256 runs go on already; try again later")
          .with("limit", static_cast<std::int64_t>(kMaxLiveRuns));
    }
    if (!live_.emplace(what.run, live).second) {
      return Error(ErrorCode::kTurnRunning, "run " + what.run + " goes on; watch it instead")
          .with("run", what.run);
    }
  }
  const auto give_up = [&](const Error& error) {
    live->tracked->close(error);
    MutexLock lock(mutex_);
    live_.erase(what.run);
    return error;
  };
  if (Result<void> read = read_past(*live); !read) return give_up(read.error());
  if (marked) {
    // The life that was cut may have told more than was stored, or nothing that was.
    if (live->outcome || live->next_number == 0) live->next_number += kLeap;
    live->outcome.reset();
  } else if (Result<void> noted = mark(what); !noted) {
    return give_up(noted.error());
  }
  live->tracked->begin_life(live->next_number);
  {
    const std::shared_lock use(engine_use_);
    if (!engine_) return give_up(Error(ErrorCode::kClosed, "the server is shutting down"));
    auto run = std::make_unique<WorkflowRun>(start(workflow, what));
    MutexLock lock(mutex_);
    live->run = std::move(run);
  }
  if (Result<void> posted = threads_->post([this, live] { follow(live); }); !posted) {
    return give_up(posted.error());
  }
  return live->tracked;
}

Result<void> WorkflowDesk::read_past(Live& live) {
  const RunMarker& marker = live.marker;
  RecordQuery query = events_of(marker.key, marker.run);
  std::uint64_t last = 0;
  bool any = false;
  do {
    Result<RecordPage> page = read_records(store(), query);
    if (!page && page.error().code() == ErrorCode::kNoSession) return {};
    if (!page) return std::move(page).error();
    for (const StoredRecord& stored : page->records) {
      TERTULIA_TRY_AS(StoredEvents batch, parse_events(stored.record.payload));
      for (Event& event : batch.events) {
        last = event.number;
        any = true;
        live.tracked->add(std::move(event));
      }
      live.outcome = std::move(batch.outcome);
      live.next_record = stored.record.number + 1;
      live.branch = stored.record.stream.branch;
    }
    query.cursor = std::move(page->next);
  } while (!query.cursor.empty());
  if (!any) return {};
  live.next_number = live.outcome ? last + 1 : last + kLeap;
  return {};
}

void WorkflowDesk::follow(const LivePtr& live) {
  // Told to those who saw more than was stored.
  if (live->next_number >= kLeap && !live->outcome) {
    Event reset;
    reset.kind = EventKind::kReset;
    reset.number = live->next_number++;
    reset.time = turns_->env().clock().now();
    reset.text = "the run was cut and goes on; what was told since the last superstep_completed is void";
    live->unsaved.push_back(reset);
    live->tracked->add(std::move(reset));
  }
  live->outcome.reset();
  bool begun = false;
  while (std::optional<Event> event = live->run->next()) {
    // A run that was refused tells an error first; its result says the same.
    if (!begun && event->kind == EventKind::kError) break;
    event->number = live->next_number++;
    live->unsaved_bytes += event->text.size() + event->data.text().size() + 128;
    live->unsaved.push_back(*event);
    const bool step_ended = event->kind == EventKind::kSuperstepCompleted;
    live->tracked->add(*std::move(event));
    if (!std::exchange(begun, true)) live->tracked->set_begun();
    if (step_ended || live->unsaved_bytes > kBatchBytes) save(*live, nullptr);
  }
  finish(live, live->run->result(), begun);
}

// Events that cannot be stored are told, and missing for those who come later.
void WorkflowDesk::save(Live& live, const Result<std::string>* outcome) {
  const RunMarker& marker = live.marker;
  if (!live.branch) {
    const std::shared_lock use(engine_use_);
    if (!engine_) return;
    const Result<StoredRun> stored = engine_->show(marker.key, marker.run);
    if (!stored) {
      // They wait in memory for the next step, and for good if this was the last.
      log_.warn(outcome == nullptr ? "events of a run could not be stored yet"
                                   : "the outcome of a run could not be stored",
                {{"run", marker.run}, {"reason", stored.error().message()}});
      return;
    }
    live.branch = stored->branch;
  }
  Note noted{.key = marker.key, .conditions = {}, .changes = {}};
  noted.changes.emplace_back(
      AddRecord{{.stream = {.kind = RecordKind::kEvent, .branch = *live.branch, .scope = marker.run},
                 .number = live.next_record,
                 .time = turns_->env().clock().now(),
                 .key = {},
                 .name = outcome != nullptr ? "ended" : "events",
                 .payload = to_text(live.unsaved, outcome)}});
  if (const Result<void> stored = note(store(), std::move(noted)); !stored) {
    log_.warn(outcome == nullptr ? "events of a run could not be stored yet"
                                 : "the outcome of a run could not be stored",
              {{"run", marker.run}, {"code", name_of(stored.error().code())}});
    return;
  }
  ++live.next_record;
  live.unsaved.clear();
  live.unsaved_bytes = 0;
}

void WorkflowDesk::finish(const LivePtr& live, const Result<WorkflowOutcome>& outcome, bool begun) {
  const RunMarker marker = live->marker;
  bool stopping = false;
  {
    MutexLock lock(mutex_);
    stopping = stopping_;
  }
  if (stopping && !outcome) {
    live->tracked->close(
        Error(ErrorCode::kClosed, "the server is shutting down; the run goes on when it starts again")
            .with("run", marker.run));
    MutexLock lock(mutex_);
    live_.erase(marker.run);
    return;
  }
  Result<std::string> body = Error(ErrorCode::kClosed, "nothing came of it");
  if (outcome) {
    body = outcome_text(*outcome, marker.workflow);
  } else {
    body = Error(outcome.error()).with("run", marker.run);
  }
  // A life that was refused leaves the one before as it was.
  if (begun) save(*live, &body);
  if (const Result<void> dropped =
          note(store(), {.key = runs_session(marker.key.tenant, marker.key.owner),
                         .conditions = {},
                         .changes = {DropRecords{.stream = marker_stream(marker.run)}}});
      !dropped && dropped.error().code() != ErrorCode::kNoSession) {
    log_.warn("the end of a run could not be stored",
              {{"run", marker.run}, {"code", name_of(dropped.error().code())}});
  }
  bool goes_on = false;
  {
    MutexLock lock(mutex_);
    live_.erase(marker.run);
    goes_on = answered_.erase(marker.run) > 0;
  }
  live->tracked->close(body);
  if (goes_on && outcome && outcome->status == WorkflowStatus::kWaiting && !stopping) {
    const Result<TrackedRunPtr> resumed =
        resume(marker.key.tenant, marker.key.owner, marker.workflow, marker.run, marker.payer);
    if (!resumed) {
      log_.warn("a run that was answered does not go on by itself; resume it",
                {{"run", marker.run}, {"workflow", marker.workflow}, {"reason", resumed.error().message()}});
    }
  }
}

Result<void> WorkflowDesk::answer(const TenantId& tenant, const OwnerId& owner, const std::string& workflow,
                                  const std::string& run, const std::string& request, const Json& answer,
                                  bool go_on, const std::string& payer) {
  TERTULIA_TRY_AS(const SessionKey key, place_of(tenant, owner, run));
  TERTULIA_TRY(engine_->answer(key, run, request, answer));
  if (!go_on) return {};
  {
    MutexLock lock(mutex_);
    if (live_.contains(run)) {
      answered_.insert(run);
      return {};
    }
  }
  TERTULIA_TRY(resume(tenant, owner, workflow, run, payer));
  return {};
}

bool WorkflowDesk::cancel(const TenantId& tenant, const OwnerId& owner, const std::string& run) {
  const LivePtr live = live_run(tenant, owner, run);
  if (!live) return false;
  WorkflowRun* running = nullptr;
  {
    MutexLock lock(mutex_);
    running = live->run.get();
  }
  if (running != nullptr) running->cancel();
  return running != nullptr;
}

Result<WorkflowDesk::TrackedRunPtr> WorkflowDesk::watch(const TenantId& tenant, const OwnerId& owner,
                                                        const std::string& run) {
  if (const LivePtr live = live_run(tenant, owner, run)) return live->tracked;
  TERTULIA_TRY_AS(const SessionKey key, place_of(tenant, owner, run));
  Live past{.marker = {.key = key, .run = run}, .tracked = std::make_shared<TrackedRun>(key, run)};
  TERTULIA_TRY(read_past(past));
  if (!past.outcome) {
    past.outcome = Error(ErrorCode::kTurnInterrupted, "run " + run + " was cut; resume goes on with it")
                       .with("run", run);
  }
  past.tracked->set_begun();
  past.tracked->close(*past.outcome);
  return past.tracked;
}

void WorkflowDesk::recover() {
  Result<std::vector<RunMarker>> markers = read_markers(store());
  if (!markers) {
    log_.error("runs that were cut could not be listed", {{"code", name_of(markers.error().code())}});
    return;
  }
  for (RunMarker& marker : *markers) {
    const std::string run = marker.run;
    // One that has a checkpoint goes on there, whatever it was begun as.
    if (engine_->show(marker.key, run)) marker.how = RunStart::kResume;
    if (const Result<TrackedRunPtr> launched = launch(std::move(marker), true); launched) {
      log_.info("run resumed", {{"run", run}});
    } else {
      log_.warn("a run that was cut cannot go on", {{"run", run}, {"reason", launched.error().message()}});
    }
  }
}

}  // namespace tertulia
