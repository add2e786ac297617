// Memory runs out at every single allocation of every step, once or from then on. The call ends with an error
// or with success, the step is done whole or not at all, the store goes on, and nothing is leaked (the last
// is for the leak checker to say: run it under the address sanitizer).
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <semaphore>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tertulia/store/json_store.h"
#include "tertulia/store/memory_store.h"
#include "tertulia/store/sqlite_store.h"

#include "fault_bench.h"
#include "json_fixture.h"

namespace {

// How many more allocations succeed; negative while nothing is to fail.
std::atomic<std::int64_t> allocations_left{-1};
std::atomic<bool> keeps_failing{false};
std::atomic<bool> has_failed{false};

bool must_fail() {
  std::int64_t left = allocations_left.load();
  do {
    if (left < 0) return false;
  } while (!allocations_left.compare_exchange_weak(left, left > 0 ? left - 1 : keeps_failing ? 0 : -1));
  if (left > 0) return false;
  has_failed = true;
  return true;
}

void* allocate(std::size_t size) {
  void* const memory = must_fail() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return must_fail() ? nullptr : std::malloc(size == 0 ? 1 : size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return must_fail() ? nullptr : std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace tertulia::trial {
namespace {

// Counts only what the store does: arguments and completions are made before and after. No call may throw.
class Starved final : public BlockingStore {
 public:
  explicit Starved(std::unique_ptr<Store> store) : store_(std::move(store)) {}
  Store& store() { return *store_; }

  // This allocation of the next calls fails. Negative: none does.
  void starve(std::int64_t at) { starve_at_ = at; }

  Result<Revision> commit(Commit commit) override {
    return counted<Revision>(
        [&](Done<Revision> done) { store_->commit(std::move(commit), std::move(done)); });
  }
  Result<void> note(Note note) override {
    return counted<void>([&](Done<void> done) { store_->note(std::move(note), std::move(done)); });
  }
  Result<EraseReport> erase(const EraseScope& scope) override {
    EraseScope copy = scope;
    return counted<EraseReport>(
        [&](Done<EraseReport> done) { store_->erase(std::move(copy), std::move(done)); });
  }
  Result<SessionState> load(const SessionKey& key) override {
    SessionKey copy = key;
    return counted<SessionState>(
        [&](Done<SessionState> done) { store_->load(std::move(copy), std::move(done)); });
  }
  Result<std::vector<StoredTurn>> read_turns(const SessionKey& key, const TurnRange& range) override {
    SessionKey copy = key;
    TurnRange wanted = range;
    return counted<std::vector<StoredTurn>>([&](Done<std::vector<StoredTurn>> done) {
      store_->read_turns(std::move(copy), std::move(wanted), std::move(done));
    });
  }
  Result<RecordPage> read_records(const RecordQuery& query) override {
    RecordQuery copy = query;
    return counted<RecordPage>(
        [&](Done<RecordPage> done) { store_->read_records(std::move(copy), std::move(done)); });
  }
  Result<SessionPage> list(const SessionQuery& query) override {
    SessionQuery copy = query;
    return counted<SessionPage>(
        [&](Done<SessionPage> done) { store_->list(std::move(copy), std::move(done)); });
  }
  Result<VerifyReport> verify() override {
    return counted<VerifyReport>([&](Done<VerifyReport> done) { store_->verify(std::move(done)); });
  }

 private:
  template <class T, class Start>
  Result<T> counted(Start start) {
    std::optional<Result<T>> result;
    std::binary_semaphore ready(0);
    // Two pointers: a completion that needs no memory to be copied.
    Done<T> done = [&result, &ready](Result<T> given) {
      result.emplace(std::move(given));
      ready.release();
    };
    allocations_left = starve_at_;
    start(std::move(done));
    ready.acquire();
    starve_at_ = allocations_left.exchange(-1);
    return *std::move(result);
  }

  std::unique_ptr<Store> store_;
  std::int64_t starve_at_ = -1;
};

class OutOfMemory : public ::testing::TestWithParam<std::string_view> {
 protected:
  // A real directory: a simulated disk would run out of memory itself. In memory where there is such a place,
  // because nothing is synced thousands of times for nothing there.
  class Home {
   public:
    Home() {
      static std::atomic<int> count{0};
      const std::filesystem::path shared = "/dev/shm";
      const bool is_there = std::filesystem::is_directory(shared);
      path_ = (is_there ? shared : std::filesystem::temp_directory_path()) /
              ("tertulia-starved-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
      std::filesystem::remove_all(path_);
    }
    ~Home() { std::filesystem::remove_all(path_); }
    Home(const Home&) = delete;
    Home& operator=(const Home&) = delete;
    const Path& path() const { return path_; }

   private:
    Path path_;
  };

  std::unique_ptr<Starved> open(const Home& home) {
    if (GetParam() == "memory") return std::make_unique<Starved>(open_memory_store());
    if (GetParam() == "json") {
      JsonStoreOptions options = quiet_options();
      options.threads = {.writers = 1, .readers = 1};
      return std::make_unique<Starved>(open_json_store(real_env(), home.path(), options).value());
    }
    return std::make_unique<Starved>(open_sqlite_store(real_env(), home.path(), {.readers = 1}).value());
  }

  // The scene up to the step `at` (all of them: reading), which runs out of memory at its n-th allocation.
  // False if it needed fewer.
  bool starve(const Scene& scene, const std::vector<std::string>& states, std::size_t at, std::int64_t n) {
    const Home home;
    std::unique_ptr<Starved> store = open(home);
    for (const Step& step : scene.before) step(*store).value();
    for (std::size_t i = 0; i < at; ++i) scene.steps[i](*store).value();
    has_failed = false;
    store->starve(n);
    const bool reads = at == scene.steps.size();
    if (reads) {
      (void)everything(*store);
    } else {
      (void)scene.steps[at](*store);
    }
    store->starve(-1);
    const bool failed = has_failed.exchange(false);
    const std::string where =
        "scene '" + scene.name + "', step " + std::to_string(at) + ", allocation " + std::to_string(n);
    check(*store, scene, states, at, where);
    if (GetParam() == "memory" || HasFailure()) return failed;
    store.reset();
    store = open(home);
    EXPECT_EQ(everything(*store), states.back()) << where << ", opened again";
    EXPECT_TRUE(store->verify().value().problems.empty()) << where << ", opened again";
    return failed;
  }

  // With memory again: it is there whole or not at all, and the rest can be done.
  void check(Starved& store, const Scene& scene, const std::vector<std::string>& states, std::size_t at,
             const std::string& where) {
    std::string found = everything(store);
    std::size_t next = at;
    if (found != states[at] && at < scene.steps.size() && found == states[at + 1]) next = at + 1;
    ASSERT_EQ(found, states[next]) << where;
    for (; next < scene.steps.size(); ++next) {
      const Result<void> step = scene.steps[next](store);
      ASSERT_TRUE(step) << where << ": it cannot go on: " << step.error().message();
    }
    ASSERT_EQ(everything(store), states.back()) << where;
    ASSERT_TRUE(store.verify().value().problems.empty()) << where;
  }

  void sweep(bool for_ever) {
    keeps_failing = for_ever;
    std::uint64_t runs = 0;
    for (const Scene& scene : scenes()) {
      if (scene.name == "large records") continue;
      std::vector<std::string> states;
      {
        const Home home;
        const std::unique_ptr<Starved> store = open(home);
        for (const Step& step : scene.before) step(*store).value();
        states.push_back(everything(*store));
        for (const Step& step : scene.steps) {
          step(*store).value();
          states.push_back(everything(*store));
        }
      }
      for (std::size_t at = 0; at <= scene.steps.size(); ++at) {
        const std::int64_t stride = is_long_run() || GetParam() == "memory" ? 1
                                    : GetParam() == "sqlite"                ? 23
                                                                            : 61;
        for (std::int64_t n = static_cast<std::int64_t>(at) % stride; !HasFailure(); n += stride) {
          ++runs;
          if (!starve(scene, states, at, n)) break;
        }
      }
    }
    std::cout << GetParam() << ": memory ran out " << runs << " times\n";
  }
};

TEST_P(OutOfMemory, OnceAtAnyAllocationLeavesTheStepWholeOrUndone) { sweep(false); }

TEST_P(OutOfMemory, FromAnyAllocationOnLeavesTheStepWholeOrUndone) { sweep(true); }

INSTANTIATE_TEST_SUITE_P(Stores, OutOfMemory, ::testing::Values("memory", "json", "sqlite"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tertulia::trial
