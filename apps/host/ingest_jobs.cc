#include "ingest_jobs.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "tertulia/base/deadline.h"
#include "tertulia/base/run_safely.h"
#include "tertulia/base/with_memory.h"

#include "ingest_record.h"
#include "own_session.h"

namespace tertulia {
namespace {

constexpr std::size_t kJobPage = 1'000;

Error no_job(const std::string& id) {
  return Error(ErrorCode::kNotFound, "there is no job '" + id.substr(0, 64) + "'").with("param", "job");
}

bool is_gone(const Error& error) {
  return error.code() == ErrorCode::kNoSession || error.code() == ErrorCode::kNotFound;
}

RecordQuery records_in(const SessionKey& key, RecordKind kind) {
  return {.tenant = key.tenant, .owner = key.owner, .session = key.session, .kind = kind, .limit = kJobPage};
}

// Every record that the query gives; none if the session is not there.
Result<std::vector<StoredRecord>> read_every(Store& store, RecordQuery query) {
  std::vector<StoredRecord> all;
  do {
    Result<RecordPage> page = read_records(store, query);
    if (!page && is_gone(page.error())) return all;
    if (!page) return std::move(page).error();
    for (StoredRecord& record : page->records) all.push_back(std::move(record));
    query.cursor = std::move(page->next);
  } while (!query.cursor.empty());
  return all;
}

// What is stored of a job when it is accepted. Takes the bytes.
Note acceptance(const SessionKey& key, const IngestJob& job, IngestRequest& request) {
  Note noted{.key = key, .conditions = {}, .changes = {}};
  noted.changes.emplace_back(AddRecord{{.stream = bytes_stream(job.id),
                                        .number = 1,
                                        .time = job.created_at,
                                        .key = job.id,
                                        .name = std::string(name_of(job.format)),
                                        .payload = std::move(request.document.bytes)}});
  noted.changes.emplace_back(AddRecord{{.stream = pending_stream(job.id),
                                        .number = 1,
                                        .time = job.created_at,
                                        .key = job.id,
                                        .name = std::string(kPendingName),
                                        .payload = to_text(job)}});
  if (!request.key.empty()) {
    noted.changes.emplace_back(AddRecord{{.stream = key_stream(request.key),
                                          .number = 1,
                                          .time = job.created_at,
                                          .key = {},
                                          .name = request.hash,
                                          .payload = job.id}});
  }
  return noted;
}

}  // namespace

IngestJobs::IngestJobs(SemanticMemory& memory, Store& store, Env& env)
    : memory_(memory), store_(store), env_(env), ids_(env.clock(), env.random()) {
  recover();
  try {
    for (std::size_t i = 0; i < kIngestLanes; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {
    // The machine refuses one: those before it must not be left behind.
    end_threads();
    throw;
  }
}

IngestJobs::~IngestJobs() { end_threads(); }

void IngestJobs::end_threads() {
  std::vector<LivePtr> all;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    for (const auto& [id, live] : live_) all.push_back(live);
  }
  wake_.notify_all();
  for (const LivePtr& live : all) live->cancel.cancel(CancelReason::kShutdown);
  for (std::thread& thread : threads_) thread.join();
  // Nobody waits for what will not come.
  for (const LivePtr& live : all) {
    for (auto& [seen, told] : live->watchers) told(live->job);
  }
}

// What an earlier process has left, of every tenant, in the order in which it came.
void IngestJobs::recover() {
  std::vector<LivePtr> found;
  SessionQuery query{.tenant = {}, .unfinished = true, .own = OwnSessions::kToo, .limit = kJobPage};
  do {
    Result<SessionPage> page = tertulia::list(store_, query);
    if (!page) {
      log_.error("documents that were not ingested could not be listed",
                 {{"code", name_of(page.error().code())}});
      return;
    }
    for (const SessionSummary& session : page->sessions) {
      if (session.key != ingest_session(session.key.tenant, session.key.owner)) continue;
      if (const Result<void> read = recover_session(session.key, found); !read) {
        log_.error("documents that were not ingested could not be read",
                   {{"code", name_of(read.error().code())}});
      }
    }
    query.cursor = std::move(page->next);
  } while (!query.cursor.empty());
  std::ranges::sort(found, {}, [](const LivePtr& live) { return live->job.id; });
  MutexLock lock(mutex_);
  for (LivePtr& live : found) {
    live_[live->job.id] = live;
    queue_.push_back(std::move(live));
  }
}

Result<void> IngestJobs::recover_session(const SessionKey& key, std::vector<LivePtr>& found) {
  TERTULIA_TRY_AS(const std::vector<StoredRecord> records,
                  read_every(store_, records_in(key, RecordKind::kJournal)));
  for (const StoredRecord& stored : records) {
    if (stored.record.name != kPendingName) continue;
    TERTULIA_TRY_AS(IngestJob job, parse_job(stored.record.payload));
    auto live = std::make_shared<Live>();
    live->tenant = key.tenant;
    live->user = key.owner;
    live->job = std::move(job);
    live->noted = stored.record.number;
    found.push_back(std::move(live));
  }
  return {};
}

Result<std::optional<IngestJob>> IngestJobs::known_by_key(const IngestRequest& request) {
  if (request.key.empty()) return std::optional<IngestJob>();
  const SessionKey key = ingest_session(request.tenant, request.user);
  RecordQuery query = records_in(key, RecordKind::kSubmission);
  query.scope = key_stream(request.key).scope;
  TERTULIA_TRY_AS(const std::vector<StoredRecord> records, read_every(store_, query));
  if (records.empty()) return std::optional<IngestJob>();
  if (records.front().record.name != request.hash) {
    return Error(ErrorCode::kKeyReuse, "this Idempotency-Key was used for another document; use a new one");
  }
  Result<IngestJob> job = find(request.tenant, request.user, records.front().record.payload);
  if (!job) return std::move(job).error();
  return std::optional<IngestJob>(*std::move(job));
}

Result<void> IngestJobs::check_queue(const IngestRequest& request) {
  MutexLock lock(mutex_);
  std::size_t of_tenant = 0;
  std::size_t of_user = 0;
  for (const auto& [id, live] : live_) {
    if (live->tenant != request.tenant || live->job.ended()) continue;
    ++of_tenant;
    if (live->user == request.user) ++of_user;
  }
  const auto full = [](std::size_t limit, const char* whose) {
    return Error(ErrorCode::kQueueFull,
                 std::to_string(limit) + " documents of this " + whose + " wait already; try again later")
        .with("limit", static_cast<std::int64_t>(limit));
  };
  if (of_user >= std::min(request.most, kMaxWaitingJobs))
    return full(std::min(request.most, kMaxWaitingJobs), "user");
  if (of_tenant >= kMaxTenantJobs) return full(kMaxTenantJobs, "tenant");
  return {};
}

Result<IngestJob> IngestJobs::submit(IngestRequest request) {
  TERTULIA_TRY(check_writer(request.writer));
  if (request.document.source.empty()) {
    return Error(ErrorCode::kMissingField, "the document names no source; say where it is from")
        .with("param", "source");
  }
  TERTULIA_TRY_AS(std::optional<IngestJob> known, known_by_key(request));
  if (known) return *std::move(known);
  auto live = std::make_shared<Live>();
  live->tenant = request.tenant;
  live->user = request.user;
  live->job = {.id = ids_.make().text(),
               .collection = request.collection,
               .source = request.document.source,
               .format = request.document.format,
               .metadata = std::move(request.metadata),
               .writer = std::move(request.writer),
               .created_at = env_.clock().now()};
  const IngestJob job = live->job;
  TERTULIA_TRY(check_queue(request));
  const SessionKey key = ingest_session(request.tenant, request.user);
  TERTULIA_TRY(put_own_session(store_, key, env_.clock().now()));
  if (Result<void> stored = note(store_, acceptance(key, job, request)); !stored) {
    const bool raced = !request.key.empty() && stored.error().code() == ErrorCode::kRevisionConflict;
    if (!raced) return std::move(stored).error();
    // Somebody else came first with the same key.
    TERTULIA_TRY_AS(known, known_by_key(request));
    if (known) return *std::move(known);
    return std::move(stored).error();
  }
  {
    MutexLock lock(mutex_);
    live_[job.id] = live;
    queue_.push_back(live);
  }
  wake_.notify_all();
  return job;
}

IngestJobs::LivePtr IngestJobs::take_next() {
  auto best = queue_.end();
  std::uint64_t waits_since = 0;
  for (auto one = queue_.begin(); one != queue_.end(); ++one) {
    if (busy_.contains((*one)->tenant)) continue;
    const auto served = served_.find((*one)->tenant);
    const std::uint64_t since = served == served_.end() ? 0 : served->second;
    if (best != queue_.end() && since >= waits_since) continue;
    best = one;
    waits_since = since;
  }
  if (best == queue_.end()) return nullptr;
  LivePtr next = *best;
  served_[next->tenant] = ++turn_;
  busy_.insert(next->tenant);
  queue_.erase(best);
  return next;
}

void IngestJobs::work() {
  while (true) {
    LivePtr next;
    bool stopped = false;
    with_memory([&] {
      MutexLock lock(mutex_);
      while (!stopping_ && !(next = take_next())) wake_.wait(mutex_);
      stopped = stopping_;
    });
    if (stopped) return;
    run_safely("the reader of a document", [&] { ingest(next); });
    {
      MutexLock lock(mutex_);
      busy_.erase(next->tenant);
      const bool more =
          std::ranges::any_of(queue_, [&](const LivePtr& one) { return one->tenant == next->tenant; });
      if (!more) served_.erase(next->tenant);
    }
    wake_.notify_all();
  }
}

Result<void> IngestJobs::note_attempt(const LivePtr& live, std::uint32_t attempts) {
  IngestJob job;
  {
    MutexLock lock(mutex_);
    live->job.attempts = attempts;
    job = live->job;
  }
  Note noted{.key = ingest_session(live->tenant, live->user), .conditions = {}, .changes = {}};
  const StreamId stream = pending_stream(job.id);
  noted.changes.emplace_back(AddRecord{{.stream = stream,
                                        .number = live->noted + 1,
                                        .time = env_.clock().now(),
                                        .key = job.id,
                                        .name = std::string(kPendingName),
                                        .payload = to_text(job)}});
  noted.changes.emplace_back(DropRecords{.stream = stream, .up_to = live->noted});
  TERTULIA_TRY(note(store_, std::move(noted)));
  ++live->noted;
  return {};
}

Result<IngestReport> IngestJobs::attempt(const LivePtr& live) {
  const IngestJob job = live->job;
  if (job.attempts >= kMaxAttempts) {
    return Error(ErrorCode::kDamaged, "the document was begun " + std::to_string(job.attempts) +
                                          " times and never finished; it is not tried again")
        .with("limit", std::int64_t{kMaxAttempts});
  }
  RecordQuery query = records_in(ingest_session(live->tenant, live->user), RecordKind::kAsset);
  query.scope = job.id;
  TERTULIA_TRY_AS(std::vector<StoredRecord> bytes, read_every(store_, query));
  if (bytes.empty()) return no_job(job.id);
  TERTULIA_TRY(note_attempt(live, job.attempts + 1));
  const Deadline deadline = Deadline::after(kMaxJobTime, env_.clock());
  return memory_.ingest(job.collection, {job.source, job.format, std::move(bytes.front().record.payload)},
                        job.writer,
                        {.progress =
                             [&](const IngestProgress& now) {
                               if (deadline.expired(env_.clock()))
                                 live->cancel.cancel(CancelReason::kDeadline);
                               change(live, [&](IngestJob& one) { one.progress = now; });
                             },
                         .cancel = live->cancel.token(),
                         .metadata = job.metadata});
}

void IngestJobs::ingest(const LivePtr& live) {
  change(live, [](IngestJob& job) { job.status = JobStatus::kRunning; });
  Result<IngestReport> report = IngestReport();
  try {
    report = attempt(live);
  } catch (...) {
    log_thrown("the reader of a document");
    report = error_thrown("the reader of a document");
  }
  const std::optional<CancelReason> stopped = live->cancel.token().reason();
  // The next process goes on with it, and being stopped was not the document's doing.
  if (!report && stopped == CancelReason::kShutdown) {
    if (live->job.attempts > 0) (void)note_attempt(live, live->job.attempts - 1);
    return;
  }
  const bool cancelled = stopped == CancelReason::kUser;
  const auto is_over = [&](IngestJob& job) {
    job.status = report ? JobStatus::kDone : cancelled ? JobStatus::kCancelled : JobStatus::kFailed;
    job.ended_at = env_.clock().now();
    if (report) {
      job.report = *report;
      job.progress = {.chunks_done = report->chunks, .chunks = report->chunks};
    } else if (!cancelled) {
      job.error_code = name_of(report.error().code());
      job.error_message = report.error().message();
    }
    // Those who wait are told when it is durable.
    --job.version;
  };
  with_memory([&] { change(live, is_over); });
  end(live);
}

void IngestJobs::change(const LivePtr& live, const std::function<void(IngestJob&)>& how) {
  {
    MutexLock lock(mutex_);
    how(live->job);
    ++live->job.version;
  }
  // One at a time: a lack of memory must not cost anybody the answer.
  std::size_t at = 0;
  std::function<void(IngestJob)> told;
  IngestJob job;
  const auto take_next = [&] {
    MutexLock lock(mutex_);
    told = nullptr;
    for (; at < live->watchers.size(); ++at) {
      if (live->job.version <= live->watchers[at].first) continue;
      job = live->job;
      told = std::move(live->watchers[at].second);
      live->watchers.erase(live->watchers.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
  };
  while (true) {
    with_memory(take_next);
    if (!told) return;
    run_safely("whoever waits for a document", [&] { told(std::move(job)); });
  }
}

// The end of a job is durable before anybody is told. If it cannot be, the next process ingests it again,
// which changes nothing.
void IngestJobs::end(const LivePtr& live) {
  run_safely("the end of an ingestion", [&] { store_end(live); });
  change(live, [](IngestJob&) {});
  with_memory([&] {
    MutexLock lock(mutex_);
    recent_.push_back(live->job.id);
    if (recent_.size() > kKeptJobs) {
      live_.erase(recent_.front());
      recent_.pop_front();
    }
  });
  wake_.notify_all();
}

void IngestJobs::store_end(const LivePtr& live) {
  const SessionKey key = ingest_session(live->tenant, live->user);
  const IngestJob job = live->job;
  Note noted{.key = key, .conditions = {}, .changes = {}};
  noted.changes.emplace_back(AddRecord{{.stream = ended_stream(job.id),
                                        .number = 1,
                                        .time = job.ended_at.value_or(job.created_at),
                                        .key = job.id,
                                        .name = std::string(kEndedName),
                                        .payload = to_text(job)}});
  noted.changes.emplace_back(DropRecords{.stream = pending_stream(job.id)});
  noted.changes.emplace_back(DropRecords{.stream = bytes_stream(job.id)});
  Result<void> stored = note(store_, std::move(noted));
  if (stored) stored = prune(key);
  if (!stored && !is_gone(stored.error())) {
    log_.warn("the end of an ingestion could not be stored", {{"code", name_of(stored.error().code())}});
  }
}

Result<void> IngestJobs::prune(const SessionKey& key) {
  RecordQuery query = records_in(key, RecordKind::kSubmission);
  query.name = std::string(kEndedName);
  TERTULIA_TRY_AS(std::vector<StoredRecord> ended, read_every(store_, query));
  if (ended.size() <= kKeptJobs) return {};
  // Ids rise with time.
  std::ranges::sort(ended, {}, [](const StoredRecord& one) { return one.record.key; });
  Note noted{.key = key, .conditions = {}, .changes = {}};
  for (std::size_t i = 0; i + kKeptJobs < ended.size(); ++i) {
    noted.changes.emplace_back(DropRecords{.stream = ended[i].record.stream});
  }
  return note(store_, std::move(noted));
}

std::optional<IngestJob> IngestJobs::live_job(const TenantId& tenant, const OwnerId& user,
                                              const std::string& id) {
  MutexLock lock(mutex_);
  const auto found = live_.find(id);
  if (found == live_.end() || found->second->tenant != tenant || found->second->user != user) {
    return std::nullopt;
  }
  return found->second->job;
}

Result<IngestJob> IngestJobs::find(const TenantId& tenant, const OwnerId& user, const std::string& id) {
  if (std::optional<IngestJob> job = live_job(tenant, user, id)) return *std::move(job);
  if (!Uuid::parse(id)) return no_job(id);
  RecordQuery query = records_in(ingest_session(tenant, user), RecordKind::kSubmission);
  query.scope = id;
  TERTULIA_TRY_AS(const std::vector<StoredRecord> ended, read_every(store_, query));
  if (ended.empty()) return no_job(id);
  return parse_job(ended.front().record.payload);
}

Result<std::vector<IngestJob>> IngestJobs::list(const TenantId& tenant, const OwnerId& user) {
  RecordQuery query = records_in(ingest_session(tenant, user), RecordKind::kSubmission);
  query.name = std::string(kEndedName);
  TERTULIA_TRY_AS(const std::vector<StoredRecord> ended, read_every(store_, query));
  std::map<std::string, IngestJob, std::greater<>> jobs;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, live] : live_) {
      if (live->tenant == tenant && live->user == user) jobs[id] = live->job;
    }
  }
  for (const StoredRecord& stored : ended) {
    TERTULIA_TRY_AS(IngestJob job, parse_job(stored.record.payload));
    jobs[job.id] = std::move(job);
  }
  std::vector<IngestJob> list;
  list.reserve(jobs.size());
  for (auto& [id, job] : jobs) list.push_back(std::move(job));
  return list;
}

Result<IngestJob> IngestJobs::cancel(const TenantId& tenant, const OwnerId& user, const std::string& id) {
  LivePtr live;
  bool waits = false;
  {
    MutexLock lock(mutex_);
    const auto found = live_.find(id);
    if (found != live_.end() && found->second->tenant == tenant && found->second->user == user) {
      live = found->second;
      waits = std::erase(queue_, live) > 0;
    }
  }
  if (!live) return find(tenant, user, id);
  live->cancel.cancel(CancelReason::kUser);
  if (waits) {
    change(live, [&](IngestJob& job) {
      job.status = JobStatus::kCancelled;
      job.ended_at = env_.clock().now();
      --job.version;
    });
    end(live);
  }
  MutexLock lock(mutex_);
  return live->job;
}

void IngestJobs::drop_user(const TenantId& tenant, const OwnerId& user) {
  std::vector<std::string> ids;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, live] : live_) {
      if (live->tenant == tenant && live->user == user) ids.push_back(id);
    }
  }
  for (const std::string& id : ids) (void)cancel(tenant, user, id);
  MutexLock lock(mutex_);
  for (const std::string& id : ids) {
    while (!stopping_ && live_.contains(id) && !live_.find(id)->second->job.ended()) wake_.wait(mutex_);
    live_.erase(id);
    std::erase(recent_, id);
  }
}

void IngestJobs::when_changed(const IngestJob& job, std::uint64_t seen, std::function<void(IngestJob)> told) {
  IngestJob now = job;
  {
    MutexLock lock(mutex_);
    if (const auto found = live_.find(job.id); found != live_.end() && !stopping_) {
      now = found->second->job;
      if (now.version <= seen && !now.ended()) {
        found->second->watchers.emplace_back(seen, std::move(told));
        return;
      }
    }
  }
  told(std::move(now));
}

}  // namespace tertulia
