// The threads that read, each with a connection of its own. They never wait for the writer.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "tertulia/base/bounded_queue.h"

#include "connection.h"
#include "store_core.h"

namespace tertulia {

class Readers {
 public:
  explicit Readers(StoreCore& core);
  // Does everything that was asked for.
  ~Readers();
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  // A job is called once: with a connection, or with the reason why there is none.
  using Job = std::function<void(Result<Connection*>)>;
  void add(Job job);

 private:
  void work();

  StoreCore& core_;
  BoundedQueue<Job> queue_;
  std::vector<std::thread> threads_;
};

}  // namespace tertulia
