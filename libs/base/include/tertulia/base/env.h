// Env: everything that is not deterministic, in one place. Real for users, simulated for tests.
#pragma once

#include <memory>

#include "tertulia/base/clock.h"
#include "tertulia/base/file_system.h"
#include "tertulia/base/random.h"

namespace tertulia {

// Three interfaces that travel together. Whoever holds an Env keeps it alive longer than its users.
//
// Concurrency: any thread.
class Env {
 public:
  virtual ~Env() = default;

  virtual FileSystem& files() = 0;
  virtual Clock& clock() = 0;
  virtual Random& random() = 0;
};

// The operating system's. One object, alive until the program ends.
Env& real_env();

}  // namespace tertulia
