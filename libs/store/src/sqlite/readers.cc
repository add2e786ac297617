#include "readers.h"

#include <optional>
#include <utility>

#include "tertulia/store/memory_guard.h"

#include "schema.h"

namespace tertulia {

Result<Connection> open_reader(const StoreCore& core) {
  TERTULIA_TRY_AS(Connection connection, Connection::open(core.file, core.vfs->name(), Access::kRead));
  TERTULIA_TRY(prepare_connection(connection));
  TERTULIA_TRY(connection.execute("PRAGMA query_only=ON"));
  return connection;
}

Readers::Readers(StoreCore& core) : core_(core), queue_(core.options.queue) {
  for (std::size_t i = 0; i < core.options.readers; ++i) threads_.emplace_back([this] { work(); });
}

Readers::~Readers() {
  queue_.close();
  for (std::thread& thread : threads_) thread.join();
}

void Readers::add(Job job) {
  // try_push leaves the job alone when it refuses.
  if (Result<void> added = queue_.try_push(std::move(job)); !added) {
    job(std::move(added).error().in("the store has too much to do"));
  }
}

void Readers::work() {
  std::optional<Connection> connection;
  while (std::optional<Job> job = queue_.next()) {
    if (!connection) {
      Result<Connection> opened = guarded<Connection>([&] { return open_reader(core_); });
      if (!opened) {
        (*job)(std::move(opened).error());
        continue;
      }
      connection.emplace(*std::move(opened));
    }
    (*job)(&*connection);
  }
}

}  // namespace tertulia
