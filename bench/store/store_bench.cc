// The SQLite store against the disk it stands on. A turn is: user 200 characters, a tool call, its result,
// assistant 400 characters. Ratios are measured in one run, in rounds that alternate with what they are
// compared to.
//
//   bench_store [directory]      a directory on the disk to measure; the current one by default
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "tertulia/base/env.h"
#include "tertulia/conversation/branch_rules.h"
#include "tertulia/store/sqlite_store.h"

#include "figure.h"
#include "timing.h"

namespace tertulia {
namespace {

using bench::print_figure;
using bench::seconds_since;
using SteadyClock = std::chrono::steady_clock;

Uuid uuid_of(std::uint64_t n) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[15 - i] = static_cast<std::uint8_t>(n >> (8 * i));
  return Uuid(bytes);
}

Message message_of(std::uint64_t n, Role role, Part part) {
  return Message::make({.id = MessageId(uuid_of(n)), .role = role, .parts = {part}}).value();
}

Turn turn_of(std::uint64_t n) {
  static const std::string question(200, 'q');
  static const std::string answer(400, 'a');
  std::vector<Message> messages;
  messages.push_back(message_of(4 * n, Role::kUser, Part::text_of(question)));
  messages.push_back(
      message_of(4 * n + 1, Role::kAssistant,
                 Part::tool_call("call_1", "search", R"({"query":"weather in Zurich","days":3})")));
  messages.push_back(
      message_of(4 * n + 2, Role::kTool,
                 Part::tool_result("call_1", "search", R"({"sky":"clear","high":21,"low":12})")));
  messages.push_back(message_of(4 * n + 3, Role::kAssistant, Part::text_of(answer)));
  return Turn::from_messages(TurnId(uuid_of(n + 1)), std::move(messages)).value();
}

std::size_t payload_bytes() {
  std::size_t bytes = 0;
  const Turn turn = turn_of(1);
  for (const Message& message : turn.messages()) bytes += message.block().size();
  return bytes;
}

SessionKey key_of(std::size_t n) { return local_key(SessionId::parse("s" + std::to_string(n)).value()); }

void create(Store& store, const SessionKey& key) {
  Commit first{.key = key, .changes = {PutSession{}, PutBranch{{.id = main_branch()}}}};
  commit(store, std::move(first)).value();
}

Commit turn_commit(const SessionKey& key, Revision seen, std::uint64_t n) {
  return {.key = key,
          .expected = seen,
          .changes = {AppendTurn{.branch = main_branch(), .turn = turn_of(n)}},
          .time = Time(Duration(static_cast<std::int64_t>(n)))};
}

Revision grow(Store& store, const SessionKey& key, Revision seen, std::size_t turns) {
  for (std::size_t i = 0; i < turns; ++i) seen = commit(store, turn_commit(key, seen, number(seen))).value();
  return seen;
}

// Grows without waiting for each turn: for histories that are not measured. The revisions are known
// beforehand.
Revision fill(Store& store, const SessionKey& key, Revision seen, std::size_t turns) {
  std::atomic<std::size_t> done = 0;
  for (std::size_t i = 0; i < turns; ++i) {
    while (i - done.load() >= 512) std::this_thread::yield();
    store.commit(turn_commit(key, Revision{number(seen) + i}, number(seen) + i),
                 [&](Result<Revision> result) {
                   result.value();
                   ++done;
                 });
  }
  while (done.load() < turns) std::this_thread::yield();
  return Revision{number(seen) + turns};
}

std::uint64_t written_bytes() {
  std::ifstream in("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  while (in >> name >> value) {
    if (name == "wchar:") return value;
  }
  return 0;
}

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

double many_rate(Store& store, std::size_t sessions, std::size_t turns) {
  for (std::size_t i = 0; i < sessions; ++i) create(store, key_of(1000 + i));
  const auto start = SteadyClock::now();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < sessions; ++i) {
    threads.emplace_back([&store, i, turns] { grow(store, key_of(1000 + i), Revision{1}, turns); });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(sessions * turns) / seconds_since(start);
}

void bench_writing(const Path& root) {
  const std::unique_ptr<SqliteStore> store = open_sqlite_store(real_env(), root / "writing").value();
  create(*store, key_of(0));
  Revision seen = grow(*store, key_of(0), Revision{1}, 50);
  std::vector<double> ratios;
  std::vector<double> rates;
  for (int round = 0; round < 5; ++round) {
    const double raw = raw_rate(root, 300);
    const auto start = SteadyClock::now();
    seen = grow(*store, key_of(0), seen, 300);
    rates.push_back(300 / seconds_since(start));
    ratios.push_back(rates.back() / raw);
  }
  print_figure("store.sqlite.turns_per_second", median(rates), "1/s", "", "one session, synchronous FULL");
  print_figure("store.sqlite.turn_rate_of_raw", median(ratios), "ratio", ">= 0.7", "append + fdatasync");
  print_figure("store.sqlite.64_sessions_of_one", many_rate(*store, 64, 60) / median(rates), "ratio", ">= 5",
               "one session");
}

void bench_bytes(const Path& root) {
  std::unique_ptr<SqliteStore> store = open_sqlite_store(real_env(), root / "bytes").value();
  create(*store, key_of(0));
  Revision seen = grow(*store, key_of(0), Revision{1}, 10);
  const std::uint64_t before = written_bytes();
  grow(*store, key_of(0), seen, 4000);
  store.reset();  // with what is still in the log
  const double turn = static_cast<double>(written_bytes() - before) / 4000;
  print_figure(
      "store.sqlite.bytes_per_turn_of_payload", turn / static_cast<double>(payload_bytes()), "ratio", "<= 3",
      "message blocks, " + std::to_string(payload_bytes()) + " bytes; log, checkpoints and listing included");
}

void bench_history(const Path& root) {
  std::unique_ptr<SqliteStore> store = open_sqlite_store(real_env(), root / "history").value();
  create(*store, key_of(1));
  create(*store, key_of(2));
  Revision small = fill(*store, key_of(1), Revision{1}, 25);
  Revision large = fill(*store, key_of(2), Revision{1}, 25'000);
  std::vector<double> ratios;
  for (int round = 0; round < 5; ++round) {
    auto start = SteadyClock::now();
    small = grow(*store, key_of(1), small, 100);
    const double short_time = seconds_since(start);
    start = SteadyClock::now();
    large = grow(*store, key_of(2), large, 100);
    ratios.push_back(seconds_since(start) / short_time);
  }
  print_figure("store.sqlite.turn_at_100000_of_10_messages", median(ratios), "ratio", "<= 1.2", "turn cost");

  const auto last_50 = [&](std::size_t n) {
    std::vector<double> times;
    for (int round = 0; round < 7; ++round) {
      store.reset();
      store = open_sqlite_store(real_env(), root / "history").value();
      const std::uint64_t count = load(*store, key_of(n)).value().branches.front().message_count;
      const auto start = SteadyClock::now();
      bench::keep(read_turns(*store, key_of(n), {.branch = main_branch(), .begin = count - 50}).value());
      times.push_back(seconds_since(start));
    }
    return median(times);
  };
  const double cold_small = last_50(1);
  print_figure("store.sqlite.last_50_of_100000_of_100", last_50(2) / cold_small, "ratio", "<= 2",
               "after opening");

  std::vector<double> loads;
  for (int round = 0; round < 9; ++round) {
    const auto start = SteadyClock::now();
    bench::keep(
        read_turns(*store, key_of(2), {.branch = main_branch(), .begin = 40'000, .end = 50'000}).value());
    loads.push_back(seconds_since(start) * 1e3);
  }
  print_figure("store.sqlite.load_10000_messages", median(loads), "ms", "< 18", "best rival 37 ms");

  std::vector<double> forks;
  for (int round = 0; round < 20; ++round) {
    const auto fork = [&](const SessionKey& key, Revision& seen, std::size_t at) {
      const BranchId id = BranchId::parse("f" + std::to_string(round)).value();
      const auto start = SteadyClock::now();
      seen =
          commit(*store, {.key = key,
                          .expected = seen,
                          .changes = {PutBranch{{.id = id, .forked_from = ForkOrigin{main_branch(), at}}}}})
              .value();
      return seconds_since(start);
    };
    const double of_small = fork(key_of(1), small, 7);
    forks.push_back(fork(key_of(2), large, 99'999) / of_small);
  }
  print_figure("store.sqlite.fork_at_100000_of_10_messages", median(forks), "ratio", "<= 1.2", "fork time");
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

void run(const Path& where) {
  const Path root = where / ("tertulia-bench-" + std::to_string(::getpid()));
  std::filesystem::create_directories(root);
  bench_writing(root);
  bench_bytes(root);
  bench_history(root);
  bench_listing(root);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace tertulia

int main(int argc, char** argv) { tertulia::run(argc > 1 ? argv[1] : "."); }
