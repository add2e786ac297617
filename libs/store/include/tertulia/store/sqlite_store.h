// The embedded default store: one SQLite database in a directory of its own.
//
// Durability
//   With kFull, the default, what was acknowledged survives a power cut. With kProcess it survives the death
//   of the process; a power cut may take back the newest changes, never part of one.
// Files
//   tertulia.db with SQLite's log; tertulia.log, which makes changes durable before the database has them,
//   and is gone when the store was closed; a lock, and a note of what the directory is
//   (docs/decisions/0008-sqlite-layout.md, 0019-change-log.md). One process at a time: a second is refused
//   with kLocked {pid}; the lock of a dead one is free. Reading the database with other programs is fine, and
//   shows what was settled; writing is not: pages then lack their checksums.
// Encryption
//   With a master key, messages, states, metadata and record payloads are encrypted with a key of their
//   tenant (XChaCha20-Poly1305). Readable stay: the names of tenants, owners, sessions, branches and of
//   records with their scopes and keys (ids, Idempotency-Keys, names of procedures; of documents only a hash,
//   which tells who knows a name whether it is there), times, revisions, counts and sizes. There is no text
//   index then. A backup holds the wrapped keys as well.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"
#include "tertulia/base/secret.h"
#include "tertulia/store/store.h"

namespace tertulia {

enum class Durability : std::uint8_t {
  kFull,     // each commit is synced before it is acknowledged
  kProcess,  // left to the operating system
};

struct SqliteOptions {
  // Default: kFull.
  Durability durability = Durability::kFull;
  // At least 32 bytes that cannot be guessed (not a password). Empty: not encrypted. Chosen when the store is
  // made, and needed each time it is opened.   Default: empty.
  Secret master_key;
  // Threads that read, each with its own connection, 1 to 64.   Default: 4.
  std::size_t readers = 4;
  // Sessions whose heads are kept in memory for writing.   Default: 1,024.
  std::size_t cached_sessions = 1'024;
  // Calls that may wait for their turn before further ones get kQueueFull.   Default: 16,384.
  std::size_t queue = 16'384;
  // How large tertulia.log grows before it begins again at its start, at least 4 KiB. Up to half of it
  // waits in memory for the database, which is brought up to date from a quarter on.   Default: 1 MiB.
  std::size_t log_bytes = 1U << 20U;
  // Opens a store whose tertulia.log is damaged, with what stands before the damage; what stands behind is
  // gone for good, and verify() says so. For a copy of the files, never for the only ones.   Default: false,
  // such a store is refused (kDamaged) and left as it is.
  bool give_up_damaged_log = false;
};

// Where a text was found.
struct TextHit {
  SessionKey key;
  BranchId branch;
  TurnId turn;
  // The index in the branch of the turn's first message.
  std::uint64_t first_index = 0;
};

// Concurrency: as Store. Destroying it finishes every call that was asked for.
class SqliteStore : public Store {
 public:
  // Writes a copy of the whole store, as it is at one moment, to a new file, while work goes on.
  // kAlreadyExists.
  virtual Result<void> backup_to(const Path& file) = 0;

  // Destroys the key of a tenant, then erases what it encrypted. From the first step on nobody can read it,
  // also not from copies of this database that are made later. False if the tenant has no key.
  virtual Result<bool> erase_tenant_key(const TenantId& tenant) = 0;

  // The turns of an owner that hold every word of `words`, the best first. At most `limit`, 1 to 1,000.
  virtual Result<std::vector<TextHit>> search_text(const TenantId& tenant, const OwnerId& owner,
                                                   const std::string& words, std::size_t limit) = 0;
};

// Opens the store in `directory`, making it if there is nothing. What an earlier process left unfinished is
// finished first: an erasure, a migration (after a copy of the file was made).
//
// kLocked {pid}; kForeignData if the directory holds something else; kNeedsVersion if a newer version wrote
// it, untouched; kDamaged; kNotPermitted for a master key that is not the right one, or missing; kBadConfig
// for one that is too short or not wanted, and for options out of range. `env` must outlive the store.
Result<std::unique_ptr<SqliteStore>> open_sqlite_store(Env& env, const Path& directory,
                                                       SqliteOptions options = {});

// Makes a store in a directory that is empty or absent, from a file that backup_to wrote. The copy is checked
// before it gets its name. kDamaged, kForeignData, kAlreadyExists.
Result<void> restore_sqlite_store(Env& env, const Path& backup, const Path& directory);

}  // namespace tertulia
