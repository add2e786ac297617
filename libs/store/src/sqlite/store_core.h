// What the threads of an open store share.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/file_system.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/store/room_watch.h"
#include "tertulia/store/sqlite_store.h"
#include "tertulia/store/sqlite_vfs.h"

#include "reading.h"
#include "tenant_keys.h"

namespace tertulia {

inline constexpr const char* kDatabaseName = "tertulia.db";
// What waits for the tables is settled when it has this part of the log's bytes.
inline constexpr std::size_t kLogParts = 4;

// Concurrency: any thread.
struct StoreCore {
  StoreCore(Env& environment, Path root, SqliteOptions chosen)
      : env(environment),
        directory(std::move(root)),
        file(directory / kDatabaseName),
        options(std::move(chosen)),
        vfs(make_sqlite_vfs(environment)),
        keys(environment.random()),
        room(environment.files(), directory) {}

  NewerActivities newer_activities() {
    MutexLock guard(mutex);
    return newer;
  }

  std::set<std::int64_t> underivable_sessions() {
    MutexLock guard(mutex);
    return underivable;
  }
  void note_mended(std::string record, std::string sentence) {
    MutexLock guard(mutex);
    mended.push_back({.session = {}, .record = std::move(record), .sentence = std::move(sentence)});
  }

  Env& env;
  const Path directory;
  const Path file;
  const SqliteOptions options;
  std::unique_ptr<FileLock> lock;
  std::shared_ptr<SqliteVfs> vfs;
  TenantKeys keys;
  RoomWatch room;
  // Whose sessions the writer changes; none while files are only looked at.
  const Store* store = nullptr;

  // Whether the tables lack something that was acknowledged: of this session, or of any.
  bool unsettled(const SessionKey& key) {
    MutexLock guard(mutex);
    return all_waiting || waiting.contains(key) || settling.contains(key);
  }
  bool unsettled() {
    MutexLock guard(mutex);
    return all_waiting || !waiting.empty() || !settling.empty();
  }

  Mutex mutex;
  // The sessions whose rows are behind. Changed by the writing thread after its commits.
  NewerActivities newer TERTULIA_GUARDED_BY(mutex);
  // The sessions with changes that the tables lack; perhaps any session, after a start on a full disk.
  std::set<SessionKey> waiting TERTULIA_GUARDED_BY(mutex);
  // Those of them whose changes are being settled.
  std::set<SessionKey> settling TERTULIA_GUARDED_BY(mutex);
  bool all_waiting TERTULIA_GUARDED_BY(mutex) = false;
  // The rows of sessions whose tool calls cannot all be derived, because something of them is damaged.
  std::set<std::int64_t> underivable TERTULIA_GUARDED_BY(mutex);
  // What was put right, until verify() tells it.
  std::vector<Problem> mended TERTULIA_GUARDED_BY(mutex);
  // What was lost by opening at all.
  std::vector<Problem> given_up TERTULIA_GUARDED_BY(mutex);
};

// A connection as the threads of a store want it.
Result<Connection> open_reader(const StoreCore& core);

}  // namespace tertulia
