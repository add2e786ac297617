// What is wrong with something that is to be imported: counted, and the first ones spelled out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/error.h"
#include "tertulia/base/result.h"
#include "tertulia/store/archive.h"

namespace tertulia {

class ImportProblems {
 public:
  // `place` is "line 3", "conversation 7", …
  void add(std::string_view place, const Error& error);
  bool empty() const { return count_ == 0; }
  // There is no use in looking further.
  bool full() const { return count_ >= std::int64_t{kMaxImportProblems}; }
  // Ok without problems; otherwise an error with all of them.
  Result<void> verdict() const;

 private:
  std::optional<ErrorCode> first_;
  std::vector<std::string> sentences_;
  std::int64_t count_ = 0;
};

// Where a session of `from` goes. kNotPermitted if the target may not take it.
Result<SessionKey> key_in(const ImportTarget& target, const Session& from);

// Ok if there is no such session, or only what an import that died has left. kSessionExists.
Result<void> check_free(Store& store, const SessionKey& key);

// The sessions that an import has begun: erased again unless it comes to its end.
class ImportRollback {
 public:
  explicit ImportRollback(Store& store) : store_(store) {}
  ~ImportRollback();
  ImportRollback(const ImportRollback&) = delete;
  ImportRollback& operator=(const ImportRollback&) = delete;

  // Before the first commit of `key`: removes what an import that died has left. kSessionExists if there is
  // something else by now, which then stays.
  Result<void> begin(const SessionKey& key);
  void keep_all() { begun_.clear(); }

 private:
  Store& store_;
  std::vector<SessionKey> begun_;
};

}  // namespace tertulia
