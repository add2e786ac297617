// What the fault sweeps share: machines, the store under test, and what happens in its life.
//
// The sweeps are compiled once for each kind of store, together with the file that says how it is opened
// (fault_json.cc, fault_sqlite.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/base/testing/sim_env.h"
#include "tertulia/store/blocking_store.h"
#include "tertulia/store/testing/store_trial.h"

namespace tertulia::trial {

inline constexpr char kRoot[] = "/data";

// A machine whose disk is its own.
class Machine final : public Env {
 public:
  Machine() : Machine(std::make_unique<SimDisk>(1)) {}
  explicit Machine(std::unique_ptr<SimDisk> disk) : disk_(std::move(disk)) {}

  FileSystem& files() override { return *disk_; }
  Clock& clock() override { return clock_; }
  Random& random() override { return random_; }
  SimDisk& disk() { return *disk_; }

 private:
  SimClock clock_;
  SimRandom random_{1};
  std::unique_ptr<SimDisk> disk_;
};

// The store under test, in kRoot.
Result<std::unique_ptr<BlockingStore>> open_fault_store(Env& env);
// How many different crash states the default run tries.
std::uint64_t crash_states_wanted();
// In the default run every so many-th access to the disk fails.
std::uint64_t io_failure_stride();
// Whether TERTULIA_LONG asks for the long run.
bool is_long_run();

// One thing that is done to a store. It states the revision it expects, so it can be tried in any state.
using Step = std::function<Result<void>(BlockingStore&)>;

// A part of a life: what is there already, and what happens while faults do.
struct Scene {
  std::string name;
  std::vector<Step> before;
  std::vector<Step> steps;
};
// Every verb and every kind of change, each with little around it.
const std::vector<Scene>& scenes();

// Everything that can be read of the sessions of the scenes, as text; an error is part of it.
std::string everything(BlockingStore& store);

// A scene that was lived through once on a healthy disk.
struct Lived {
  // What there was to read before the first step and after each.
  std::vector<std::string> states;
  // The disk before each change: opening, every step, closing.
  std::vector<std::unique_ptr<SimDisk>> moments;
  // For each moment, how many steps had been acknowledged.
  std::vector<std::size_t> done;
};
Lived live(const Scene& scene);

// The disk with the store of a scene before its first step, closed.
std::unique_ptr<SimDisk> disk_before(const Scene& scene);

// What is wrong with the store on this disk after `done` acknowledged steps; empty if nothing is. It must
// open, hold what it held after `done` steps or after one more, and verify. If `goes_on`, the rest of the
// scene must work too.
std::string examine(Machine& machine, const Scene& scene, const Lived& lived, std::size_t done, bool goes_on);

}  // namespace tertulia::trial
