// The AuditLog: who did what, in a chain that shows when something was changed or taken out.
//
// audit.jsonl in the data directory, two lines for each request that may change something:
//
//   {"n":7,"time":"…","tenant":"acme","user":"ana","key":"06g…","method":"DELETE",
//    "route":"/api/v1/sessions/{session}","session":"user-123","request":"…","state":"begun","prev":"9f2c…",
//    "hash":"41d0…"}
//   {"n":8,…the same…,"request":"…","status":200,"prev":"41d0…","hash":"77ab…"}
//
// The first is durable before anything is changed, and a request whose line cannot be written is refused:
// there is no change without its line. The second says what came of it. If the process ended before, the next
// one writes it with the state "cut", and with what the store says of it: "landed" is "yes", "no", "begun" (a
// turn that is in its journal, and goes on) or "unknown" (nothing in the store tells: no session is named,
// another request changed the same session meanwhile, or what it changes leaves no time behind). A request
// that was refused before it could change anything has the second line only.
//
// `hash` is the SHA-256 of the line before its own member, and `prev` the hash of the line before. What was
// said is never in it. A cut tail still verifies, so the newest hash is also logged (info) at every start and
// stop, and every hour: keep that log elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/done.h"
#include "tertulia/base/env.h"
#include "tertulia/base/log.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia::server {

struct AuditEntry {
  std::string tenant;
  std::string user;
  std::string key;
  std::string method;
  std::string route;
  std::string session;
  std::string request;
  int status = 0;
};

// A request that was begun in a process that has ended.
struct CutRequest {
  AuditEntry entry;
  // When its line was written.
  Time begun{};
  // No other request for the same session was under way with it.
  bool alone = true;
};
// What the store says of it: "yes", "no", "begun", "unknown".
using Landed = std::function<std::string_view(const CutRequest& cut)>;

struct AuditReport {
  std::uint64_t entries = 0;
  // Of the last one; empty if there is none.
  std::string head;
  // A line that a crash cut, which the next start takes off.
  bool torn = false;
};

Path audit_path(const Path& directory);
// Reads the whole chain. kDamaged {record}: the first line that does not fit.
Result<AuditReport> verify_audit(FileSystem& files, const Path& directory);

// Concurrency: any thread. A thread of its own writes, and syncs what it wrote in groups: one sync for all
// that came while the last one went on.
class AuditLog {
 public:
  // Goes on behind the last whole line. kDamaged if the chain is broken in its last 256 KiB; verify_audit
  // looks at all of it.
  // `landed` is asked before it returns; without it nothing is known of what was cut.
  static Result<std::unique_ptr<AuditLog>> open(Env& env, const Path& directory, Log log,
                                                const Landed& landed = {});
  // Writes what waits.
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // That something begins. `durable` is called on the writing thread: with an error, nothing may be begun
  // (kStorageFull, kStorageIo). It must not block.
  void begin(AuditEntry entry, Done<void> durable);
  // What came of it. Returns at once; what cannot be written now is tried again with the next line.
  void add(AuditEntry entry);
  // Whether something may begin, as far as is known: what could not be written is tried again here, without
  // waiting for it. Quick; for those who watch.
  Result<void> check_writable();
  // Waits until everybody who began something has been told.
  void settle();

 private:
  class Writer;
  explicit AuditLog(std::unique_ptr<Writer> writer);
  std::unique_ptr<Writer> writer_;
};

}  // namespace tertulia::server
