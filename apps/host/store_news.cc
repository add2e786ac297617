#include "store_news.h"

#include <utility>

#include "tertulia/agent/engine.h"
#include "tertulia/memory/semantic_memory.h"

namespace tertulia {

void StoreNews::follow(std::weak_ptr<Engine> engine, std::weak_ptr<SemanticMemory> memory) {
  MutexLock lock(mutex_);
  engine_ = std::move(engine);
  memory_ = std::move(memory);
}

// Within the mutex: whoever calls follow() knows that nobody is in here any more with what was there before.
void StoreNews::changed(const SessionKey& key) {
  MutexLock lock(mutex_);
  if (const auto engine = engine_.lock()) engine->forget(key);
  const auto memory = memory_.lock();
  if (!memory) return;
  if (key.tenant.empty()) {
    memory->drop_all();
  } else if (key.session.empty()) {
    memory->drop_owner(key.tenant, key.owner);
  } else if (is_own_session(key.session)) {
    // Memories are in sessions of the program's own.
    memory->drop({key.tenant, key.owner, key.session});
  }
}

}  // namespace tertulia
