// The KeyRing: the keys as the server knows them, read again when their file changes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "tertulia/base/env.h"
#include "tertulia/base/log.h"
#include "tertulia/base/thread_annotations.h"

#include "core/key_file.h"

namespace tertulia::server {

// Concurrency: any thread.
class KeyRing {
 public:
  // Looks at the file several times a second, so that a revoked key ends within one; and when it is shown a
  // key that it does not know, so that a key is good as soon as it is made. A file that cannot be read
  // changes nothing: the keys of before stay, and the log says so.
  KeyRing(Env& env, Path directory, Log log);
  ~KeyRing();
  KeyRing(const KeyRing&) = delete;
  KeyRing& operator=(const KeyRing&) = delete;

  // The key with this text, if it is valid now.
  std::shared_ptr<const ApiKey> find(std::string_view secret);
  // The key with this id, if it is valid now.
  std::shared_ptr<const ApiKey> find_id(const std::string& id) const;
  // Whether the key with this id is still valid.
  bool is_valid(const std::string& id) const;
  // How many keys are valid.
  std::size_t valid_keys() const;
  // Rises with every change.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Reads the file now.
  void refresh();

 private:
  struct Keys {
    std::unordered_map<std::string, std::shared_ptr<const ApiKey>> by_hash;
    std::unordered_map<std::string, std::shared_ptr<const ApiKey>> by_id;
  };
  std::shared_ptr<const Keys> keys() const {
    MutexLock lock(mutex_);
    return keys_;
  }
  std::shared_ptr<const ApiKey> known(const std::string& hash) const;
  std::shared_ptr<const ApiKey> look_again(const std::string& hash);
  void read() TERTULIA_REQUIRES(reading_);
  void watch();

  Env& env_;
  const Path directory_;
  const Log log_;
  // Held while the file is read, so that what was read first does not come last.
  Mutex reading_;
  mutable Mutex mutex_;
  CondVar stopped_;
  bool stopping_ TERTULIA_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const Keys> keys_ TERTULIA_GUARDED_BY(mutex_);
  std::string content_ TERTULIA_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point looked_ TERTULIA_GUARDED_BY(reading_);
  std::atomic<std::uint64_t> generation_{0};
  std::thread watcher_;
};

}  // namespace tertulia::server
