// Payers: at the expense of which key a turn runs, for as long as that may be asked: a turn that a crash or a
// shutdown has cut goes on in the next process at the expense of the key that it was begun with.
//
// payers.txt in the data directory, a line "TURN KEY" for each turn of a key with limits, written before its
// first model call. It survives the death of the process; a power cut may take the last lines, and forgive
// what those turns use then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tertulia/base/env.h"
#include "tertulia/base/log.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia::server {

// Concurrency: any thread.
class Payers {
 public:
  // A file that cannot be read or written costs the notes, and the log says so.
  Payers(Env& env, const Path& directory, Log log);

  void note(std::string_view turn, const std::string& key);
  // Empty: nobody pays, or it is not known any more. The newest 100,000 turns are.
  std::string payer_of(const std::string& turn) const;
  // Forgets all others.
  void keep_only(const std::set<std::string>& turns);

 private:
  void write_all() TERTULIA_REQUIRES(mutex_);
  void append(const std::string& line) TERTULIA_REQUIRES(mutex_);

  Env& env_;
  const Path path_;
  const Log log_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::string> payers_ TERTULIA_GUARDED_BY(mutex_);
  std::unique_ptr<File> file_ TERTULIA_GUARDED_BY(mutex_);
  std::uint64_t end_ TERTULIA_GUARDED_BY(mutex_) = 0;
};

}  // namespace tertulia::server
