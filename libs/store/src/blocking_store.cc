#include "tertulia/store/blocking_store.h"

#include <functional>
#include <thread>
#include <utility>

#include "tertulia/base/bounded_queue.h"
#include "tertulia/base/check.h"
#include "tertulia/base/run_safely.h"
#include "tertulia/store/memory_guard.h"
#include "tertulia/store/session_hold.h"

namespace tertulia {

namespace {

using Job = std::function<void()>;

// Threads that take jobs from one queue.
class Workers {
 public:
  Workers(std::size_t threads, std::size_t queue) : queue_(queue) {
    TERTULIA_CHECK(threads > 0, "a store needs a thread to work on");
    try {
      for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (...) {
      // The machine refuses one: those before it must not be left behind.
      end();
      throw;
    }
  }
  // Finishes what is in the queue.
  ~Workers() { end(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  Result<void> add(Job job) { return queue_.try_push(std::move(job)); }

 private:
  void end() {
    queue_.close();
    for (std::thread& thread : threads_) thread.join();
  }
  void work() {
    while (std::optional<Job> job = queue_.next()) run_safely("a completion of a store", *job);
  }

  BoundedQueue<Job> queue_;
  std::vector<std::thread> threads_;
};

// A call waits in a queue as a shared object, because std::function wants to be copied and a Commit is large.
template <class T, class Call>
Job job_of(Call call, Done<T> done) {
  return
      [call = std::make_shared<Call>(std::move(call)), done = std::move(done)] { done(guarded<T>(*call)); };
}

class ThreadedStore final : public Store {
 public:
  ThreadedStore(std::unique_ptr<BlockingStore> store, const StoreThreads& threads)
      : store_(std::move(store)), readers_(threads.readers, threads.queue) {
    TERTULIA_CHECK(threads.writers > 0, "a store needs a thread that writes");
    for (std::size_t i = 0; i < threads.writers; ++i) {
      writers_.push_back(std::make_unique<Workers>(1, threads.queue));
    }
  }

  void commit(Commit commit, Done<Revision> done) override {
    Workers& writer = writer_of(commit.key);
    start<Revision>(
        writer,
        [this, asking = asking_thread(), commit = std::move(commit)]() mutable -> Result<Revision> {
          TERTULIA_TRY(check_hold(*this, commit.key, asking));
          return store_->commit(std::move(commit));
        },
        std::move(done));
  }
  void note(Note note, Done<void> done) override {
    Workers& writer = writer_of(note.key);
    start<void>(
        writer,
        [this, asking = asking_thread(), note = std::move(note)]() mutable -> Result<void> {
          TERTULIA_TRY(check_hold(*this, note.key, asking));
          return store_->note(std::move(note));
        },
        std::move(done));
  }
  void load(SessionKey key, Done<SessionState> done) override {
    if (auto free = check_hold(*this, key); !free) return done(std::move(free).error());
    start<SessionState>(
        readers_, [this, key = std::move(key)] { return store_->load(key); }, std::move(done));
  }
  void read_turns(SessionKey key, TurnRange range, Done<std::vector<StoredTurn>> done) override {
    if (auto free = check_hold(*this, key); !free) return done(std::move(free).error());
    start<std::vector<StoredTurn>>(
        readers_,
        [this, key = std::move(key), range = std::move(range)] { return store_->read_turns(key, range); },
        std::move(done));
  }
  void read_records(RecordQuery query, Done<RecordPage> done) override {
    if (auto free = check_hold(*this, query); !free) return done(std::move(free).error());
    start<RecordPage>(
        readers_, [this, query = std::move(query)] { return store_->read_records(query); }, std::move(done));
  }
  void list(SessionQuery query, Done<SessionPage> done) override {
    start<SessionPage>(
        readers_, [this, query = std::move(query)] { return store_->list(query); }, std::move(done));
  }
  void erase(EraseScope scope, Done<EraseReport> done) override {
    if (auto free = check_hold(*this, scope); !free) return done(std::move(free).error());
    start<EraseReport>(
        readers_, [this, scope = std::move(scope)] { return store_->erase(scope); }, std::move(done));
  }
  void verify(Done<VerifyReport> done) override {
    start<VerifyReport>(readers_, [this] { return store_->verify(); }, std::move(done));
  }
  Result<void> check_writable() override { return store_->check_writable(); }

 private:
  Workers& writer_of(const SessionKey& key) {
    const std::size_t hash = std::hash<SessionId>()(key.session) ^ (std::hash<OwnerId>()(key.owner) * 31) ^
                             std::hash<TenantId>()(key.tenant);
    return *writers_[hash % writers_.size()];
  }

  template <class T, class Call>
  void start(Workers& workers, Call call, Done<T> done) {
    Result<void> added = guarded<void>([&] { return workers.add(job_of<T>(std::move(call), done)); });
    if (!added) done(std::move(added).error());
  }

  // Destroyed last: the threads use it until they have ended.
  std::unique_ptr<BlockingStore> store_;
  Workers readers_;
  std::vector<std::unique_ptr<Workers>> writers_;
};

}  // namespace

std::unique_ptr<Store> run_on_threads(std::unique_ptr<BlockingStore> store, const StoreThreads& threads) {
  return std::make_unique<ThreadedStore>(std::move(store), threads);
}

}  // namespace tertulia
