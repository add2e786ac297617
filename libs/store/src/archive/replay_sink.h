// Where a replay sends its commits: first to a check, then to a store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/store/commit_rules.h"
#include "tertulia/store/store.h"

namespace tertulia {

// Takes the commits and notes of one session after the other.
class ReplaySink {
 public:
  virtual ~ReplaySink() = default;

  virtual Result<void> commit(Commit commit) = 0;
  virtual Result<void> note(Note note) = 0;
  // Nothing more comes for this session: everything that was taken has been done.
  virtual Result<void> end() = 0;
};

// Says what any store would say, and changes nothing.
class CheckSink final : public ReplaySink {
 public:
  Result<void> commit(Commit commit) override;
  Result<void> note(Note note) override;
  Result<void> end() override;

 private:
  std::optional<SessionImage> image_;
};

// Writes into a store, with several commits under way, so that it can make them durable together.
class StoreSink final : public ReplaySink {
 public:
  explicit StoreSink(Store& store) : store_(store) {}
  // Waits for what is under way.
  ~StoreSink() override;

  Result<void> commit(Commit commit) override;
  Result<void> note(Note note) override;
  Result<void> end() override;

 private:
  // Shared with the completions.
  struct Flight {
    Mutex mutex;
    CondVar landed;
    std::size_t calls TERTULIA_GUARDED_BY(mutex) = 0;
    std::size_t bytes TERTULIA_GUARDED_BY(mutex) = 0;
    // The first call, in the order of asking, that failed, and its error.
    std::size_t failed TERTULIA_GUARDED_BY(mutex) = SIZE_MAX;
    std::optional<Error> error TERTULIA_GUARDED_BY(mutex);

    void land(std::size_t number, std::size_t size, std::optional<Error> problem) TERTULIA_EXCLUDES(mutex);
  };

  // Waits until a call of `size` may begin.
  Result<void> take_off(std::size_t size);
  Result<void> land_all();

  Store& store_;
  std::shared_ptr<Flight> flight_ = std::make_shared<Flight>();
  std::size_t number_ = 0;
};

}  // namespace tertulia
