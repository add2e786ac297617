// Timing for benchmarks: medians of several rounds, since the machines are shared.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include <sys/resource.h>

namespace tertulia::bench {

// Keeps the compiler from dropping the work that made `value`.
template <class T>
void keep(T&& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What all threads of this process have worked so far.
inline double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

// The median time of one call: rounds of at least 20 ms each.
template <class Work>
double median_seconds(Work&& work, std::size_t rounds = 9) {
  std::vector<double> times;
  std::size_t calls = 1;
  for (std::size_t round = 0; round < rounds;) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < calls; ++i) work();
    const double elapsed = seconds_since(start);
    if (elapsed < 0.02) {
      calls *= elapsed < 0.002 ? 10 : 2;
      continue;
    }
    times.push_back(elapsed / static_cast<double>(calls));
    ++round;
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

}  // namespace tertulia::bench
