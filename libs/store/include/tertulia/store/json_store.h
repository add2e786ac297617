// The JSON store: sessions as directories of JSON files that a person can read (docs/formats/json_store.md).
//
//   {directory}/sessions/{session}/session.json
//                                  branches/{branch}/branch.json, transcript.jsonl, journal.jsonl, …
//                                  records/, assets/
//
// Durability
//   A turn is one line, appended and synced: its cost does not depend on the history. A commit that changes
//   several files is written down in one piece first (pending.json) and carried out then; a crash between is
//   finished when the session is touched next.
// Damage
//   Each line and file carries a checksum. A line that a crash tore is cut off and reported once, in the log
//   and by verify(), unless something in the session tells that it had been stored. Everything else that does
//   not fit is damage: it is never overwritten, its session cannot be written any more, and what stands
//   before it and beside it can be read.
// Limits
//   One process for each directory: a second one is refused with the first one's pid. Listing and queries
//   over all sessions of an owner read each session once after opening. For many sessions take the SQLite
//   store.
#pragma once

#include <cstddef>
#include <memory>

#include "tertulia/base/env.h"
#include "tertulia/base/log.h"
#include "tertulia/base/result.h"
#include "tertulia/store/blocking_store.h"
#include "tertulia/store/store.h"

namespace tertulia {

struct JsonStoreOptions {
  // Sessions that are kept in memory without their messages, each with one open file.   Default: 256.
  std::size_t sessions_in_memory = 256;
  // Default: 4 writers, so that as many sessions can sync at once, and 2 readers.
  StoreThreads threads{.writers = 4, .readers = 2};
  // Default: warnings to standard error.
  Log log{};
  // For copying what is whole (copy_readable): a session whose session.json or branch.json is damaged is
  // loaded with what its other files tell of it, and without its own fields. It cannot be written.
  // Default: false, such a session gives kSessionDamaged.
  bool salvages = false;
};

// Opens the store in `directory`, which is made if need be. Keeps a reference to `env`.
//
// kForeignData if there is something else in the directory; kNeedsVersion if a newer version made it; kLocked
// {pid, note}; kDamaged if its marker was damaged; kNotPermitted where it cannot be written.
Result<std::unique_ptr<Store>> open_json_store(Env& env, const Path& directory,
                                               const JsonStoreOptions& options = {});

}  // namespace tertulia
