#include "readers.h"

#include <utility>

#include "tertulia/base/run_safely.h"
#include "tertulia/store/memory_guard.h"
#include "tertulia/store/waits_here.h"

#include "schema.h"

namespace tertulia {

Result<Connection> open_reader(const StoreCore& core) {
  TERTULIA_TRY_AS(Connection connection, Connection::open(core.file, core.vfs->name(), Access::kRead));
  TERTULIA_TRY(prepare_connection(connection));
  TERTULIA_TRY(connection.execute("PRAGMA query_only=ON"));
  return connection;
}

Readers::Readers(StoreCore& core)
    : core_(core), threads_(thread_pool(core.options.readers, core.options.queue)) {
  // One for each thread and for each that reads here: giving one back must need no memory.
  MutexLock lock(mutex_);
  idle_.reserve(2 * core.options.readers);
}

Readers::~Readers() { threads_.reset(); }

void Readers::add(Job job) {
  if (may_read_here()) {
    read(job);
    MutexLock lock(mutex_);
    --here_;
    return;
  }
  const auto shared = std::make_shared<Job>(std::move(job));
  if (Result<void> added = threads_->post([this, shared] { read(*shared); }); !added) {
    (*shared)(std::move(added).error().in("the store has too much to do"));
  }
}

bool Readers::may_read_here() {
  if (!WaitsHere::waits()) return false;
  MutexLock lock(mutex_);
  if (here_ >= core_.options.readers) return false;
  ++here_;
  return true;
}

void Readers::read(const Job& job) {
  Result<Lent> lent = guarded<Lent>([&] { return borrow(); });
  if (!lent) {
    run_safely("a completion of a store", [&] { job(std::move(lent).error()); });
    return;
  }
  run_safely("a completion of a store", [&] { job(lent->get()); });
  give_back(*std::move(lent));
}

Result<Readers::Lent> Readers::borrow() {
  {
    MutexLock lock(mutex_);
    if (!idle_.empty()) {
      Lent connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  TERTULIA_TRY_AS(Connection connection, open_reader(core_));
  return std::make_unique<Connection>(std::move(connection));
}

void Readers::give_back(Lent connection) noexcept {
  MutexLock lock(mutex_);
  idle_.push_back(std::move(connection));
}

}  // namespace tertulia
