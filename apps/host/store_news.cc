#include "store_news.h"

#include <utility>

#include "tertulia/agent/engine.h"
#include "tertulia/memory/memory.h"
#include "tertulia/memory/semantic_memory.h"

namespace tertulia {

void StoreNews::follow(std::weak_ptr<Engine> engine, std::weak_ptr<Memory> memory,
                       std::weak_ptr<SemanticMemory> semantic) {
  MutexLock lock(mutex_);
  engine_ = std::move(engine);
  memory_ = std::move(memory);
  semantic_ = std::move(semantic);
}

// Within the mutex: whoever calls follow() knows that nobody is in here any more with what was there before.
void StoreNews::changed(const SessionKey& key) {
  MutexLock lock(mutex_);
  if (const auto engine = engine_.lock()) engine->forget(key);
  if (const auto memory = memory_.lock()) {
    if (key.tenant.empty()) {
      memory->episodic().drop_all();
    } else {
      memory->episodic().drop_owner(key.tenant, key.owner);
    }
  }
  const auto semantic = semantic_.lock();
  if (!semantic) return;
  if (key.tenant.empty()) {
    semantic->drop_all();
  } else if (key.session.empty()) {
    semantic->drop_owner(key.tenant, key.owner);
  } else if (is_own_session(key.session)) {
    // What is known is in sessions of the program's own.
    semantic->drop({key.tenant, key.owner, key.session});
  }
}

}  // namespace tertulia
