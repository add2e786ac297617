#include "reaper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tertulia/agent/engine.h"
#include "tertulia/base/log.h"
#include "tertulia/base/run_safely.h"
#include "tertulia/memory/memory.h"

namespace tertulia {
namespace {

bool waits_for_answer(Store& store, const SessionKey& key) {
  const Result<RecordPage> asked = read_records(store, {.tenant = key.tenant,
                                                        .owner = key.owner,
                                                        .session = key.session,
                                                        .kind = RecordKind::kQuestion,
                                                        .limit = 1});
  return !asked || !asked->records.empty();
}

}  // namespace

GiveUpTurns give_up_turns(std::shared_ptr<Engine> engine, AgentDefinitionPtr closer) {
  return [engine = std::move(engine), closer = std::move(closer)](const std::vector<SessionKey>& sessions) {
    std::vector<SessionKey> stuck;
    std::ranges::copy_if(sessions, std::back_inserter(stuck),
                         [&](const SessionKey& key) { return !waits_for_answer(*engine->store(), key); });
    if (stuck.empty()) return stuck;
    const Result<std::vector<InterruptedTurn>> turns = engine->interrupted();
    if (!turns) return std::vector<SessionKey>();
    for (const InterruptedTurn& turn : *turns) {
      if (std::ranges::find(stuck, turn.key) == stuck.end()) continue;
      RunOptions options;
      options.tenant = turn.key.tenant;
      options.owner = turn.key.owner;
      options.branch = turn.branch;
      options.on_interrupted = OnInterrupted::kAbandon;
      if (!engine->run(closer, {}, turn.key.session.text(), options).result()) std::erase(stuck, turn.key);
    }
    return stuck;
  };
}

Result<ReapReport> reap_and_give_up(Memory& memory, const RuleBook& rules, const GiveUpTurns& give_up) {
  TERTULIA_TRY_AS(ReapReport report, memory.reap(rules));
  if (report.busy.empty() || !give_up) return report;
  for (const SessionKey& key : give_up(report.busy)) {
    const Result<CloseReport> closed = memory.close(key, EndReason::kError);
    if (!closed) {
      ++report.failed;
      continue;
    }
    std::erase(report.busy, key);
    report.broken.push_back(key);
    report.episodes += closed->episodes.size();
    report.facts += closed->facts;
  }
  return report;
}

Reaper::Reaper(std::shared_ptr<Memory> memory, GiveUpTurns give_up)
    : memory_(std::move(memory)), give_up_(std::move(give_up)) {
  thread_ = std::thread([this] { work(); });
}

Reaper::~Reaper() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Reaper::work() {
  const Log log = Log().component("memory");
  // Whoever reaps lives long: what the first turns need is read before they come.
  run_safely("the memory", [this] { memory_->prepare(); });
  std::unique_lock<std::mutex> lock(mutex_);
  // Turns that a crash has cut are resumed when the program starts: only what is still there later is given
  // up.
  GiveUpTurns give_up;
  std::size_t failed = 0;
  while (!stopping_) {
    lock.unlock();
    run_safely("what closes sessions", [&] {
      const auto report = reap_and_give_up(*memory_, memory_->rules(), give_up);
      if (!report) {
        log.warn("sessions could not be closed", {{"code", name_of(report.error().code())}});
      } else if (report->failed != std::exchange(failed, report->failed) && report->failed > 0) {
        // Said when the number changes, not every minute.
        log.warn("sessions could not be closed; they are tried again", {{"count", report->failed}});
      }
      give_up = give_up_;
    });
    lock.lock();
    wake_.wait_for(lock, std::chrono::minutes(1), [this] { return stopping_; });
  }
}

}  // namespace tertulia
