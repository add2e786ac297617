#include "tertulia/base/testing/sim_disk.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_env.h"

namespace tertulia {
namespace sim_disk_test {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::string content(SimDisk& disk, const Path& path) {
  Result<std::string> text = read_file(disk, path);
  return text ? *text : "(" + std::string(name_of(text.error().code())) + ")";
}

// A file that has survived everything up to here.
std::unique_ptr<File> durable_file(SimDisk& disk, const Path& path, std::string_view text) {
  auto file = disk.open(path, OpenMode::kCreate).value();
  file->write_at(0, text).value();
  file->sync().value();
  disk.sync_directory(path.parent_path()).value();
  return file;
}

// Every state that crashes with kAnything lead to, as `observe` sees them.
template <class Observe>
std::set<std::string> crash_states(const SimDisk& disk, int tries, Observe observe) {
  std::set<std::string> states;
  for (int choice = 0; choice < tries; ++choice) {
    auto copy = disk.clone();
    copy->crash(CrashPolicy::kAnything, static_cast<std::uint64_t>(choice));
    states.insert(observe(*copy));
  }
  return states;
}

TEST(SimDisk, BehavesLikeAFileSystem) {
  SimDisk disk(1);
  disk.make_directory("/d/e").value();
  auto file = disk.open("/d/e/f", OpenMode::kCreateNew).value();
  file->write_at(5000, "end").value();
  file->write_at(0, "begin").value();
  EXPECT_EQ(file->size().value(), 5003U);
  EXPECT_EQ(file->read_at(4998, 100).value(), std::string("\0\0end", 5));
  file->truncate(2).value();
  file->truncate(4).value();
  EXPECT_EQ(content(disk, "/d/e/f"), std::string("be\0\0", 4));
  EXPECT_EQ(disk.open("/d/e/f", OpenMode::kCreateNew).error().code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(disk.open("/d/x", OpenMode::kRead).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(disk.open("/x/y", OpenMode::kCreate).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(disk.open("/d", OpenMode::kRead).error().code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(disk.remove("/d/e").error().code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(disk.make_directory("/d/e/f").error().code(), ErrorCode::kAlreadyExists);
  disk.rename("/d/e", "/g").value();
  EXPECT_THAT(disk.list("/").value(), ElementsAre("d", "g"));
  EXPECT_EQ(disk.rename("/g", "/g/h").error().code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(disk.rename("/g/f", "/d").error().code(), ErrorCode::kNotPermitted);
  disk.remove("/g/f").value();
  EXPECT_EQ(file->read_at(0, 2).value(), "be") << "an open file outlives its name";
}

TEST(SimDisk, OneFileHasManySpellings) {
  SimDisk disk(1);
  disk.make_directory("/a/b").value();
  durable_file(disk, "/a/b/f", "one");
  for (const char* path : {"/a/b/f", "//a///b/f", "/./a/b/./f", "/a/c/../b/f", "/../a/b/f", "a/b/f"}) {
    EXPECT_EQ(content(disk, path), "one") << path;
  }
  EXPECT_THAT(disk.list("/a/b/").value(), ElementsAre("f"));
  EXPECT_THAT(disk.list("/a/b/..").value(), ElementsAre("b"));
}

TEST(SimDisk, AReadOnlyFileRefusesWrites) {
  SimDisk disk(1);
  (void)durable_file(disk, "/f", "x");
  auto file = disk.open("/f", OpenMode::kRead).value();
  EXPECT_EQ(file->write_at(0, "y").error().code(), ErrorCode::kNotPermitted);
}

TEST(SimDisk, WhatWasSyncedSurvivesEveryCrash) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", "safe");
  file->write_at(4, " unsafe").value();
  const auto states = crash_states(disk, 200, [](SimDisk& copy) { return content(copy, "/f").substr(0, 4); });
  EXPECT_THAT(states, ElementsAre("safe"));
}

TEST(SimDisk, LosingEverythingUnsyncedLeavesTheSyncedImage) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", "old");
  file->write_at(0, "new").value();
  (void)disk.open("/g", OpenMode::kCreate).value();
  EXPECT_EQ(disk.unsynced(), 2U);
  disk.crash(CrashPolicy::kLoseUnsynced);
  EXPECT_EQ(content(disk, "/f"), "old");
  EXPECT_THAT(disk.list("/").value(), ElementsAre("f"));
  EXPECT_EQ(disk.unsynced(), 0U);
}

TEST(SimDisk, AKilledProcessLosesNothingButNothingBecomesDurable) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", "old");
  file->write_at(0, "new").value();
  disk.crash(CrashPolicy::kKeepUnsynced);
  EXPECT_EQ(content(disk, "/f"), "new");
  disk.crash(CrashPolicy::kLoseUnsynced);
  EXPECT_EQ(content(disk, "/f"), "old");
}

TEST(SimDisk, UnsyncedWritesMayBeKeptInAnySubset) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", "....");
  file->write_at(0, "a").value();
  file->write_at(1, "b").value();
  const auto states = crash_states(disk, 500, [](SimDisk& copy) { return content(copy, "/f").substr(0, 2); });
  for (const char* state : {"..", "a.", ".b", "ab"}) EXPECT_THAT(states, Contains(state));
}

TEST(SimDisk, OverlappingWritesKeepTheirOrder) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", ".");
  file->write_at(0, "a").value();
  file->write_at(0, "b").value();
  auto states = crash_states(disk, 500, [](SimDisk& copy) { return content(copy, "/f"); });
  states.erase(std::string(1, '\0'));
  EXPECT_THAT(states, ElementsAre(".", "a", "b"));
  disk.crash(CrashPolicy::kKeepUnsynced);
  EXPECT_EQ(content(disk, "/f"), "b");
}

TEST(SimDisk, AWriteMayBeTornAtAnyByteAndAtSectors) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", std::string(2048, '.'));
  file->write_at(100, std::string(1500, 'x')).value();
  std::set<std::size_t> prefixes;
  bool starts_late = false;
  bool has_zeros = false;
  (void)crash_states(disk, 2000, [&](SimDisk& copy) {
    const std::string text = content(copy, "/f");
    has_zeros = has_zeros || text.find('\0') != std::string::npos;
    const std::size_t first = text.find('x');
    if (first == 100) prefixes.insert(text.find_first_not_of('x', 100));
    if (first != std::string::npos && first > 100) {
      EXPECT_EQ(first % 512, 0U);
      starts_late = true;
    }
    return std::string();
  });
  EXPECT_GT(prefixes.size(), 100U);
  EXPECT_THAT(prefixes, Contains(512U));
  EXPECT_THAT(prefixes, Contains(1536U));
  EXPECT_THAT(prefixes, Contains(1600U));
  EXPECT_TRUE(starts_late);
  EXPECT_TRUE(has_zeros);
}

TEST(SimDisk, AnExtentMayBeLeftZeroFilled) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", "ab");
  file->write_at(2, "cd").value();
  const auto states = crash_states(disk, 500, [](SimDisk& copy) { return content(copy, "/f"); });
  EXPECT_THAT(states, Contains(std::string("ab\0\0", 4)));
  EXPECT_THAT(states, Contains("abc"));
}

TEST(SimDisk, ATruncationMayBeLost) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", "abcd");
  file->truncate(1).value();
  EXPECT_THAT(crash_states(disk, 100, [](SimDisk& copy) { return content(copy, "/f"); }),
              ElementsAre("a", "abcd"));
}

TEST(SimDisk, ANewNameIsLostUntilItsDirectoryIsSynced) {
  SimDisk disk(1);
  auto file = disk.open("/f", OpenMode::kCreate).value();
  file->write_at(0, "x").value();
  file->sync().value();
  const auto states = crash_states(disk, 100, [](SimDisk& copy) { return content(copy, "/f"); });
  EXPECT_THAT(states, ElementsAre("(not_found)", "x"));
  disk.sync_directory("/").value();
  EXPECT_THAT(crash_states(disk, 100, [](SimDisk& copy) { return content(copy, "/f"); }), ElementsAre("x"));
}

TEST(SimDisk, AFileIsLostWithItsUnsyncedDirectory) {
  SimDisk disk(1);
  disk.make_directory("/d").value();
  (void)durable_file(disk, "/d/f", "x");
  disk.crash(CrashPolicy::kLoseUnsynced);
  EXPECT_THAT(disk.list("/").value(), IsEmpty());
}

TEST(SimDisk, ARenameMayArriveBeforeTheData) {
  SimDisk disk(1);
  (void)durable_file(disk, "/f", "old");
  auto file = disk.open("/f.new", OpenMode::kCreate).value();
  file->write_at(0, "new").value();
  disk.rename("/f.new", "/f").value();
  const auto states = crash_states(disk, 1000, [](SimDisk& copy) { return content(copy, "/f"); });
  for (const char* state : {"old", "", "new"}) EXPECT_THAT(states, Contains(state));
}

TEST(SimDisk, ReplacingAFileAtomicallyNeverShowsAMixture) {
  SimDisk disk(1);
  (void)durable_file(disk, "/f", "old");
  const std::uint64_t before = disk.changes();
  auto whole = disk.clone();
  write_file_atomically(*whole, "/f", "new").value();
  const std::uint64_t steps = whole->changes() - before;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    auto cut = disk.clone();
    cut->set_faults({.power_off_after = step});
    const bool done = write_file_atomically(*cut, "/f", "new").ok();
    EXPECT_EQ(done, step == steps);
    const auto states = crash_states(*cut, 200, [](SimDisk& copy) { return content(copy, "/f"); });
    for (const std::string& state : states) EXPECT_TRUE(state == "new" || (!done && state == "old")) << state;
  }
}

TEST(SimDisk, ANameIsNotKeptWithoutWhatHappenedToItBefore) {
  SimDisk disk(1);
  (void)durable_file(disk, "/a", "first");
  disk.rename("/a", "/b").value();
  auto second = disk.open("/a", OpenMode::kCreate).value();
  second->write_at(0, "second").value();
  second->sync().value();
  const auto states =
      crash_states(disk, 500, [](SimDisk& copy) { return content(copy, "/a") + " " + content(copy, "/b"); });
  EXPECT_THAT(states, ElementsAre("(not_found) first", "first (not_found)", "second first"));
}

TEST(SimDisk, SyncingOneDirectoryOfARenameBringsBothEndsAlong) {
  SimDisk disk(1);
  disk.make_directory("/x").value();
  disk.make_directory("/y").value();
  disk.sync_directory("/").value();
  auto file = disk.open("/x/f", OpenMode::kCreate).value();
  file->sync().value();
  disk.rename("/x/f", "/y/g").value();
  disk.sync_directory("/y").value();
  disk.crash(CrashPolicy::kLoseUnsynced);
  EXPECT_THAT(disk.list("/x").value(), IsEmpty());
  EXPECT_THAT(disk.list("/y").value(), ElementsAre("g"));
}

TEST(SimDisk, OpenFilesAreDeadAndLocksAreFreeAfterACrash) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", "x");
  auto lock = disk.lock("/LOCK", "first").value();
  const auto refused = disk.lock("/LOCK", "second");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kLocked);
  EXPECT_EQ(std::get<std::string>(*refused.error().fact("note")), "first");
  disk.crash(CrashPolicy::kAnything);
  EXPECT_EQ(file->read_at(0, 1).error().code(), ErrorCode::kStorageIo);
  auto second = disk.lock("/LOCK", "second");
  ASSERT_TRUE(second.ok());
  lock.reset();
  EXPECT_FALSE(disk.lock("/LOCK", "third")) << "the old holder must not free the new lock";
}

TEST(SimDisk, ALockHoldsWhenItsFileIsRemoved) {
  SimDisk disk(1);
  const auto lock = disk.lock("/LOCK", "first").value();
  disk.remove("/LOCK").value();
  EXPECT_EQ(disk.lock("/LOCK", "second").error().code(), ErrorCode::kLocked);
}

TEST(SimDisk, PowerGoesOffAfterTheGivenChange) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", "ab");
  disk.set_faults({.power_off_after = 1});
  EXPECT_FALSE(disk.is_off());
  EXPECT_EQ(file->read_at(0, 2).value(), "ab");
  file->write_at(0, "x").value();
  EXPECT_TRUE(disk.is_off());
  EXPECT_EQ(file->sync().error().code(), ErrorCode::kStorageIo);
  EXPECT_EQ(file->read_at(0, 2).error().code(), ErrorCode::kStorageIo);
  EXPECT_EQ(disk.list("/").error().code(), ErrorCode::kStorageIo);
  disk.crash(CrashPolicy::kLoseUnsynced);
  EXPECT_FALSE(disk.is_off());
  EXPECT_EQ(content(disk, "/f"), "ab");
}

TEST(SimDisk, TheNthReadOrWriteFailsOnceOrForEver) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", "ab");
  disk.set_faults({.fail_read = 2, .fail_write = 1});
  EXPECT_TRUE(file->read_at(0, 1).ok());
  EXPECT_EQ(file->read_at(0, 1).error().code(), ErrorCode::kStorageIo);
  EXPECT_TRUE(file->read_at(0, 1).ok());
  EXPECT_EQ(file->write_at(0, "x").error().code(), ErrorCode::kStorageIo);
  EXPECT_EQ(content(disk, "/f"), "ab");
  EXPECT_TRUE(file->write_at(0, "x").ok());
  disk.set_faults({.fail_write = 1, .keep_failing = true});
  EXPECT_FALSE(file->write_at(0, "x").ok());
  EXPECT_FALSE(file->truncate(0).ok());
}

TEST(SimDisk, AFullDiskCutsAWriteShortAndRecoversWhenSpaceReturns) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", "1234");
  disk.set_faults({.capacity = 6});
  const Result<void> full = file->write_at(4, "56789");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code(), ErrorCode::kStorageFull);
  EXPECT_EQ(content(disk, "/f"), "123456");
  file->truncate(4).value();
  file->write_at(0, "abcd").value();
  auto other = disk.open("/g", OpenMode::kCreate).value();
  EXPECT_FALSE(other->write_at(0, "xyz").ok());
  disk.remove("/f").value();
  EXPECT_TRUE(other->write_at(0, "xyz").ok());
  EXPECT_EQ(other->write_at(1ULL << 60U, "x").error().code(), ErrorCode::kStorageFull);
  EXPECT_EQ(other->truncate(1ULL << 60U).error().code(), ErrorCode::kStorageFull);
}

TEST(SimDisk, AfterAFailedSyncTheNextOneSucceedsAndTheDataIsGone) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", "old.");
  disk.set_faults({.fail_sync = 1});
  file->write_at(0, "new").value();
  EXPECT_EQ(file->sync().error().code(), ErrorCode::kStorageIo);
  EXPECT_EQ(content(disk, "/f"), "new.");
  file->write_at(3, "!").value();
  EXPECT_TRUE(file->sync().ok());
  EXPECT_EQ(content(disk, "/f"), "new!");
  const auto states = crash_states(disk, 50, [](SimDisk& copy) { return content(copy, "/f"); });
  EXPECT_THAT(states, ElementsAre("old!"));
}

TEST(SimDisk, ALyingSyncLosesWhatItPromised) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", "old");
  disk.set_faults({.lying_sync = true});
  file->write_at(0, "new").value();
  file->sync().value();
  disk.crash(CrashPolicy::kLoseUnsynced);
  EXPECT_EQ(content(disk, "/f"), "old");
}

TEST(SimDisk, ACloneIsIndependent) {
  SimDisk disk(1);
  auto file = durable_file(disk, "/f", std::string(10000, 'a'));
  auto copy = disk.clone();
  file->write_at(0, "original").value();
  auto theirs = copy->open("/f", OpenMode::kReadWrite).value();
  theirs->write_at(9000, "copy").value();
  theirs->sync().value();
  EXPECT_EQ(content(disk, "/f").substr(0, 9), "originala");
  EXPECT_EQ(content(disk, "/f").substr(9000, 4), "aaaa");
  EXPECT_EQ(content(*copy, "/f").substr(0, 4), "aaaa");
  EXPECT_EQ(content(*copy, "/f").substr(9000, 4), "copy");
  disk.crash(CrashPolicy::kLoseUnsynced);
  EXPECT_EQ(content(disk, "/f"), std::string(10000, 'a'));
}

TEST(SimDisk, AnOpenFileMayOutliveItsDisk) {
  auto disk = std::make_unique<SimDisk>(1);
  auto file = durable_file(*disk, "/f", "x");
  disk.reset();
  EXPECT_EQ(file->read_at(0, 1).value(), "x");
}

// A little life that draws its steps from the environment itself.
std::pair<std::uint64_t, std::string> live(std::uint64_t seed) {
  SimEnv env(seed);
  for (int step = 0; step < 200; ++step) {
    const Path path = "/" + std::string(1, static_cast<char>('a' + env.random().below(4)));
    auto file = env.files().open(path, OpenMode::kCreate).value();
    file->write_at(env.random().below(1000), std::string(env.random().below(2000), 'x')).value();
    if (env.random().below(3) == 0) file->sync().value();
    if (env.random().below(3) == 0) env.files().sync_directory("/").value();
    if (env.random().below(10) == 0) env.files().rename(path, "/z").value();
    if (env.random().below(20) == 0) env.disk().crash(CrashPolicy::kAnything);
  }
  std::string end;
  const std::vector<std::string> names = env.files().list("/").value();
  for (const std::string& name : names) end += name + read_file(env.files(), name).value();
  return {env.disk().trace_hash(), end};
}

TEST(SimEnv, OneSeedIsOneRun) {
  EXPECT_EQ(live(1), live(1));
  EXPECT_NE(live(1).first, live(2).first);
}

TEST(SimClock, AdvancingMovesBothClocksAndJumpingOnlyTheCalendar) {
  SimEnv env(1);
  const Time start = env.clock().now();
  const Instant begin = env.clock().instant();
  env.sim_clock().advance(std::chrono::seconds(5));
  EXPECT_EQ(env.clock().now() - start, std::chrono::seconds(5));
  EXPECT_EQ(env.clock().instant() - begin, std::chrono::seconds(5));
  env.sim_clock().jump(std::chrono::seconds(-60));
  EXPECT_EQ(env.clock().now() - start, std::chrono::seconds(-55));
  env.sim_clock().set(start);
  EXPECT_EQ(env.clock().now(), start);
  EXPECT_EQ(env.clock().instant() - begin, std::chrono::seconds(5));
}

TEST(SimDisk, OrderlyCrashesTearEachUnsyncedWriteAtEachByteOnce) {
  SimDisk disk(1);
  const std::unique_ptr<File> file = disk.open("/a", OpenMode::kCreate).value();
  disk.sync_directory("/").value();
  file->write_at(0, "one").value();
  file->write_at(3, "four").value();
  // Three bytes and four, each write once as zeros, and once everything.
  ASSERT_EQ(disk.orderly_crashes(), 10U);
  std::set<std::string> contents;
  for (std::uint64_t choice = 0; choice < 10; ++choice) {
    const std::unique_ptr<SimDisk> copy = disk.clone();
    copy->crash(CrashPolicy::kOrderly, choice);
    contents.insert(read_file(*copy, "/a").value());
  }
  EXPECT_EQ(contents.size(), 10U);
  EXPECT_TRUE(contents.contains("onefour"));
  EXPECT_TRUE(contents.contains("onefo"));
  EXPECT_TRUE(contents.contains(std::string("one\0\0\0\0", 7)));
}

TEST(SimDisk, MomentsAreTheDiskBeforeEachChange) {
  SimDisk disk(1);
  disk.record_moments();
  const std::unique_ptr<File> file = disk.open("/a", OpenMode::kCreate).value();
  file->write_at(0, "x").value();
  file->sync().value();
  const std::vector<std::unique_ptr<SimDisk>> moments = disk.take_moments();
  ASSERT_EQ(moments.size(), 3U);
  EXPECT_FALSE(moments[0]->info("/a"));
  EXPECT_EQ(moments[1]->info("/a").value().size, 0U);
  EXPECT_EQ(moments[2]->info("/a").value().size, 1U);
  EXPECT_EQ(moments[2]->content_hash(), disk.content_hash());
  EXPECT_NE(moments[1]->content_hash(), disk.content_hash());
}

TEST(SimDisk, AnyChangeCanFailOnceOrForEverAndTearItsWrite) {
  SimDisk disk(1);
  const std::unique_ptr<File> file = disk.open("/a", OpenMode::kCreate).value();
  disk.set_faults({.fail_change = 1, .fail_with = ErrorCode::kStorageFull, .tear_failed_write = true});
  EXPECT_EQ(file->write_at(0, "abcd").error().code(), ErrorCode::kStorageFull);
  EXPECT_EQ(read_file(disk, "/a").value(), "ab");
  EXPECT_TRUE(file->sync());
  disk.set_faults({.fail_change = 2, .keep_failing = true});
  EXPECT_TRUE(disk.rename("/a", "/b"));
  EXPECT_EQ(disk.sync_directory("/").error().code(), ErrorCode::kStorageIo);
  EXPECT_EQ(disk.remove("/b").error().code(), ErrorCode::kStorageIo);
}

}  // namespace sim_disk_test
}  // namespace tertulia
