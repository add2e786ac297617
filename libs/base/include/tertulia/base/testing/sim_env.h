// SimEnv: an Env in which nothing is left to chance. One seed, one run.
//
//   SimEnv env(7);
//   … a store works on env.files() …
//   env.disk().crash(CrashPolicy::kAnything);
//   … it opens again, and must find everything it had acknowledged …
#pragma once

#include <cstdint>

#include "tertulia/base/env.h"
#include "tertulia/base/testing/sim_clock.h"
#include "tertulia/base/testing/sim_disk.h"

namespace tertulia {

// Concurrency: any thread.
class SimEnv final : public Env {
 public:
  explicit SimEnv(std::uint64_t seed) : random_(seed), disk_(random_.next()) {}

  FileSystem& files() override { return disk_; }
  Clock& clock() override { return clock_; }
  Random& random() override { return random_; }

  SimDisk& disk() { return disk_; }
  SimClock& sim_clock() { return clock_; }

 private:
  SimClock clock_;
  SimRandom random_;
  SimDisk disk_;
};

}  // namespace tertulia
