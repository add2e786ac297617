// Whole turns of an agent with a model that answers at once: user 200 characters, one tool call, its result,
// 400 characters of answer. Everything is durable: SQLite, synchronous FULL, unless a figure says otherwise.
//
//   bench_agent [directory [part…]]   a directory on the disk to measure; the current one by default. Parts:
//                                     in_flight, own, flat, first, rates; all by default
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include "tertulia/agent/agent.h"
#include "tertulia/store/memory_store.h"
#include "tertulia/store/sqlite_store.h"
#include "tertulia/tools/function_tool.h"

#include "figure.h"
#include "timing.h"

namespace tertulia {
namespace {

using bench::print_figure;
using bench::processor_seconds;
using bench::seconds_since;
using SteadyClock = std::chrono::steady_clock;

// Calls the tool, then answers: what it says depends on what it is shown last.
class InstantModel final : public LanguageModel {
 public:
  ModelInfo info(std::string_view model) const override {
    return {.name = std::string(model),
            .context_tokens = 128'000,
            .max_output_tokens = 4'096,
            .tokenizer = tokenizer_};
  }
  void respond(ModelCall call, Done<ModelResponse> done) override {
    const std::vector<Message> messages = call.request.view.to_vector();
    ModelResponse response;
    response.model = call.request.model;
    if (messages.back().role() == Role::kTool) {
      call.on_delta({.kind = ModelDelta::Kind::kText, .text = answer_});
      response.parts.push_back({.text = answer_});
    } else {
      response.finish = Finish::kToolCalls;
      response.parts.push_back({.kind = PartKind::kToolCall,
                                .text = R"({"query":"weather in Zurich","days":3})",
                                .name = "search",
                                .call_id = "call_1"});
    }
    done(std::move(response));
  }

 private:
  const std::shared_ptr<const Tokenizer> tokenizer_ = tokenizer_named("o200k_base").value();
  const std::string answer_ = [] {
    std::string text;
    while (text.size() < 400) text += "the sky is clear today ";
    text.resize(400);
    return text;
  }();
};

struct Search {
  std::string query;
  int days = 1;
};
TERTULIA_FIELDS(Search, query, days)

Agent agent_on(std::shared_ptr<Store> store, std::shared_ptr<LanguageModel> model) {
  AgentBuilder builder;
  return builder.with_model(std::move(model), "instant")
      .with_session_store(std::move(store))
      .with_tool(
          make_tool("search", "Finds the weather.",
                    [](const Search&) { return std::string(R"({"sky":"clear","high":21,"low":12})"); }))
      .build()
      .value();
}

const std::string& question() {
  static const std::string kText = [] {
    std::string text;
    while (text.size() < 200) text += "what will the weather be ";
    text.resize(200);
    return text;
  }();
  return kText;
}

void turn(const Agent& agent, const std::string& session) { agent.run(question(), session).result().value(); }

std::shared_ptr<Store> sqlite_at(const std::filesystem::path& directory) {
  std::filesystem::remove_all(directory);
  return open_sqlite_store(real_env(), directory).value();
}

double turns_per_second(const Agent& agent, std::size_t sessions, double seconds) {
  std::atomic<std::uint64_t> turns = 0;
  std::vector<std::thread> threads;
  const auto start = SteadyClock::now();
  for (std::size_t i = 0; i < sessions; ++i) {
    threads.emplace_back([&, i] {
      while (seconds_since(start) < seconds) {
        turn(agent, "s" + std::to_string(i));
        ++turns;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(turns) / seconds_since(start);
}

// This disk's own rate of appending 4 KiB and syncing.
double syncs_per_second(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "sync";
  std::FILE* out = std::fopen(file.c_str(), "wb");
  const std::string page(4'096, 'x');
  const auto start = SteadyClock::now();
  int syncs = 0;
  while (seconds_since(start) < 1.0) {
    std::fwrite(page.data(), 1, page.size(), out);
    std::fflush(out);
    fdatasync(fileno(out));
    ++syncs;
  }
  std::fclose(out);
  std::filesystem::remove(file);
  return syncs / seconds_since(start);
}

void measure_rates(const std::filesystem::path& directory) {
  const Agent agent = agent_on(sqlite_at(directory / "rates"), std::make_shared<InstantModel>());
  turn(agent, "s0");
  const double syncs = syncs_per_second(directory);
  const double one = turns_per_second(agent, 1, 2.0);
  const double many = turns_per_second(agent, 64, 3.0);
  print_figure("agent turns, one session", one, "1/s", "",
               "durable turns with one tool; rivals: scripts/bench rivals");
  print_figure("agent turn, one session, of the disk's rate", one * 4 / syncs, "ratio", "",
               "append + fdatasync of 4 KiB; a turn with one tool has 4 durable steps");
  print_figure("agent turns, 64 sessions", many, "1/s", "", "the same at once");
  print_figure("agent turns, 64 sessions ÷ one", many / one, "ratio", "", "one session");
}

// The median time of a turn and the work of all threads in it, in microseconds, with SQLite FULL in memory,
// where a sync costs nothing. Sessions of 100 turns: what is measured is the turn, not how much of a long
// history is shown to the model.
struct OwnTime {
  double time = 0;
  double work = 0;
};

OwnTime own_time(const std::filesystem::path& memory) {
  const std::filesystem::path directory = memory / ("tertulia-bench-" + std::to_string(::getpid()));
  constexpr std::size_t kTurns = 100;
  OwnTime own;
  {
    const Agent agent = agent_on(sqlite_at(directory), std::make_shared<InstantModel>());
    std::size_t sessions = 0;
    const auto converse = [&] {
      const std::string session = "s" + std::to_string(sessions++);
      for (std::size_t i = 0; i < kTurns; ++i) turn(agent, session);
    };
    for (int warm = 0; warm < 3; ++warm) converse();
    const double worked = processor_seconds();
    const std::size_t before = sessions;
    own.time = bench::median_seconds(converse, 21) / kTurns * 1e6;
    own.work = (processor_seconds() - worked) / static_cast<double>((sessions - before) * kTurns) * 1e6;
  }
  std::filesystem::remove_all(directory);
  return own;
}

// Threads that begin from now on stay on the core that this one is on.
class OneCore {
 public:
  OneCore() {
    ::sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    ::sched_setaffinity(0, sizeof(one), &one);
  }
  ~OneCore() { ::sched_setaffinity(0, sizeof(before_), &before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_{};
};

void measure_own_time(const std::filesystem::path& memory) {
  const OwnTime free = own_time(memory);
  print_figure("agent turn outside of fsync", free.time, "us", "< 300",
               "SQLite FULL in memory (/dev/shm), where a sync costs nothing");
  print_figure("agent turn, processor time of all threads", free.work, "us", "",
               "the same turns; says more than the figure above while others use the machine");
  const OneCore bound;
  print_figure("agent turn outside of fsync, on one core", own_time(memory).time, "us", "< 300",
               "the same turns; what is more on several is the time to wake a core that sleeps");
}

// A history of `messages`, written as turns of four.
void fill(Store& store, const std::string& session, std::size_t messages) {
  SessionStore sessions(store, real_env().clock());
  const SessionId id = SessionId::parse(session).value();
  Revision revision = sessions.load_session_and_branch(id).value().session.revision;
  UuidMaker ids(real_env().clock(), real_env().random());
  for (std::size_t i = 0; i < messages; i += 100) {
    std::vector<Message> some;
    for (std::size_t j = 0; j < std::min<std::size_t>(100, messages); ++j) {
      some.push_back(Message::text(MessageId(ids.make()), j % 2 == 0 ? Role::kUser : Role::kAssistant,
                                   "a message of some length, as people write them", Time{})
                         .value()
                         .with_tokens(Tokens{45}, Counted::kO200k));
    }
    Turn turn = Turn::from_messages(TurnId(ids.make()), std::move(some)).value();
    revision = sessions.append_turn(id, revision, {.branch = main_branch(), .turn = std::move(turn)}).value();
  }
}

void measure_flatness() {
  std::shared_ptr<Store> store = open_memory_store();
  fill(*store, "short", 10);
  fill(*store, "long", 100'000);
  const Agent agent = agent_on(store, std::make_shared<InstantModel>());
  turn(agent, "short");
  turn(agent, "long");
  // The budget decides how much of the history is shown; it must be the same for both.
  RunOptions options{.budget = Tokens{6'000}};
  const auto once = [&](const char* session) { agent.run(question(), session, options).result().value(); };
  for (int i = 0; i < 200; ++i) once("short");
  const double brief = bench::median_seconds([&] { once("short"); });
  const double lengthy = bench::median_seconds([&] { once("long"); });
  print_figure("agent turn at 100,000 messages ÷ at 10", lengthy / brief, "ratio", "<= 1.2", "the same turn");
}

// Says one word when it is told to, and notes when.
class SpeakingModel final : public LanguageModel {
 public:
  ModelInfo info(std::string_view model) const override { return InstantModel().info(model); }
  void respond(ModelCall call, Done<ModelResponse> done) override {
    std::thread([call = std::move(call), done = std::move(done), this] {
      spoken = SteadyClock::now();
      call.on_delta({.kind = ModelDelta::Kind::kText, .text = "word"});
      done(ModelResponse{.parts = {{.text = "word"}}});
    }).detach();
  }
  std::atomic<SteadyClock::time_point> spoken;
};

void measure_first_token() {
  auto model = std::make_shared<SpeakingModel>();
  const Agent agent = agent_on(open_memory_store(), model);
  std::vector<double> delays;
  for (int i = 0; i < 500; ++i) {
    Run run = agent.run(question());
    for (const Event& event : run) {
      if (event.kind == EventKind::kTextDelta) delays.push_back(seconds_since(model->spoken.load()));
    }
  }
  std::ranges::sort(delays);
  print_figure("first token, model to reader, median", delays[delays.size() / 2] * 1e6, "us", "<= 1000", "");
  print_figure("first token, model to reader, 99 of 100", delays[delays.size() * 99 / 100] * 1e6, "us",
               "<= 1000", "");
}

// Answers when all have asked.
class SlowModel final : public LanguageModel {
 public:
  ModelInfo info(std::string_view model) const override { return model_.info(model); }
  void respond(ModelCall call, Done<ModelResponse> done) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.emplace_back(std::move(call), std::move(done));
    ++asked;
  }
  void answer() {
    std::deque<std::pair<ModelCall, Done<ModelResponse>>> waiting;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      waiting.swap(waiting_);
    }
    for (auto& [call, done] : waiting) done(ModelResponse{.parts = {{.text = "done"}}});
  }
  std::atomic<std::size_t> asked = 0;

 private:
  InstantModel model_;
  std::mutex mutex_;
  // Not a vector, whose growth would be counted with the turns.
  std::deque<std::pair<ModelCall, Done<ModelResponse>>> waiting_;
};

std::size_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  in >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void measure_in_flight(const std::filesystem::path& directory) {
  constexpr std::size_t kTurns = 10'000;
  auto model = std::make_shared<SlowModel>();
  const Agent agent = agent_on(sqlite_at(directory / "in-flight"), model);
  std::vector<Run> runs;
  runs.reserve(kTurns);
  const std::size_t before = resident_bytes();
  for (std::size_t i = 0; i < kTurns; ++i) runs.push_back(agent.run("hello", "s" + std::to_string(i)));
  while (model->asked < kTurns) std::this_thread::yield();
  const std::size_t during = resident_bytes();
  print_figure("memory of a turn in flight", static_cast<double>(during - before) / kTurns / 1024, "KiB",
               "< 20", "10,000 at once on SQLite, each in a session of its own, which is included");
  model->answer();
  for (Run& run : runs) run.result().value();
}

}  // namespace
}  // namespace tertulia

int main(int argc, char** argv) {
  const std::filesystem::path directory = std::filesystem::path(argc > 1 ? argv[1] : ".") / "bench-agent";
  std::filesystem::create_directories(directory);
  const std::vector<std::string> parts(argv + std::min(argc, 2), argv + argc);
  const auto wanted = [&](const char* part) {
    return parts.empty() || std::ranges::find(parts, part) != parts.end();
  };
  if (wanted("in_flight")) tertulia::measure_in_flight(directory);
  if (wanted("own")) tertulia::measure_own_time("/dev/shm");
  if (wanted("flat")) tertulia::measure_flatness();
  if (wanted("first")) tertulia::measure_first_token();
  if (wanted("rates")) tertulia::measure_rates(directory);
  std::filesystem::remove_all(directory);
}
