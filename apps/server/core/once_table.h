// A OnceTable: what was begun under an Idempotency-Key and is not found in the store by it: turns that are
// not stored, and responses whose place is not known yet. Whoever comes with the same key and the same body
// joins what was begun.
//
// It remembers for kRemembered and the latest kMostRemembered, as long as the process lives. What is stored
// is found again after that, too.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/done.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"

namespace tertulia::server {

class Call;

inline constexpr std::size_t kMostRemembered = 1'024;
inline constexpr std::chrono::minutes kRemembered{10};

class OnceTable {
 public:
  explicit OnceTable(Clock& clock) : clock_(clock) {}

  // Calls `begin` if nobody came with this key before, and everybody's `done` with what it gives; one that
  // could not be begun is forgotten. kKeyReuse for another body. `begin` calls back once, from any thread.
  template <class T>
  void run(const std::string& key, const std::string& hash,
           const std::function<void(Done<std::shared_ptr<T>>)>& begin, Done<std::shared_ptr<T>> done) {
    const auto told = [done = std::move(done)](Result<std::shared_ptr<void>> value) {
      if (!value) return done(std::move(value).error());
      done(std::static_pointer_cast<T>(*std::move(value)));
    };
    if (!enter(key, hash, told)) return;
    begin([this, key](Result<std::shared_ptr<T>> value) {
      if (!value) return settle(key, std::move(value).error());
      settle(key, std::shared_ptr<void>(*std::move(value)));
    });
  }

  // The next one with this key begins anew.
  void forget(const std::string& key);
  // Lets go of everything, and remembers nothing from then on.
  void close();

 private:
  using Value = std::shared_ptr<void>;
  struct Entry {
    std::string hash;
    Instant begun{};
    Value value;
    std::vector<Done<Value>> waiting;
    std::list<std::string>::iterator place;
  };

  // True for the first.
  bool enter(const std::string& key, const std::string& hash, Done<Value> told);
  void settle(const std::string& key, Result<Value> value);
  void drop_old(std::vector<Value>& gone) TERTULIA_REQUIRES(mutex_);

  Clock& clock_;
  Mutex mutex_;
  std::unordered_map<std::string, Entry> entries_ TERTULIA_GUARDED_BY(mutex_);
  // The oldest first.
  std::list<std::string> order_ TERTULIA_GUARDED_BY(mutex_);
  bool closed_ TERTULIA_GUARDED_BY(mutex_) = false;
};

// Who asks, for what, under which key; empty if the request has none.
std::string once_key(const Call& call, std::string_view key);
std::string once_hash(const Call& call);
// The session of what has none of its own: the same key asks for the same turn, so it must lead there.
std::string once_session(std::string_view key);

}  // namespace tertulia::server
