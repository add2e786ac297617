#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tertulia/base/env.h"

namespace tertulia {
namespace real_env_test {

class RealFiles : public testing::Test {
 protected:
  RealFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tertulia-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~RealFiles() override { std::filesystem::remove_all(directory_); }

  FileSystem& files() { return real_env().files(); }
  Path in(const char* name) const { return directory_ / name; }

  Path directory_;
};

TEST_F(RealFiles, WhatIsWrittenIsReadBack) {
  auto file = files().open(in("a"), OpenMode::kCreateNew).value();
  file->write_at(0, "hello world").value();
  file->write_at(6, "there").value();
  file->sync().value();
  EXPECT_EQ(file->read_at(0, 100).value(), "hello there");
  EXPECT_EQ(file->read_at(6, 2).value(), "th");
  EXPECT_EQ(file->read_at(50, 2).value(), "");
  file->truncate(5).value();
  EXPECT_EQ(file->size().value(), 5U);
  EXPECT_EQ(read_file(files(), in("a")).value(), "hello");
}

TEST_F(RealFiles, AWriteBehindTheEndLeavesZeros) {
  auto file = files().open(in("a"), OpenMode::kCreate).value();
  file->write_at(3, "x").value();
  EXPECT_EQ(file->read_at(0, 10).value(), std::string("\0\0\0x", 4));
}

TEST_F(RealFiles, OpeningFollowsTheMode) {
  EXPECT_EQ(files().open(in("a"), OpenMode::kRead).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(files().open(in("a"), OpenMode::kReadWrite).error().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(files().open(in("a"), OpenMode::kCreate).ok());
  EXPECT_EQ(files().open(in("a"), OpenMode::kCreateNew).error().code(), ErrorCode::kAlreadyExists);
  auto reader = files().open(in("a"), OpenMode::kRead).value();
  EXPECT_EQ(reader->write_at(0, "x").error().code(), ErrorCode::kNotPermitted);
}

TEST_F(RealFiles, OnlyRegularFilesAreOpenedAndAPipeDoesNotBlock) {
  EXPECT_EQ(files().open(directory_, OpenMode::kRead).error().code(), ErrorCode::kNotPermitted);
  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  EXPECT_EQ(files().open(in("pipe"), OpenMode::kRead).error().code(), ErrorCode::kNotPermitted);
}

TEST_F(RealFiles, WhatIsMadeIsForTheOwnerAlone) {
  files().make_directory(in("x/y/z")).value();
  files().make_directory(in("x/y/z")).value();
  (void)files().open(in("x/f"), OpenMode::kCreate).value();
  struct stat status{};
  ASSERT_EQ(stat(in("x/y").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(stat(in("x/f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_FALSE(files().info(in("x/f"))->world_readable);
  ASSERT_EQ(chmod(in("x/f").c_str(), 0644), 0);
  EXPECT_TRUE(files().info(in("x/f"))->world_readable);
}

TEST_F(RealFiles, NamesAreListedRenamedAndRemoved) {
  for (const char* name : {"b", "a", "c"}) (void)files().open(in(name), OpenMode::kCreate).value();
  EXPECT_EQ(files().list(directory_).value(), (std::vector<std::string>{"a", "b", "c"}));
  files().rename(in("a"), in("b")).value();
  files().remove(in("c")).value();
  EXPECT_EQ(files().list(directory_).value(), std::vector<std::string>{"b"});
  files().sync_directory(directory_).value();
  EXPECT_EQ(files().remove(in("c")).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(files().list(in("none")).error().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(files().info(directory_)->is_directory);
}

TEST_F(RealFiles, ADirectoryWithEntriesIsNotRemoved) {
  files().make_directory(in("d/e")).value();
  EXPECT_EQ(files().remove(in("d")).error().code(), ErrorCode::kNotPermitted);
  files().remove(in("d/e")).value();
  files().remove(in("d")).value();
}

TEST_F(RealFiles, AFileWhereADirectoryShouldBeIsNamed) {
  (void)files().open(in("f"), OpenMode::kCreate).value();
  EXPECT_EQ(files().make_directory(in("f")).error().code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(files().open(in("f/g"), OpenMode::kCreate).error().code(), ErrorCode::kNotFound);
}

// In a child, because the limit on file sizes is the process's.
TEST_F(RealFiles, AShortWriteIsStorageFull) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto file = files().open(in("a"), OpenMode::kCreate).value();
    const Result<void> short_write = file->write_at(0, std::string(5000, 'x'));
    const Result<void> none = file->write_at(4096, "x");
    const bool right = !short_write && short_write.error().code() == ErrorCode::kStorageFull && !none &&
                       none.error().code() == ErrorCode::kStorageFull && file->size().value() == 4096;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(RealFiles, ALockIsRefusedWithTheNoteOfItsHolder) {
  auto lock = files().lock(in("LOCK"), "tertulia serve");
  ASSERT_TRUE(lock.ok());
  const Result<std::unique_ptr<FileLock>> refused = files().lock(in("LOCK"), "other");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kLocked);
  EXPECT_EQ(std::get<std::string>(*refused.error().fact("note")), "tertulia serve");
  EXPECT_EQ(std::get<std::int64_t>(*refused.error().fact("pid")), getpid());
  lock->reset();
  EXPECT_TRUE(files().lock(in("LOCK"), "other").ok());
}

TEST_F(RealFiles, ALockHoldsWhenItsFileIsRemovedOrReplaced) {
  auto lock = files().lock(in("LOCK"), "tertulia serve", LockReach::kDirectory);
  ASSERT_TRUE(lock.ok());
  files().remove(in("LOCK")).value();
  for (const char* note : {"second", "third"}) {
    const Result<std::unique_ptr<FileLock>> refused = files().lock(in("LOCK"), note, LockReach::kDirectory);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kLocked);
    files().open(in("LOCK"), OpenMode::kCreate).value();
  }
  lock->reset();
  EXPECT_TRUE(files().lock(in("LOCK"), "other", LockReach::kDirectory).ok());
  // Others in the same directory are not concerned.
  EXPECT_TRUE(files().lock(in("OTHER"), "other").ok());
}

TEST_F(RealFiles, TheLockOfAProcessThatDiedIsFree) {
  int ready[2];
  int hold[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(hold), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(hold[1]);  // so that it ends with the parent, whatever happens there
    auto lock = files().lock(in("LOCK"), "child");
    char byte = lock.ok() ? 'y' : 'n';
    (void)!write(ready[1], &byte, 1);
    (void)!read(hold[0], &byte, 1);
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const Result<std::unique_ptr<FileLock>> refused = files().lock(in("LOCK"), "parent");
  ASSERT_FALSE(refused);
  EXPECT_EQ(std::get<std::int64_t>(*refused.error().fact("pid")), child);
  EXPECT_NE(refused.error().message().find("process " + std::to_string(child) + " (child)"),
            std::string::npos)
      << refused.error().message();
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(files().lock(in("LOCK"), "parent").ok());
  for (int end : {ready[0], ready[1], hold[0], hold[1]}) close(end);
}

TEST_F(RealFiles, AFileIsReplacedInOneStep) {
  write_file_atomically(files(), in("a"), "one").value();
  write_file_atomically(files(), in("a"), "two").value();
  EXPECT_EQ(read_file(files(), in("a")).value(), "two");
  EXPECT_EQ(files().list(directory_).value(), std::vector<std::string>{"a"});
}

TEST_F(RealFiles, ReadingStopsAtTheLimit) {
  write_file_atomically(files(), in("a"), "12345").value();
  EXPECT_EQ(read_file(files(), in("a"), 5).value(), "12345");
  EXPECT_EQ(read_file(files(), in("a"), 4).error().code(), ErrorCode::kTooLarge);
}

TEST_F(RealFiles, AGeneratedFileWithoutASizeIsReadWhole) {
  EXPECT_GT(read_file(files(), "/proc/self/status").value().size(), 100U);
  EXPECT_EQ(read_file(files(), "/proc/self/status", 10).error().code(), ErrorCode::kTooLarge);
}

TEST_F(RealFiles, DescriptorsDoNotLeakIntoChildren) {
  auto file = files().open(in("a"), OpenMode::kCreate).value();
  auto lock = files().lock(in("LOCK"), "x").value();
  int found = 0;
  for (int number = 3; number < 256; ++number) {
    const Path link = "/proc/self/fd/" + std::to_string(number);
    std::error_code none;
    if (std::filesystem::read_symlink(link, none).string().starts_with(directory_.string())) {
      ++found;
      EXPECT_NE(fcntl(number, F_GETFD) & FD_CLOEXEC, 0);
    }
  }
  EXPECT_EQ(found, 2);
}

TEST(RealClock, MonotonicTimeDoesNotGoBackAndTheCalendarIsThisCentury) {
  Clock& clock = real_env().clock();
  const Instant before = clock.instant();
  EXPECT_GE(clock.instant(), before);
  EXPECT_GT(clock.now().time_since_epoch(), std::chrono::years(50));
}

}  // namespace real_env_test
}  // namespace tertulia
