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

}  // namespace

AskingThread asking_thread() {
  static std::atomic<std::uint64_t> next = 0;
  thread_local const std::uint64_t kThis = ++next;
  return AskingThread{kThis};
}

Result<SessionHold> SessionHold::take(Store& store, const SessionKey& key) {
  Holds& holds = all_holds();
  {
    MutexLock lock(holds.mutex);
    if (!holds.holders.emplace(HeldKey(&store, key), asking_thread()).second) {
      return is_held(key.session);
    }
    ++holds.count;
  }
  SessionHold hold(store, key);
  // Writers of one session are put into an order: when this, which changes nothing, has had its turn, so has
  // what was under way, and whatever comes behind it finds the hold.
  const StreamId nothing{.kind = RecordKind::kMemory, .branch = {}, .scope = "~hold"};
  const Result<void> passed =
      note(store, {.key = key, .conditions = {}, .changes = {DropRecords{.stream = nothing}}});
  if (!passed && passed.error().code() != ErrorCode::kNoSession) return passed.error();
  return hold;
}

SessionHold::SessionHold(SessionHold&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)), key_(std::move(other.key_)) {}

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
