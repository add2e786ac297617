// Coroutines of the agent layer, and how they wait for calls that answer through a Done.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "tertulia/base/clock.h"
#include "tertulia/base/done.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/base/with_memory.h"

#include "crew.h"

namespace tertulia {

template <class T>
using Task = boost::asio::awaitable<T>;

// What is given as a time without end (Duration::max()) would overflow the clocks it is added to: a year is
// as good as never.
inline Duration waitable(Duration time) { return std::min<Duration>(time, std::chrono::hours(24 * 366)); }

// Returns the error of `expression` from this coroutine, if it has one.
#define TERTULIA_CO_TRY(expression)                                                                          \
  do {                                                                                                       \
    if (auto tertulia_result = (expression); !tertulia_result) co_return std::move(tertulia_result).error(); \
  } while (false)

// Declares `declaration` from the value of `expression`, or returns its error from this coroutine.
#define TERTULIA_CO_TRY_AS(declaration, expression) \
  TERTULIA_CO_TRY_AS_(declaration, expression, TERTULIA_CONCAT(tertulia_result_, __LINE__))
#define TERTULIA_CO_TRY_AS_(declaration, expression, result) \
  auto result = (expression);                                \
  if (!result) co_return std::move(result).error();          \
  declaration = *std::move(result)

// The answer of a call, shared by whoever gives it and the coroutine that waits for it.
//
// Concurrency: given on any thread, once; the rest on the coroutine's.
template <class T>
class Pending {
 public:
  void give(Result<T> result) {
    std::function<void()> resume;
    {
      MutexLock lock(mutex_);
      result_ = std::move(result);
      resume = std::exchange(resume_, nullptr);
    }
    if (resume) resume();
  }

  bool given() const {
    MutexLock lock(mutex_);
    return result_.has_value();
  }
  // Has `resume` called once the answer is there. False if it is there already.
  bool wait(std::function<void()> resume) {
    MutexLock lock(mutex_);
    if (result_) return false;
    resume_ = std::move(resume);
    return true;
  }
  Result<T> take() {
    MutexLock lock(mutex_);
    return *std::move(result_);
  }

 private:
  mutable Mutex mutex_;
  std::optional<Result<T>> result_ TERTULIA_GUARDED_BY(mutex_);
  std::function<void()> resume_ TERTULIA_GUARDED_BY(mutex_);
};

// Lets the coroutine sleep until the answer is there, and go on on its own executor.
template <class T>
Task<void> sleep_until_given(Pending<T>& answer) {
  co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
      [](auto handler, Pending<T>* waited) {
        auto executor = boost::asio::get_associated_executor(handler);
        auto& crew = static_cast<Crew&>(boost::asio::query(executor, boost::asio::execution::context));
        // A handler that is dropped takes its coroutine with it, and whoever waits for that would wait for
        // ever.
        with_memory([&] {
          auto shared = std::make_shared<std::optional<decltype(handler)>>();
          std::function<void()> resume = [keep = crew.shared_from_this(), executor, shared] {
            with_memory([&] { boost::asio::post(executor, [shared] { (**shared)(); }); });
          };
          auto at_once = resume;
          shared->emplace(std::move(handler));
          if (!waited->wait(std::move(resume))) at_once();
        });
      },
      boost::asio::use_awaitable, &answer);
}

// Starts a call and waits for its answer on the coroutine's own executor:
// co_await await<Revision>([&](Done<Revision> done) { store.commit(commit, std::move(done)); }).
// What is answered before the call returns is not waited for. Whatever the call does, the coroutine goes on:
// what it throws is its answer.
template <class T, class Start>
Task<Result<T>> await(Start start) {
  const auto answer = std::make_shared<Pending<T>>();
  start_guarded<T>(std::move(start), [answer](Result<T> result) { answer->give(std::move(result)); });
  if (!answer->given()) co_await sleep_until_given(*answer);
  co_return answer->take();
}

// Values from any thread for one that takes them.
template <class T>
class Mailbox {
 public:
  void push(T value) {
    Done<T> waiting;
    with_memory([&] {
      MutexLock lock(mutex_);
      if (waiting_) {
        waiting = std::exchange(waiting_, nullptr);
      } else {
        values_.push_back(std::move(value));
      }
    });
    if (waiting) waiting(std::move(value));
  }

  // The next value, as soon as there is one. One taker at a time.
  void pop(Done<T> done) {
    std::optional<T> value;
    {
      MutexLock lock(mutex_);
      if (values_.empty()) {
        waiting_ = std::move(done);
        return;
      }
      value = std::move(values_.front());
      values_.pop_front();
    }
    done(*std::move(value));
  }

  std::optional<T> try_pop() {
    MutexLock lock(mutex_);
    if (values_.empty()) return std::nullopt;
    std::optional<T> value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

 private:
  Mutex mutex_;
  // A list, because it is mostly empty, and then costs nothing.
  std::list<T> values_ TERTULIA_GUARDED_BY(mutex_);
  Done<T> waiting_ TERTULIA_GUARDED_BY(mutex_);
};

template <class T>
Task<T> take(Mailbox<T>& mailbox) {
  while (true) {
    Result<T> taken = co_await await<T>([&mailbox](Done<T> done) { mailbox.pop(std::move(done)); });
    if (taken) co_return *std::move(taken);
    // There was no memory to wait: it is tried again.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace tertulia
