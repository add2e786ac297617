// Every single access to the disk fails, once or from then on, in every scene: with an I/O error, with a full
// disk, with half of a write done. A failed step has an error of its own kind and has changed nothing that a
// reader sees; what was acknowledged stays; the store works again when the disk does, or after it was opened
// again.
#include <algorithm>
#include <iostream>
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include "fault_bench.h"

namespace tertulia::trial {
namespace io_failure_test {

class IoFailure : public ::testing::Test {
 protected:
  struct Outcome {
    bool opened = false;
    std::size_t done = 0;
    // Of the step that failed.
    std::optional<Error> error;
  };

  // The whole scene on a disk that fails so; ends with the first failure, checked.
  Outcome run(const Scene& scene, const Lived& lived, const SimFaults& faults, const std::string& where) {
    Machine machine(scene.before.empty() ? std::make_unique<SimDisk>(1) : disk_before_.at(&scene)->clone());
    machine.disk().set_faults(faults);
    Outcome outcome;
    {
      auto opened = open_fault_store(machine);
      outcome.opened = opened.ok();
      if (!opened) outcome.error = opened.error();
      while (opened && outcome.done < scene.steps.size()) {
        Result<void> step = scene.steps[outcome.done](**opened);
        if (!step) {
          outcome.error = step.error();
          check_open_store(machine, **opened, scene, lived, outcome, where);
          break;
        }
        ++outcome.done;
      }
    }
    machine.disk().set_faults({});
    // What was not synced is lost on top of it.
    machine.disk().crash(CrashPolicy::kAnything, outcome.done);
    const std::string wrong =
        examine(machine, scene, lived, std::min(outcome.done, scene.steps.size()), true);
    EXPECT_EQ(wrong, "") << where;
    ++runs_;
    return outcome;
  }

  // The disk is well again, the store was not closed.
  void check_open_store(Machine& machine, BlockingStore& store, const Scene& scene, const Lived& lived,
                        Outcome& outcome, const std::string& where) {
    const ErrorCode code = outcome.error->code();
    EXPECT_TRUE(code == ErrorCode::kStorageIo || code == ErrorCode::kStorageFull)
        << where << ": " << name_of(code) << ": " << outcome.error->message();
    machine.disk().set_faults({});
    const Result<void> again = scene.steps[outcome.done](store);
    if (code == ErrorCode::kStorageFull) {
      EXPECT_TRUE(again) << where << ": there is room again: " << again.error().message();
    } else if (!again) {
      // Closed to writers. That is not forgotten while the store is open.
      EXPECT_EQ(again.error().code(), ErrorCode::kStorageIo) << where << again.error().message();
      EXPECT_FALSE(scene.steps[outcome.done](store)) << where;
      return;
    }
    if (!again) return;
    ++outcome.done;
    EXPECT_EQ(everything(store), lived.states[outcome.done]) << where;
  }

  void sweep(const std::string& what, const std::function<SimFaults(std::uint64_t)>& faults) {
    for (const Scene& scene : scenes()) {
      if (scene.name == "large records" && !is_long_run()) continue;
      const Lived lived = live(scene);
      if (!scene.before.empty()) disk_before_[&scene] = disk_before(scene);
      // Thinned for a store that is slow to open, each kind of failure beginning elsewhere.
      const std::uint64_t stride = is_long_run() ? 1 : io_failure_stride();
      for (std::uint64_t at = 1 + what.size() % stride; !HasFailure(); at += stride) {
        const std::string where = "scene '" + scene.name + "', " + what + " at " + std::to_string(at);
        const Outcome outcome = run(scene, lived, faults(at), where);
        if (at > lived.moments.size() * 8) break;
        if (!outcome.error && at > lived.moments.size()) break;
      }
    }
    std::cout << what << ": " << runs_ << " runs\n";
  }

  std::map<const Scene*, std::unique_ptr<SimDisk>> disk_before_;
  std::uint64_t runs_ = 0;
};

TEST_F(IoFailure, OfEveryChangeFromSomePointOnLosesNothing) {
  sweep("every change fails",
        [](std::uint64_t at) { return SimFaults{.fail_change = at, .keep_failing = true}; });
}

TEST_F(IoFailure, ThatLeavesHalfAWriteLosesNothing) {
  sweep("a write is cut",
        [](std::uint64_t at) { return SimFaults{.fail_change = at, .tear_failed_write = true}; });
}

TEST_F(IoFailure, OfAFullDiskOnceChangesNothing) {
  sweep("the disk is full once", [](std::uint64_t at) {
    return SimFaults{.fail_change = at, .fail_with = ErrorCode::kStorageFull, .tear_failed_write = true};
  });
}

TEST_F(IoFailure, OfAFullDiskFromSomePointOnChangesNothing) {
  sweep("the disk is full", [](std::uint64_t at) {
    return SimFaults{.fail_change = at,
                     .fail_with = ErrorCode::kStorageFull,
                     .tear_failed_write = true,
                     .keep_failing = true};
  });
}

TEST_F(IoFailure, OfAnyReadOnceLosesNothing) {
  sweep("a read fails once", [](std::uint64_t at) { return SimFaults{.fail_read = at}; });
}

TEST_F(IoFailure, OfEveryReadFromSomePointOnLosesNothing) {
  sweep("every read fails",
        [](std::uint64_t at) { return SimFaults{.fail_read = at, .keep_failing = true}; });
}

TEST_F(IoFailure, OfASyncOnceClosesTheStoreToWriters) {
  std::uint64_t closed = 0;
  for (const Scene& scene : scenes()) {
    for (std::uint64_t at = 1; !HasFailure(); ++at) {
      Machine machine(scene.before.empty() ? std::make_unique<SimDisk>(1) : disk_before(scene));
      const std::unique_ptr<BlockingStore> store = open_fault_store(machine).value();
      machine.disk().set_faults({.fail_sync = at});
      std::size_t done = 0;
      Result<void> step;
      while (done < scene.steps.size() && (step = scene.steps[done](*store))) ++done;
      if (done == scene.steps.size()) break;
      const std::string where = "scene '" + scene.name + "', sync " + std::to_string(at);
      EXPECT_EQ(step.error().code(), ErrorCode::kStorageIo) << where << step.error().message();
      // The disk is well again, and still nothing is written: what the failed sync has lost is not known.
      for (int attempt = 0; attempt < 3; ++attempt) {
        const Result<void> again = scene.steps[done](*store);
        ASSERT_FALSE(again) << where;
        EXPECT_EQ(again.error().code(), ErrorCode::kStorageIo) << where;
      }
      ++closed;
    }
  }
  EXPECT_GT(closed, 20U);
}

TEST_F(IoFailure, OfTooLittleRoomChangesNothingAndHealsWithRoom) {
  for (const Scene& scene : scenes()) {
    const Lived lived = live(scene);
    std::uint64_t used = 0;
    const std::uint64_t step_bytes = is_long_run() ? 7 : 211;
    for (std::uint64_t room = 0; !HasFailure(); room += step_bytes + room / 16) {
      Machine machine(scene.before.empty() ? std::make_unique<SimDisk>(1) : disk_before(scene));
      const std::unique_ptr<BlockingStore> store = open_fault_store(machine).value();
      if (room == 0) used = machine.disk().used_bytes();
      machine.disk().set_faults({.capacity = used + room});
      std::size_t done = 0;
      Result<void> step;
      while (done < scene.steps.size() && (step = scene.steps[done](*store))) ++done;
      const std::string where = "scene '" + scene.name + "', room for " + std::to_string(room);
      if (done == scene.steps.size()) break;
      ASSERT_EQ(step.error().code(), ErrorCode::kStorageFull) << where << step.error().message();
      // Erasing may stop half way; what it has begun cannot be found any more.
      const std::string found = everything(*store);
      if (scene.name == "erase" && found == lived.states[done + 1]) ++done;
      ASSERT_EQ(found, lived.states[done]) << where << ": reading needs no room";
      machine.disk().set_faults({});
      for (; done < scene.steps.size(); ++done) scene.steps[done](*store).value();
      ASSERT_EQ(everything(*store), lived.states.back()) << where;
      ++runs_;
    }
  }
  std::cout << runs_ << " disks with too little room\n";
}

}  // namespace io_failure_test
}  // namespace tertulia::trial
