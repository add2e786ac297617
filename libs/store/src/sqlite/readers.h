// Who reads: threads that are started when they are wanted, or whoever waits for what it asks for
// (WaitsHere). They never wait for the writer.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "tertulia/base/executor.h"
#include "tertulia/base/thread_annotations.h"

#include "connection.h"
#include "store_core.h"

namespace tertulia {

// Concurrency: any thread.
class Readers {
 public:
  explicit Readers(StoreCore& core);
  // Does everything that was asked for.
  ~Readers();
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  // A job is called once: with a connection, or with the reason why there is none. Inside of this call, if
  // the calling thread only waits for it and not too many do.
  using Job = std::function<void(Result<Connection*>)>;
  void add(Job job);

 private:
  using Lent = std::unique_ptr<Connection>;

  bool may_read_here();
  void read(const Job& job);
  Result<Lent> borrow();
  void give_back(Lent connection) noexcept;

  StoreCore& core_;
  Mutex mutex_;
  // Connections that nobody uses; the one that was used last is lent first.
  std::vector<Lent> idle_ TERTULIA_GUARDED_BY(mutex_);
  // How many read here instead of waiting for a thread.
  std::size_t here_ TERTULIA_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<Executor> threads_;
};

}  // namespace tertulia
