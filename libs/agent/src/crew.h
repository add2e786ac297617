// The threads of an engine, and what they do: steps and jobs.
//
// A step is what a coroutine does between two waits. Steps are short; as many threads as `at_once` do them,
// one after the other. A job may block: a tool, a memory.
//
// The job that a step asks for is done by the thread of that step when the step is over, and another thread
// goes on with the steps. So a tool that answers at once wakes nobody, and one that takes its time holds
// nobody up. What else is asked for meanwhile waits for other threads.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>

#include "tertulia/base/clock.h"
#include "tertulia/base/executor.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/base/with_memory.h"

namespace tertulia {

// Shared, because a thread that posts the next step of a coroutine is still inside of here when that may
// already have ended, and with it everything else.
//
// Concurrency: any thread. Neither steps nor jobs should throw: what they do is logged and lost.
class Crew final : public Executor,
                   public boost::asio::execution_context,
                   public std::enable_shared_from_this<Crew> {
 public:
  // As many threads as `at_once` begin now. For each job that runs or waits there is one more, up to `jobs`:
  // steps never wait for a job. Throws std::runtime_error if the machine allows no thread.
  static std::shared_ptr<Crew> make(std::size_t at_once, std::size_t jobs);
  ~Crew() override;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Never inside this call, and in the order in which they are posted. What is posted behind close() is
  // dropped.
  template <class Step>
  void post_step(Step step) {
    // A step that is dropped takes its coroutine with it, which takes memory as well.
    WorkPtr work;
    with_memory([&] { work = std::make_unique<WorkOf<Step>>(std::move(step)); });
    with_memory([&] { add_step(work); });
  }

  // A job: kQueueFull, kClosed.
  Result<void> post(std::function<void()> job) override;

  // Does what waits, and ends all threads but the one that calls it, which ends by itself. A job that has not
  // ended after `grace` is left alone with its thread: that holds on to the crew until it comes back.
  void close(Duration grace);

 private:
  struct Work {
    virtual ~Work() = default;
    virtual void run() = 0;
  };
  template <class Function>
  struct WorkOf final : Work {
    explicit WorkOf(Function given) : function(std::move(given)) {}
    void run() override { std::move(function)(); }
    Function function;
  };
  using WorkPtr = std::unique_ptr<Work>;

  // One thread.
  struct Place {
    enum class Doing : std::uint8_t { kNothing, kStep, kJob };
    explicit Place(Crew& its) : crew(&its) {}
    Crew* crew;
    CondVar wake{};
    // Somebody wants it to look for work; a new one is wanted.
    bool called = true;
    Doing doing = Doing::kNothing;
    // Its thread has nothing more to do.
    bool ended = false;
    WorkPtr work{};
    // The job that its step has asked for. Its own thread's.
    WorkPtr kept{};
  };

  Crew(std::size_t at_once, std::size_t jobs) : at_once_(at_once), most_jobs_(jobs) {}

  void add_step(WorkPtr& step);
  // Until all threads but this one have ended; those that have not by then are in a job.
  void await_threads(Duration grace) TERTULIA_REQUIRES(mutex_);
  bool add_thread() TERTULIA_REQUIRES(mutex_);
  void run(Place& place);
  // The next work for a thread that has done what it did. False: it ends.
  bool take(Place& place);
  bool take_waiting(Place& place) TERTULIA_REQUIRES(mutex_);
  bool may_begin_job() const TERTULIA_REQUIRES(mutex_) {
    return jobs_begun_ < most_jobs_ && places_.size() > at_once_ + jobs_begun_;
  }
  // An idle thread that is wanted, to be woken outside of the mutex; or null.
  Place* call_one() TERTULIA_REQUIRES(mutex_);
  Place* call_idle() TERTULIA_REQUIRES(mutex_);

  // Of the thread that asks, if it is one of a crew.
  static thread_local Place* here;

  const std::size_t at_once_;
  const std::size_t most_jobs_;
  Mutex mutex_;
  std::deque<WorkPtr> steps_ TERTULIA_GUARDED_BY(mutex_);
  std::deque<WorkPtr> jobs_ TERTULIA_GUARDED_BY(mutex_);
  // They live as long as the crew: whoever wakes one need not ask whether it is still there.
  std::vector<std::unique_ptr<Place>> places_ TERTULIA_GUARDED_BY(mutex_);
  // One for each place.
  std::vector<std::thread> threads_ TERTULIA_GUARDED_BY(mutex_);
  CondVar thread_ended_;
  // The one that has been idle for the shortest time is called first.
  std::vector<Place*> idle_ TERTULIA_GUARDED_BY(mutex_);
  std::size_t called_ TERTULIA_GUARDED_BY(mutex_) = 0;
  std::size_t stepping_ TERTULIA_GUARDED_BY(mutex_) = 0;
  // Those that run and those that are kept for the end of a step.
  std::size_t jobs_begun_ TERTULIA_GUARDED_BY(mutex_) = 0;
  bool closed_ TERTULIA_GUARDED_BY(mutex_) = false;
  bool over_ TERTULIA_GUARDED_BY(mutex_) = false;
};

// What Asio takes for an executor: coroutines of it run as steps. Must not outlive the crew.
class OnCrew {
 public:
  explicit OnCrew(Crew& crew) : crew_(&crew) {}

  template <class Function>
  void execute(Function function) const {
    crew_->post_step(std::move(function));
  }
  Crew& query(boost::asio::execution::context_t) const noexcept { return *crew_; }
  static constexpr boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) noexcept {
    return boost::asio::execution::blocking.never;
  }
  bool operator==(const OnCrew& other) const noexcept { return crew_ == other.crew_; }
  bool operator!=(const OnCrew& other) const noexcept { return crew_ != other.crew_; }

 private:
  Crew* crew_;
};

}  // namespace tertulia
