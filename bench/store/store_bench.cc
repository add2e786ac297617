// The SQLite store against the disk it stands on, with the turn of support/turns.h. Ratios are measured in
// one run, in rounds that alternate with what they are compared to.
//
//   bench_store [directory [part…]]   a directory on the disk to measure; the current one by default. Parts:
//                                     writing, bytes, length, forks, reading, listing; all by default
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "tertulia/base/env.h"
#include "tertulia/store/sqlite_store.h"

#include "figure.h"
#include "timing.h"
#include "turns.h"

namespace tertulia {
namespace {

using bench::create;
using bench::fill;
using bench::grow;
using bench::key_of;
using bench::payload_bytes;
using bench::print_figure;
using bench::processor_seconds;
using bench::seconds_since;
using bench::written_bytes;
using SteadyClock = std::chrono::steady_clock;

// Appends and syncs as a program without a store would.
double raw_rate(const Path& directory, std::size_t count) {
  const std::string record(payload_bytes(), 'r');
  const Path path = directory / "raw.log";
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  const auto start = SteadyClock::now();
  for (std::size_t i = 0; i < count; ++i) {
    if (::write(file, record.data(), record.size()) < 0 || ::fdatasync(file) != 0) std::abort();
  }
  const double rate = static_cast<double>(count) / seconds_since(start);
  ::close(file);
  std::filesystem::remove(path);
  return rate;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double one_rate(Store& store, Revision& seen, std::size_t turns) {
  const auto start = SteadyClock::now();
  seen = grow(store, key_of(0), seen, turns);
  return static_cast<double>(turns) / seconds_since(start);
}

// A thread for each session.
double many_rate(Store& store, std::vector<Revision>& seen, std::size_t turns) {
  const auto start = SteadyClock::now();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] { seen[i] = grow(store, key_of(1000 + i), seen[i], turns); });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(seen.size() * turns) / seconds_since(start);
}

void bench_writing(const Path& root) {
  const std::unique_ptr<SqliteStore> store = open_sqlite_store(real_env(), root / "writing").value();
  create(*store, key_of(0));
  std::vector<Revision> of_many(64, Revision{1});
  for (std::size_t i = 0; i < of_many.size(); ++i) create(*store, key_of(1000 + i));
  Revision seen = grow(*store, key_of(0), Revision{1}, 50);
  many_rate(*store, of_many, 10);
  std::vector<double> rates, of_raw, many, of_one, work;
  constexpr std::size_t kTurns = 200;
  for (int round = 0; round < 7; ++round) {
    const double raw = raw_rate(root, 500);
    rates.push_back(one_rate(*store, seen, 1'000));
    of_raw.push_back(rates.back() / raw);
    const double worked = processor_seconds();
    many.push_back(many_rate(*store, of_many, kTurns));
    work.push_back((processor_seconds() - worked) / static_cast<double>(kTurns * of_many.size()) * 1e6);
    of_one.push_back(many.back() / rates.back());
  }
  print_figure("store.sqlite.turns_per_second", median(rates), "1/s", "", "one session, synchronous FULL");
  print_figure("store.sqlite.turn_rate_of_raw", median(of_raw), "ratio", ">= 0.7", "append + fdatasync");
  print_figure("store.sqlite.64_sessions_turns_per_second", median(many), "1/s", "",
               "64 sessions, a thread for each");
  print_figure("store.sqlite.64_sessions_of_one", median(of_one), "ratio", ">= 5", "one session");
  print_figure("store.sqlite.64_sessions_work", median(work), "us", "",
               "processor time of a turn among 64, whoever asks for it included");
}

// What the process hands to write(2): log, checkpoints, listing and all. A commit for each turn, one session.
double bytes_per_turn(const Path& directory, std::size_t history, std::size_t turns) {
  std::unique_ptr<SqliteStore> store = open_sqlite_store(real_env(), directory).value();
  create(*store, key_of(0));
  const Revision seen = fill(*store, key_of(0), Revision{1}, history);
  store.reset();
  store = open_sqlite_store(real_env(), directory).value();
  const std::uint64_t before = written_bytes();
  grow(*store, key_of(0), seen, turns);
  store.reset();  // with what is still in the log
  return static_cast<double>(written_bytes() - before) / static_cast<double>(turns);
}

void bench_bytes(const Path& root) {
  double payload = 0;
  for (std::uint64_t n = 0; n < 1000; ++n) payload += static_cast<double>(payload_bytes(n)) / 1000;
  const std::string against = "message blocks, " + std::to_string(static_cast<int>(payload)) +
                              " bytes; log, checkpoints and listing counted";
  print_figure("store.sqlite.bytes_per_turn_of_payload", bytes_per_turn(root / "bytes-10", 3, 4000) / payload,
               "ratio", "<= 3", against);
  print_figure("store.sqlite.bytes_per_turn_at_100000",
               bytes_per_turn(root / "bytes-100000", 25'000, 2000) / payload, "ratio", "<= 3", against);
}

template <class Work>
double seconds_of(Work&& work) {
  const auto start = SteadyClock::now();
  work();
  return seconds_since(start);
}

// A turn and a fork at 100,000 messages beside the same at 10. Each turn of the short side goes to a new
// session that had two, so the cost of the first commits of a session is not in it. Both sessions that are
// forked have as many branches.
void bench_length(const Path& root) {
  const std::unique_ptr<SqliteStore> store = open_sqlite_store(real_env(), root / "length").value();
  const SessionKey longest = key_of(0);
  const SessionKey forked = key_of(1);
  create(*store, longest);
  create(*store, forked);
  Revision seen = fill(*store, longest, Revision{1}, 25'000);
  Revision of_forked = fill(*store, forked, Revision{1}, 3);
  std::vector<double> short_turns, long_turns, short_forks, long_forks;
  for (std::size_t round = 0; round < 200; ++round) {
    const SessionKey key = key_of(2 + round);
    const std::string name = "fork" + std::to_string(round);
    create(*store, key);
    grow(*store, key, Revision{1}, 2);
    short_turns.push_back(seconds_of([&] { grow(*store, key, Revision{3}, 1); }));
    long_turns.push_back(seconds_of([&] { seen = grow(*store, longest, seen, 1); }));
    short_forks.push_back(seconds_of([&] { of_forked = bench::fork(*store, forked, of_forked, name, 11); }));
    long_forks.push_back(seconds_of([&] { seen = bench::fork(*store, longest, seen, name, 99'999); }));
  }
  print_figure("store.sqlite.turn_at_100000_of_10_messages", median(long_turns) / median(short_turns),
               "ratio", "<= 1.2", "turn cost");
  print_figure("store.sqlite.fork_at_100000_of_10_messages", median(long_forks) / median(short_forks),
               "ratio", "<= 1.2", "fork time");
}

std::uintmax_t bytes_in(const Path& directory) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

// A session of 10,000 turns, 1,000 forks of it, then a turn on each fork. Sizes are of the closed store.
void bench_forks(const Path& root) {
  const Path directory = root / "forks";
  const SessionKey key = key_of(0);
  Revision seen{};
  const auto with_store = [&](auto&& work) {
    const std::unique_ptr<SqliteStore> store = open_sqlite_store(real_env(), directory).value();
    work(*store);
  };
  with_store([&](Store& store) {
    create(store, key);
    seen = fill(store, key, Revision{1}, 10'000);
  });
  const std::uintmax_t before = bytes_in(directory);
  with_store([&](Store& store) {
    for (std::size_t i = 0; i < 1000; ++i) {
      seen = bench::fork(store, key, seen, "fork" + std::to_string(i), 40 * i + 39);
    }
  });
  print_figure("store.sqlite.bytes_per_fork", static_cast<double>(bytes_in(directory) - before) / 1000,
               "bytes", "<= 1024", "growth of the closed store, 1,000 forks of 10,000 turns");
  with_store([&](Store& store) {
    for (std::size_t i = 0; i < 1000; ++i) {
      const BranchId id = BranchId::parse("fork" + std::to_string(i)).value();
      seen = commit(store, bench::turn_commit(key, seen, number(seen), id)).value();
    }
  });
  double raw = 0;
  for (std::uint64_t n = 1; n <= 11'000; ++n) raw += static_cast<double>(payload_bytes(n));
  print_figure("store.sqlite.disk_of_1000_forks", static_cast<double>(bytes_in(directory)) / raw, "ratio",
               "<= 1.3", "the message blocks, each once: 10,000 turns, and one on each of 1,000 forks");
}

// Asks the operating system to forget the files, so that the next read is one of the disk.
void drop_from_cache(const Path& directory) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    ::fdatasync(file);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
  }
}

void bench_reading(const Path& root) {
  const Path directory = root / "reading";
  std::unique_ptr<SqliteStore> store = open_sqlite_store(real_env(), directory).value();
  create(*store, key_of(1));
  create(*store, key_of(2));
  fill(*store, key_of(1), Revision{1}, 25);
  fill(*store, key_of(2), Revision{1}, 25'000);

  const auto last_50 = [&](std::size_t n, std::uint64_t count) {
    store.reset();
    drop_from_cache(directory);
    store = open_sqlite_store(real_env(), directory).value();
    return seconds_of([&] {
      bench::keep(load(*store, key_of(n)).value());
      bench::keep(read_turns(*store, key_of(n), {.branch = main_branch(), .begin = count - 50}).value());
    });
  };
  std::vector<double> of_short, of_long;
  for (int round = 0; round < 15; ++round) {
    of_short.push_back(last_50(1, 100));
    of_long.push_back(last_50(2, 100'000));
  }
  print_figure("store.sqlite.last_50_of_100000_of_100", median(of_long) / median(of_short), "ratio", "<= 2",
               "cold: opened again, files dropped from the cache of the system");

  // The best round: what else the machine does only adds to it.
  std::vector<double> loads;
  for (int round = 0; round < 25; ++round) {
    loads.push_back(
        1e3 * seconds_of([&] {
          bench::keep(read_turns(*store, key_of(2), {.branch = main_branch(), .begin = 40'000, .end = 50'000})
                          .value());
        }));
  }
  print_figure("store.sqlite.load_10000_messages", *std::ranges::min_element(loads), "ms", "< 18",
               "scripts/bench rivals has the others");
}

void bench_listing(const Path& root) {
  const std::unique_ptr<SqliteStore> store = open_sqlite_store(real_env(), root / "listing").value();
  std::atomic<std::size_t> done = 0;
  constexpr std::size_t kSessions = 100'000;
  for (std::size_t i = 0; i < kSessions; ++i) {
    while (i - done.load() >= 4096) std::this_thread::yield();
    Commit first{.key = key_of(i),
                 .changes = {PutSession{}, PutBranch{{.id = main_branch()}}},
                 .time = Time(Duration(static_cast<std::int64_t>(i * 7919 % kSessions)))};
    store->commit(std::move(first), [&](Result<Revision> result) {
      result.value();
      ++done;
    });
  }
  while (done.load() < kSessions) std::this_thread::yield();
  const SessionKey any = key_of(0);
  const double seconds = bench::median_seconds(
      [&] { bench::keep(list(*store, {.tenant = any.tenant, .owner = any.owner, .limit = 50}).value()); });
  print_figure("store.sqlite.list_50_of_100000", seconds * 1e3, "ms", "< 2", "latest activity first");
}

void run(const Path& where, const std::vector<std::string>& parts) {
  const Path root = where / ("tertulia-bench-" + std::to_string(::getpid()));
  std::filesystem::create_directories(root);
  const auto wanted = [&](const char* part) {
    return parts.empty() || std::ranges::find(parts, part) != parts.end();
  };
  if (wanted("writing")) bench_writing(root);
  if (wanted("bytes")) bench_bytes(root);
  if (wanted("length")) bench_length(root);
  if (wanted("forks")) bench_forks(root);
  if (wanted("reading")) bench_reading(root);
  if (wanted("listing")) bench_listing(root);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace tertulia

int main(int argc, char** argv) {
  tertulia::run(argc > 1 ? argv[1] : ".", {argv + std::min(argc, 2), argv + argc});
}
