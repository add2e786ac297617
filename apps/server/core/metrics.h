// Metrics: counts and times of the server, as Prometheus reads them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tertulia/base/clock.h"
#include "tertulia/base/result.h"

namespace tertulia::server {

// Concurrency: any thread. Counting costs a few atomic additions.
class Metrics {
 public:
  // Upper ends of the times that are told apart, in microseconds.
  static constexpr std::array<std::int64_t, 10> kBuckets{250,     1'000,   2'500,     10'000,    25'000,
                                                         100'000, 250'000, 1'000'000, 5'000'000, 30'000'000};

  void request_ended(int status, Duration took, std::uint64_t bytes);
  void stream_opened() { streams_.fetch_add(1, std::memory_order_relaxed); }
  void stream_closed() { streams_.fetch_sub(1, std::memory_order_relaxed); }
  std::size_t streams() const { return streams_.load(std::memory_order_relaxed); }

  std::atomic<std::uint64_t> turns_started{0};
  std::atomic<std::uint64_t> turns_failed{0};
  std::atomic<std::uint64_t> input_tokens{0};
  std::atomic<std::uint64_t> output_tokens{0};
  std::atomic<std::uint64_t> keys_refused{0};

  struct Now {
    std::size_t connections = 0;
    std::size_t running_turns = 0;
    // Of the store: why nothing can be written, if so.
    Result<void> writable{};
  };
  // The text form, with what is known only now.
  std::string text(const Now& now) const;

 private:
  // By the first digit of the status; 0: the client went away before the answer.
  std::array<std::atomic<std::uint64_t>, 6> requests_{};
  std::array<std::atomic<std::uint64_t>, kBuckets.size() + 1> times_{};
  std::atomic<std::uint64_t> time_sum_{0};
  std::atomic<std::uint64_t> bytes_sent_{0};
  std::atomic<std::size_t> streams_{0};
};

}  // namespace tertulia::server
