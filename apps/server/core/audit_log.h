// The AuditLog: who did what, in a chain that shows when something was changed or taken out.
//
// audit.jsonl in the data directory, one line for each request that may have changed something:
//
//   {"n":7,"time":"…","tenant":"acme","user":"ana","key":"06g…","method":"DELETE",
//    "route":"/api/v1/sessions/{session}","session":"user-123","status":200,"request":"…","prev":"9f2c…",
//    "hash":"41d0…"}
//
// `hash` is the SHA-256 of the line before its own member, and `prev` the hash of the line before. What was
// said is never in it. A cut tail still verifies, so the newest hash is also logged (info) at every start and
// stop, and every hour: keep that log elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

// Concurrency: any thread. add() returns at once; a thread of its own writes, and syncs what it wrote in
// groups: a power cut may take back the last entries, never make the chain wrong.
class AuditLog {
 public:
  // Goes on behind the last whole line. kDamaged if the chain is broken in its last 256 KiB; verify_audit
  // looks at all of it.
  static Result<std::unique_ptr<AuditLog>> open(Env& env, const Path& directory, Log log);
  // Writes what waits.
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  void add(AuditEntry entry);

 private:
  class Writer;
  explicit AuditLog(std::unique_ptr<Writer> writer);
  std::unique_ptr<Writer> writer_;
};

}  // namespace tertulia::server
