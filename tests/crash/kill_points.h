// The points at which a process under test kills itself, and how it speaks to whoever has started it.
//
// TERTULIA_KILL_AT=N: it kills itself at the N-th point: before and after each write to the store, and
// wherever the program calls point().
#pragma once

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <unistd.h>

#include "tertulia/store/json_store.h"
#include "tertulia/store/sqlite_store.h"
#include "tertulia/store/store.h"

namespace tertulia {

// One write for a line, so that a kill never leaves half of one between two others.
inline void write_line(int file, const std::string& line) {
  const std::string whole = line + "\n";
  if (::write(file, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) std::_Exit(3);
}
inline void say(const std::string& line) { write_line(STDOUT_FILENO, line); }

[[noreturn]] inline void give_up(const std::string& what, const Error& error) {
  say("fail " + what + ": " + std::string(name_of(error.code())) + ": " + error.message());
  std::_Exit(4);
}

template <class T>
T must(const std::string& what, Result<T> result) {
  if (!result) give_up(what, result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// A point at which a turn can be cut.
inline void point() {
  static std::atomic<long> passed = 0;
  static const char* const kTold = std::getenv("TERTULIA_KILL_AT");
  if (kTold != nullptr && ++passed == std::strtol(kTold, nullptr, 10)) ::kill(::getpid(), SIGKILL);
}

// A store with a point before and after each write.
class PointedStore final : public Store {
 public:
  explicit PointedStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  void commit(Commit commit, Done<Revision> done) override {
    point();
    store_->commit(std::move(commit), [done = std::move(done)](Result<Revision> result) {
      point();
      done(std::move(result));
    });
  }
  void note(Note note, Done<void> done) override {
    point();
    store_->note(std::move(note), [done = std::move(done)](Result<void> result) {
      point();
      done(std::move(result));
    });
  }
  void load(SessionKey key, Done<SessionState> done) override {
    store_->load(std::move(key), std::move(done));
  }
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    store_->read_turns(std::move(key), std::move(range), std::move(done));
  }
  void read_records(RecordQuery query, Done<RecordPage> done) override {
    store_->read_records(std::move(query), std::move(done));
  }
  void list(SessionQuery query, Done<SessionPage> done) override {
    store_->list(std::move(query), std::move(done));
  }
  void erase(EraseScope scope, Done<EraseReport> done) override {
    store_->erase(std::move(scope), std::move(done));
  }
  void verify(Done<VerifyReport> done) override { store_->verify(std::move(done)); }

 private:
  const std::unique_ptr<Store> store_;
};

inline std::shared_ptr<Store> open_pointed(const std::string& kind, const Path& directory) {
  if (kind == "json") {
    return std::make_shared<PointedStore>(must("open", open_json_store(real_env(), directory)));
  }
  return std::make_shared<PointedStore>(must("open", open_sqlite_store(real_env(), directory)));
}

}  // namespace tertulia
