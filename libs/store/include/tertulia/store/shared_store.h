// A SharedStore: the store of a data directory, whichever process of this machine holds it.
//
//   SharedStoreOptions options;
//   options.kind = "sqlite";
//   options.open = [&]() -> Result<std::unique_ptr<Store>> { … open_sqlite_store(env, directory) … };
//   std::unique_ptr<SharedStore> store = open_shared_store(directory, options).value();
//
// One process holds the directory: it has opened the files and lends them to the others through a socket in
// the directory. When it ends or dies, another one takes the directory over, and what was being asked is
// asked again there; a change whose answer was lost is looked for first, so nothing is done twice.
//
// Durability, order, errors: those of the store that is shared. Besides
//   kStoreUnavailable   nobody holds the store and it cannot be opened either: nothing has happened; try
//   again kOutcomeUnknown     the process that held the store died in the middle of this change, and what is
//   stored
//                       does not tell whether it was made: look, then decide
// Trust
//   Processes of the same user, and of the administrator, are let in; they could write the files themselves.
// Concurrency: as Store. Destroying it finishes every call that was asked for.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"
#include "tertulia/store/session_key.h"
#include "tertulia/store/store.h"

namespace tertulia {

struct SharedStoreOptions {
  // Opens the store in this process. kLocked says that another process holds it. Called again, from another
  // thread, when that one has ended.
  std::function<Result<std::unique_ptr<Store>>()> open;
  // "sqlite", "json", …: what others are told.
  std::string kind;
  // Writes a copy of the whole store to a new file, while work goes on.   Default: this kind cannot.
  std::function<Result<void>(Store&, const Path& file)> back_up{};
  // Another process has changed this session. Without a session: any of the owner's. All empty: anything may
  // have changed. From any thread; must not block.   Default: nobody wants to know.
  std::function<void(const SessionKey&)> changed{};
  // How long a store that is locked, and that nobody shares yet, is waited for: whoever holds it may just be
  // opening or closing it.   Default: 3 s.
  std::chrono::milliseconds patience = std::chrono::seconds(3);
};

class SharedStore : public Store {
 public:
  // The store itself where this process holds it, else null. Once it is there it stays.
  virtual Store* held() const = 0;
  // Of the store that is there, also where another process holds it.
  virtual std::string kind() const = 0;
  // SharedStoreOptions::back_up, by whoever holds the store: `file` is made with that process's rights.
  // kLocked where the kind cannot. Blocks.
  virtual Result<void> back_up(const Path& file) = 0;
};

// kLocked {pid} if somebody has it and does not share it; kNeedsVersion if whoever holds it is another
// version of Tertulia; errors of `options.open`.
Result<std::unique_ptr<SharedStore>> open_shared_store(const Path& directory, SharedStoreOptions options);

}  // namespace tertulia
