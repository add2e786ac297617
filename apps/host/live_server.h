// A LiveServer: a process that serves the data, as others on this machine see it who may write into its
// directory: whoever runs it, and the administrator.
//
//   serving.lock       held while it serves; the note says where
//   backup.ask         the id of a copy that is wanted: the server is told by SIGUSR1
//   .backup-ID.taken   the same, once the server works on it
//   .backup-ID.copy    the copy, when it is whole; or .backup-ID.failed, which says why there is none
//
// ID is a UUID, so that nobody's own file is taken for one of these.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "tertulia/base/env.h"
#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"

namespace tertulia {

class Store;

struct LiveServer {
  pid_t process = 0;
  std::string url;
};

// For the server: it serves at `url` for as long as the lock is held.
Result<std::unique_ptr<FileLock>> note_serving(FileSystem& files, const Path& directory,
                                               const std::string& url);
// Makes the copy that was asked for: back_up_store_to. Blocks until it is whole.
void answer_backup(Env& env, const Path& directory, Store& store);

// For others: who serves this data, if somebody does.
std::optional<LiveServer> find_live_server(FileSystem& files, const Path& directory);
// Has the server write a copy of all conversations, and gives the file, which is the caller's. Blocks until
// it is whole. kNotPermitted if the process is somebody else's; kLocked if another one asks; kClosed if it
// ended meanwhile; kDeadlineExceeded if it has not begun after `patience`; or why it made none.
Result<Path> ask_for_backup(Env& env, const Path& directory, const LiveServer& server,
                            std::chrono::milliseconds patience = std::chrono::seconds(30));

}  // namespace tertulia
