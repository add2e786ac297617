// IngestJobs: documents on their way into memory.
//
//   auto job = jobs.submit({.tenant = …, .user = …, .collection = …, .document = …, .writer = …}).value();
//   … jobs.find(tenant, user, job.id) …
//
// Durability
//   A document is stored when submit() returns: whoever opens the data next goes on with it. Ingesting one
//   again is harmless: a source is replaced whole, and the same content changes nothing.
// Concurrency
//   Any thread. Each tenant has a lane: of its documents one is ingested at a time, in the order in which
//   they came. kIngestLanes tenants are served at once, the others in turn: nobody waits for all that another
//   has sent.
// Limits
//   Reading a document is bounded (ReadingLimits), and so is a job as a whole (kMaxJobTime). That an attempt
//   begins is stored before it begins: a document that takes the process down with it is tried kMaxAttempts
//   times, then it fails.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/env.h"
#include "tertulia/base/log.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/base/uuid.h"
#include "tertulia/memory/document.h"
#include "tertulia/memory/semantic_memory.h"
#include "tertulia/store/store.h"

namespace tertulia {

enum class JobStatus : std::uint8_t { kQueued, kRunning, kDone, kFailed, kCancelled };
std::string_view name_of(JobStatus status);
std::optional<JobStatus> job_status_named(std::string_view name);

struct IngestJob {
  std::string id;
  CollectionId collection;
  std::string source;
  DocumentFormat format = DocumentFormat::kText;
  std::map<std::string, std::string> metadata;
  MemoryWriter writer;
  JobStatus status = JobStatus::kQueued;
  IngestProgress progress;
  IngestReport report;
  // How often it was begun.
  std::uint32_t attempts = 0;
  // Of one that failed.
  std::string error_code;
  std::string error_message;
  Time created_at{};
  std::optional<Time> ended_at;
  // Rises with every change while the process lives.
  std::uint64_t version = 0;

  bool ended() const { return status != JobStatus::kQueued && status != JobStatus::kRunning; }
};

struct IngestRequest {
  // Whose job it is; the collection may be another's.
  TenantId tenant;
  OwnerId user;
  CollectionId collection;
  Document document;
  MemoryWriter writer;
  std::map<std::string, std::string> metadata{};
  // A hash of the client's idempotency key, and one of everything it asked for. Empty: it gave none.
  std::string key{};
  std::string hash{};
  // How many of this user's may wait or run.
  std::size_t most = 256;
};

// How many of a user's may wait, of a visitor's whom nobody knows, and of a tenant's altogether; and how many
// that have ended are kept.
inline constexpr std::size_t kMaxWaitingJobs = 256;
inline constexpr std::size_t kMaxVisitorJobs = 4;
inline constexpr std::size_t kMaxTenantJobs = 2'048;
inline constexpr std::size_t kKeptJobs = 100;
inline constexpr std::size_t kIngestLanes = 3;
inline constexpr std::uint32_t kMaxAttempts = 2;
inline constexpr std::chrono::minutes kMaxJobTime{30};

class IngestJobs {
 public:
  // Keeps references, which must outlive it. Begins with what an earlier process left.
  IngestJobs(SemanticMemory& memory, Store& store, Env& env);
  // A document that is being ingested is left for the next process.
  ~IngestJobs();
  IngestJobs(const IngestJobs&) = delete;
  IngestJobs& operator=(const IngestJobs&) = delete;

  // kKeyReuse if the key was used for something else, kQueueFull {limit}; kNotPermitted, kMissingField.
  // Blocks.
  Result<IngestJob> submit(IngestRequest request);
  // kNotFound. Blocks.
  Result<IngestJob> find(const TenantId& tenant, const OwnerId& user, const std::string& id);
  // The latest first. Blocks.
  Result<std::vector<IngestJob>> list(const TenantId& tenant, const OwnerId& user);
  // One that has ended stays as it is. kNotFound. Blocks.
  Result<IngestJob> cancel(const TenantId& tenant, const OwnerId& user, const std::string& id);

  // Everything of a user is about to be erased: their jobs end, and this returns when none goes on. Blocks.
  void drop_user(const TenantId& tenant, const OwnerId& user);

  // Calls `told` with the job once its version is above `seen`; at once if it has ended, and with `job` as it
  // was given if nothing is known of it here. From any thread; it must not block.
  void when_changed(const IngestJob& job, std::uint64_t seen, std::function<void(IngestJob)> told);

 private:
  struct Live {
    TenantId tenant;
    OwnerId user;
    IngestJob job;
    CancelSource cancel;
    // The newest number of what is stored of it while it waits.
    std::uint64_t noted = 1;
    std::vector<std::pair<std::uint64_t, std::function<void(IngestJob)>>> watchers;
  };
  using LivePtr = std::shared_ptr<Live>;

  void end_threads();
  void work();
  // The next of a tenant that has none under way; the tenant is then busy.
  LivePtr take_next() TERTULIA_REQUIRES(mutex_);
  Result<void> note_attempt(const LivePtr& live, std::uint32_t attempts);
  Result<IngestReport> attempt(const LivePtr& live);
  void recover();
  Result<void> recover_session(const SessionKey& key, std::vector<LivePtr>& found);
  void ingest(const LivePtr& live);
  // Changes the job and tells those who wait.
  void change(const LivePtr& live, const std::function<void(IngestJob&)>& how);
  void end(const LivePtr& live);
  void store_end(const LivePtr& live);
  Result<std::optional<IngestJob>> known_by_key(const IngestRequest& request);
  Result<void> check_queue(const IngestRequest& request);
  Result<void> prune(const SessionKey& key);
  std::optional<IngestJob> live_job(const TenantId& tenant, const OwnerId& user, const std::string& id);

  SemanticMemory& memory_;
  Store& store_;
  Env& env_;
  UuidMaker ids_;
  Log log_ = Log().component("memory");
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ TERTULIA_GUARDED_BY(mutex_) = false;
  std::deque<LivePtr> queue_ TERTULIA_GUARDED_BY(mutex_);
  // Tenants whose lane is taken, and when each was served last: who waits longest is next.
  std::set<TenantId> busy_ TERTULIA_GUARDED_BY(mutex_);
  std::map<TenantId, std::uint64_t> served_ TERTULIA_GUARDED_BY(mutex_);
  std::uint64_t turn_ TERTULIA_GUARDED_BY(mutex_) = 0;
  // Also the latest that have ended, so that whoever watches one sees its end.
  std::map<std::string, LivePtr, std::less<>> live_ TERTULIA_GUARDED_BY(mutex_);
  std::deque<std::string> recent_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace tertulia
