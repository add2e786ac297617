#include "tertulia/store/session_hold.h"

#include <atomic>
#include <map>
#include <utility>

#include "tertulia/base/thread_annotations.h"

namespace tertulia {
namespace {

using HeldKey = std::pair<const Store*, SessionKey>;

struct Holds {
  std::atomic<int> count = 0;
  Mutex mutex;
  std::map<HeldKey, AskingThread> holders TERTULIA_GUARDED_BY(mutex);
};
Holds& all_holds() {
  static Holds* const kHolds = new Holds;
  return *kHolds;
}

Error is_held(const SessionId& session) {
  return Error(ErrorCode::kTurnRunning, "messages of session '" + session.text() +
                                            "' are being erased just now; try again in a moment");
}

void release(const HeldKey& key) {
  Holds& holds = all_holds();
  MutexLock lock(holds.mutex);
  holds.holders.erase(key);
  --holds.count;
}

AskingThread& this_asker() {
  thread_local AskingThread asker = new_asking_thread();
  return asker;
}

}  // namespace

AskingThread new_asking_thread() {
  static std::atomic<std::uint64_t> next = 0;
  return AskingThread{++next};
}

AskingThread asking_thread() { return this_asker(); }

AskingFor::AskingFor(AskingThread other) : before_(std::exchange(this_asker(), other)) {}
AskingFor::~AskingFor() { this_asker() = before_; }

Result<SessionHold> SessionHold::take(Store& store, const SessionKey& key) {
  if (auto* passes = dynamic_cast<PassesHolds*>(&store)) {
    TERTULIA_TRY_AS(std::shared_ptr<void> elsewhere, passes->take_hold(key));
    return SessionHold(nullptr, key, std::move(elsewhere));
  }
  Holds& holds = all_holds();
  {
    MutexLock lock(holds.mutex);
    if (!holds.holders.emplace(HeldKey(&store, key), asking_thread()).second) {
      return is_held(key.session);
    }
    ++holds.count;
  }
  SessionHold hold(&store, key);
  // Writers of one session are put into an order: when this, which changes nothing, has had its turn, so has
  // what was under way, and whatever comes behind it finds the hold.
  const StreamId nothing{.kind = RecordKind::kMemory, .branch = {}, .scope = "~hold"};
  const Result<void> passed =
      note(store, {.key = key, .conditions = {}, .changes = {DropRecords{.stream = nothing}}});
  if (!passed && passed.error().code() != ErrorCode::kNoSession) return passed.error();
  return hold;
}

SessionHold::SessionHold(SessionHold&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)),
      key_(std::move(other.key_)),
      elsewhere_(std::move(other.elsewhere_)) {}

SessionHold::~SessionHold() {
  if (store_ != nullptr) release({store_, key_});
}

Result<void> check_hold(const Store& store, const SessionKey& key, AskingThread asking) {
  Holds& holds = all_holds();
  if (holds.count == 0) return {};
  MutexLock lock(holds.mutex);
  const auto held = holds.holders.find({&store, key});
  if (held == holds.holders.end() || held->second == asking) return {};
  return is_held(key.session);
}

Result<void> check_hold(const Store& store, const EraseScope& scope) {
  if (scope.session) return check_hold(store, SessionKey{scope.tenant, scope.owner, *scope.session});
  Holds& holds = all_holds();
  if (holds.count == 0) return {};
  MutexLock lock(holds.mutex);
  for (const auto& [held, thread] : holds.holders) {
    const bool inside =
        held.first == &store && held.second.tenant == scope.tenant && held.second.owner == scope.owner;
    if (inside && thread != asking_thread()) return is_held(held.second.session);
  }
  return {};
}

Result<void> check_hold(const Store& store, const RecordQuery& query) {
  if (query.session.empty()) return {};
  return check_hold(store, SessionKey{query.tenant, query.owner, query.session});
}

}  // namespace tertulia
