// Tertulia's side of bench/rivals: what measure.mjs does with each rival, with the same turn, on the SQLite
// store with its defaults. Prints the same lines.
//
//   bench_rivals [directory]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "tertulia/base/env.h"
#include "tertulia/store/sqlite_store.h"

#include "timing.h"
#include "turns.h"

namespace tertulia {
namespace {

using bench::create;
using bench::grow;
using bench::key_of;
using bench::seconds_since;
using SteadyClock = std::chrono::steady_clock;

void print(const char* measure, double value, const char* unit) {
  std::printf(R"({"rival":"tertulia","measure":"%s","value":%.9g,"unit":"%s"})"
              "\n",
              measure, value, unit);
  std::fflush(stdout);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void one_session(const Path& directory) {
  std::unique_ptr<SqliteStore> store = open_sqlite_store(real_env(), directory).value();
  const std::uint64_t before = bench::written_bytes();
  std::vector<double> rates;
  for (std::size_t session = 0; session < 5; ++session) {
    create(*store, key_of(session));
    const auto start = SteadyClock::now();
    grow(*store, key_of(session), Revision{1}, 100);
    rates.push_back(100 / seconds_since(start));
  }
  store.reset();  // with what is still in the log
  print("turns_per_second", median(rates), "1/s");
  print("bytes_per_turn", static_cast<double>(bench::written_bytes() - before) / 500, "bytes");
}

void many_sessions(const Path& directory) {
  const std::unique_ptr<SqliteStore> store = open_sqlite_store(real_env(), directory).value();
  std::vector<Revision> seen;
  for (std::size_t i = 0; i < 64; ++i) {
    create(*store, key_of(i));
    seen.push_back(bench::fill(*store, key_of(i), Revision{1}, 50));
  }
  const auto start = SteadyClock::now();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 64; ++i) {
    threads.emplace_back([&store, i, from = seen[i]] { grow(*store, key_of(i), from, 100); });
  }
  for (std::thread& thread : threads) thread.join();
  print("turns_per_second_64", 6400 / seconds_since(start), "1/s");
}

std::uintmax_t bytes_in(const Path& directory) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

// The milliseconds that all threads of this process were at work.
double busy_milliseconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

void long_session(const Path& directory) {
  std::unique_ptr<SqliteStore> store = open_sqlite_store(real_env(), directory).value();
  create(*store, key_of(0));
  Revision seen = bench::fill(*store, key_of(0), Revision{1}, 2500);
  std::vector<double> loads;
  std::vector<double> work;
  for (int round = 0; round < 15; ++round) {
    const double before = busy_milliseconds();
    const auto start = SteadyClock::now();
    const std::vector<StoredTurn> turns = read_turns(*store, key_of(0), {.branch = main_branch()}).value();
    loads.push_back(seconds_since(start) * 1e3);
    work.push_back(busy_milliseconds() - before);
    if (turns.size() != 2500) std::abort();
  }
  print("load_10000_messages", *std::ranges::min_element(loads), "ms");
  print("load_10000_work", *std::ranges::min_element(work), "ms");
  store.reset();
  const std::uintmax_t size = bytes_in(directory);
  store = open_sqlite_store(real_env(), directory).value();
  std::vector<double> forks;
  for (std::size_t round = 0; round < 15; ++round) {
    const auto start = SteadyClock::now();
    seen = bench::fork(*store, key_of(0), seen, "fork" + std::to_string(round), 9999);
    forks.push_back(seconds_since(start) * 1e3);
  }
  store.reset();
  print("fork_10000_messages", *std::ranges::min_element(forks), "ms");
  print("fork_bytes", static_cast<double>(bytes_in(directory) - size) / 15, "bytes");
}

void run(const Path& where) {
  const Path root = where / ("tertulia-rivals-" + std::to_string(::getpid()));
  std::filesystem::create_directories(root);
  one_session(root / "one");
  many_sessions(root / "many");
  long_session(root / "long");
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace tertulia

int main(int argc, char** argv) { tertulia::run(argc > 1 ? argv[1] : "."); }
