// The power goes off at every moment of every scene. Whatever the disk then keeps, the store opens again and
// holds a state that the scene went through: everything that was acknowledged, at most one step more, and no
// step by halves.
#include <algorithm>
#include <iostream>
#include <unordered_set>

#include <gtest/gtest.h>

#include "fault_bench.h"

namespace tertulia::trial {
namespace power_cut_test {

// A way to crash, that a failure message names so that it can be tried again.
struct Crash {
  CrashPolicy policy;
  std::uint64_t choice;

  std::string text() const {
    return std::string(policy == CrashPolicy::kOrderly    ? "orderly "
                       : policy == CrashPolicy::kAnything ? "seed "
                                                          : "policy ") +
           std::to_string(policy == CrashPolicy::kOrderly || policy == CrashPolicy::kAnything
                              ? choice
                              : static_cast<std::uint64_t>(policy));
  }
};

class PowerCut : public ::testing::Test {
 protected:
  // Tries one crash of one moment; false if the disk then holds what it held after another one.
  bool crash(const Scene& scene, const Lived& lived, std::size_t moment, Crash how) {
    Machine after(lived.moments[moment]->clone());
    after.disk().crash(how.policy, how.choice);
    return examine_new(after, scene, lived, moment, how.text());
  }

  bool examine_new(Machine& machine, const Scene& scene, const Lived& lived, std::size_t moment,
                   const std::string& how) {
    ++tried_;
    const std::uint64_t image = machine.disk().content_hash();
    const std::size_t done = lived.done[moment];
    // What is on the disk and what was acknowledged decide everything that follows.
    if (!checked_.insert(image * 31 + done).second) return false;
    const bool is_new = images_.insert(image).second;
    // Every eighth goes on with the scene: that the store can be written is worth a look, and dear.
    const std::string wrong = examine(machine, scene, lived, done, checked_.size() % 8 == 0);
    EXPECT_EQ(wrong, "") << "scene '" << scene.name << "', power off before change " << moment << ", " << how;
    return is_new;
  }

  // Every torn write, evenly thinned until `wanted` are new.
  void sweep_in_order(const Scene& scene, const Lived& lived, std::uint64_t wanted) {
    const std::uint64_t target = images_.size() + wanted;
    std::uint64_t all = 0;
    for (const auto& moment : lived.moments) all += moment->orderly_crashes();
    // Where a name is lost all tears of its file leave the same, so more are tried than are wanted.
    const std::uint64_t tries = std::min(all, wanted * 5 / 2);
    std::size_t moment = 0;
    std::uint64_t behind = 0;
    for (std::uint64_t i = 0; i < tries && images_.size() < target && !HasFailure(); ++i) {
      const std::uint64_t next = i * all / tries;
      while (next >= behind + lived.moments[moment]->orderly_crashes()) {
        behind += lived.moments[moment++]->orderly_crashes();
      }
      crash(scene, lived, moment, {CrashPolicy::kOrderly, next - behind});
    }
  }

  // Any subset in any order, by seeds, until enough are new or nearly none is.
  void sweep_by_seed(const Scene& scene, const Lived& lived, std::uint64_t first_seed, std::uint64_t wanted) {
    const std::uint64_t target = images_.size() + wanted;
    constexpr int kPatience = 20;
    int rounds_for_nothing = 0;
    for (std::uint64_t seed = first_seed; rounds_for_nothing < kPatience && !HasFailure(); ++seed) {
      const std::size_t before = images_.size();
      for (std::size_t moment = 0; moment < lived.moments.size() && !HasFailure(); ++moment) {
        if (images_.size() >= target) return;
        if (lived.moments[moment]->unsynced() == 0) continue;
        crash(scene, lived, moment, {CrashPolicy::kAnything, seed * 1'000 + moment});
      }
      const bool is_worth_it = images_.size() - before > lived.moments.size() / 50;
      rounds_for_nothing = is_worth_it ? 0 : rounds_for_nothing + 1;
    }
  }

  // Opens the store on a copy of `disk` and cuts the power while that puts things right, `depth` times in a
  // row; at each depth about `width` moments are tried.
  void cut_recovery(const Scene& scene, const Lived& lived, std::size_t moment, SimDisk& disk, int depth,
                    std::size_t width, const std::string& how) {
    Machine machine(disk.clone());
    machine.disk().record_moments();
    if (auto store = open_fault_store(machine)) (void)everything(**store);
    const std::vector<std::unique_ptr<SimDisk>> moments = machine.disk().take_moments();
    const std::size_t stride = std::max<std::size_t>(1, moments.size() / width);
    for (std::size_t at = moment % stride; at < moments.size() && !HasFailure(); at += stride) {
      Machine again(moments[at]->clone());
      again.disk().crash(CrashPolicy::kAnything, moment * 100 + at);
      const std::string now = how + ", then before change " + std::to_string(at) + " of opening it, seed " +
                              std::to_string(moment * 100 + at);
      if (depth > 1) cut_recovery(scene, lived, moment, again.disk(), depth - 1, width, now);
      examine_new(again, scene, lived, moment, now);
    }
  }

  void report(const char* what) const {
    std::cout << what << ": " << tried_ << " crash states tried, " << images_.size()
              << " of them different\n";
  }

  std::uint64_t tried_ = 0;
  std::unordered_set<std::uint64_t> images_;
  std::unordered_set<std::uint64_t> checked_;
};

TEST_F(PowerCut, AtAnyMomentLosesNothingThatWasAcknowledged) {
  std::uint64_t left = crash_states_wanted();
  std::uint64_t scenes_left = scenes().size();
  for (const Scene& scene : scenes()) {
    const Lived lived = live(scene);
    const std::uint64_t share = left / scenes_left--;
    const std::size_t before = images_.size();
    for (std::size_t moment = 0; moment < lived.moments.size() && !HasFailure(); ++moment) {
      crash(scene, lived, moment, {CrashPolicy::kLoseUnsynced, 0});
      crash(scene, lived, moment, {CrashPolicy::kKeepUnsynced, 0});
    }
    const auto missing = [&] { return share - std::min<std::uint64_t>(share, images_.size() - before); };
    sweep_by_seed(scene, lived, 1, share / 3);
    sweep_in_order(scene, lived, missing());
    sweep_by_seed(scene, lived, 1'000'000, missing());
    std::cout << "  " << scene.name << ": " << lived.moments.size() << " moments, " << images_.size() - before
              << " different states\n";
    left -= std::min<std::uint64_t>(left, images_.size() - before);
  }
  report("power cuts");
  EXPECT_GE(images_.size(), crash_states_wanted() * 9 / 10);
}

TEST_F(PowerCut, DuringTheRecoveryFromAPowerCutLosesNothingEither) {
  const std::size_t stride = is_long_run() ? 1 : 9;
  for (const Scene& scene : scenes()) {
    const Lived lived = live(scene);
    for (std::size_t moment = 0; moment < lived.moments.size() && !HasFailure(); moment += stride) {
      Machine machine(lived.moments[moment]->clone());
      machine.disk().crash(CrashPolicy::kAnything, moment);
      cut_recovery(scene, lived, moment, machine.disk(), 2, 4, "seed " + std::to_string(moment));
    }
  }
  report("power cuts in recoveries");
}

// What the sweeps above must be able to see: a disk that only claims to have synced.
TEST_F(PowerCut, IsNoticedWhenSyncingDoesNothing) {
  const Scene& scene = scenes()[1];
  const Lived lived = live(scene);
  Machine machine(disk_before(scene));
  {
    const std::unique_ptr<BlockingStore> store = open_fault_store(machine).value();
    machine.disk().set_faults({.lying_sync = true});
    for (const Step& step : scene.steps) step(*store).value();
    machine.disk().crash(CrashPolicy::kLoseUnsynced);
  }
  EXPECT_NE(examine(machine, scene, lived, scene.steps.size(), false), "");
}

}  // namespace power_cut_test
}  // namespace tertulia::trial
