// StoreNews: whoever keeps something of the store in memory hears that another process has changed it.
#pragma once

#include <memory>

#include "tertulia/base/thread_annotations.h"
#include "tertulia/store/session_key.h"

namespace tertulia {

class Engine;
class Memory;
class SemanticMemory;

// Concurrency: any thread. Never waits for the store.
class StoreNews {
 public:
  // From here on these hear of it, and those before do not: before they end, nobody is followed.
  void follow(std::weak_ptr<Engine> engine, std::weak_ptr<Memory> memory,
              std::weak_ptr<SemanticMemory> semantic);
  // As SharedStoreOptions::changed.
  void changed(const SessionKey& key);

 private:
  Mutex mutex_;
  std::weak_ptr<Engine> engine_ TERTULIA_GUARDED_BY(mutex_);
  std::weak_ptr<Memory> memory_ TERTULIA_GUARDED_BY(mutex_);
  std::weak_ptr<SemanticMemory> semantic_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace tertulia
