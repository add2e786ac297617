// Something is erased while a session is damaged: that one stops nobody, is named if it may still hold some
// of it, and goes with its owner.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/log.h"
#include "tertulia/store/json_store.h"

#include "erase_world.h"

namespace tertulia {
namespace erase_damage_test {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using trial::EraseWorld;
using trial::kCanary;

class EraseBesideDamage : public ::testing::Test {
 protected:
  EraseBesideDamage() { tell(); }

  std::shared_ptr<Store> open() {
    JsonStoreOptions options;
    options.log = Log(make_log_sink(stderr, LogFormat::kHuman), real_env().clock(), LogLevel::kOff);
    return open_json_store(*env_, "/data", options).value();
  }
  void tell() {
    env_ = std::make_unique<SimEnv>(1);
    EraseWorld world(open(), *env_);
    world.tell();
    said_ = world.said;
  }

  // Every file of the session whose name begins so.
  std::vector<Path> files_of(const std::string& session) { return files_below(Path("/data"), "/" + session); }
  std::vector<Path> files_below(const Path& path, const std::string& part) {
    std::vector<Path> found;
    for (const std::string& name : env_->files().list(path).value()) {
      const Path inside = path / name;
      if (env_->files().info(inside).value().is_directory) {
        for (Path& one : files_below(inside, part)) found.push_back(std::move(one));
      } else if (inside.string().find(part) != std::string::npos) {
        found.push_back(inside);
      }
    }
    return found;
  }
  void damage(const Path& path) {
    std::string bytes = read_file(env_->files(), path).value();
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    const std::unique_ptr<File> file = env_->files().open(path, OpenMode::kReadWrite).value();
    file->write_at(0, bytes).value();
    file->sync().value();
  }
  // Whether the file, or one of its kind in the other session, may hold texts of prompts.
  static bool holds_prompts(const Path& path) {
    return path.filename() == "receipt.jsonl" || path.filename() == "session.json" ||
           path.filename() == "branch.json";
  }

  std::unique_ptr<SimEnv> env_;
  MessageId said_{};
};

TEST_F(EraseBesideDamage, ASessionIsErasedWhateverIsDamagedInAnother) {
  const std::vector<Path> files = files_of("other~");
  ASSERT_FALSE(files.empty());
  for (const Path& path : files) {
    tell();
    damage(path);
    EraseWorld world(open(), *env_);
    const Result<ErasedMemory> report = world.memory().erase_session(EraseWorld::key());
    ASSERT_TRUE(report) << path << ": " << report.error().message();
    EXPECT_EQ(report->sessions.sessions, 1U) << path;
    EXPECT_EQ(report->items, 3U) << path;
    EXPECT_FALSE(report->unread) << path;
    if (holds_prompts(path)) EXPECT_THAT(report->damaged, Contains(EraseWorld::key("other").session)) << path;
    EXPECT_EQ(load(world.store(), EraseWorld::key()).error().code(), ErrorCode::kNoSession) << path;
  }
}

TEST_F(EraseBesideDamage, MessagesAndEpisodesAreErasedWhateverIsDamagedInAnotherSession) {
  for (const Path& path : files_of("other~")) {
    tell();
    damage(path);
    EraseWorld world(open(), *env_);
    EXPECT_EQ(
        world.memory().episodic().list(EraseWorld::key().tenant, EraseWorld::key().owner).value().size(), 2U)
        << path;
    const auto report = world.memory().erase_messages(EraseWorld::key(), std::vector{said_});
    ASSERT_TRUE(report) << path << ": " << report.error().message();
    EXPECT_EQ(report->messages, 1U) << path;
    if (holds_prompts(path)) EXPECT_THAT(report->damaged, Contains(EraseWorld::key("other").session)) << path;
  }
}

TEST_F(EraseBesideDamage, AReceiptThatCannotBeReadIsTold) {
  EraseWorld world(open(), *env_);
  note(world.store(),
       {.key = EraseWorld::key(),
        .conditions = {},
        .changes = {AddRecord{{.stream = {.kind = RecordKind::kReceipt, .branch = main_branch()},
                               .number = 1,
                               .time = env_->clock().now(),
                               .payload = R"({"items":7})"}}}})
      .value();
  const Result<ErasedMemory> report = world.memory().erase_messages(EraseWorld::key(), {&said_, 1});
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_THAT(report->damaged, Contains(EraseWorld::key().session));
}

TEST_F(EraseBesideDamage, ADamagedCollectionIsNamedAndKeepsNobody) {
  const std::vector<Path> files = files_of("~memory");
  ASSERT_FALSE(files.empty());
  for (const Path& path : files) {
    tell();
    damage(path);
    EraseWorld world(open(), *env_);
    const Result<ErasedMemory> report = world.memory().erase_session(EraseWorld::key());
    ASSERT_TRUE(report) << path << ": " << report.error().message();
    EXPECT_EQ(report->sessions.sessions, 1U) << path;
    // lengths.json only helps to notice what is missing from others.
    if (path.filename() != "transcript.jsonl" && path.filename() != "branch.json" &&
        path.filename() != "lengths.json") {
      EXPECT_THAT(report->damaged, Not(IsEmpty())) << path;
    }
  }
}

TEST_F(EraseBesideDamage, OfADamagedSessionWhatCanBeReadIsForgottenAndTheRestIsTold) {
  Path transcript;
  for (const Path& path : files_of("s~")) {
    if (path.filename() == "transcript.jsonl" && path.string().find("/main~") != std::string::npos) {
      transcript = path;
    }
  }
  const std::string bytes = read_file(env_->files(), transcript).value();
  {
    // The last turn, which nothing was remembered from.
    const std::unique_ptr<File> file = env_->files().open(transcript, OpenMode::kReadWrite).value();
    file->write_at(bytes.size() - 40, "x").value();
    file->sync().value();
  }
  EraseWorld world(open(), *env_);
  const ErasedMemory report = world.memory().erase_session(EraseWorld::key()).value();
  EXPECT_TRUE(report.unread);
  EXPECT_EQ(report.items, 3U);
  EXPECT_EQ(report.sessions.sessions, 1U);
  EXPECT_THAT(report.damaged, Not(Contains(EraseWorld::key().session)));
}

TEST_F(EraseBesideDamage, TheOwnerGoesWithEverythingWhicheverFileIsDamaged) {
  const std::vector<Path> files = files_below("/data/sessions", "/");
  for (const Path& path : files) {
    tell();
    damage(path);
    EraseWorld world(open(), *env_);
    const auto report = world.memory().erase_owner(EraseWorld::key().tenant, EraseWorld::key().owner);
    ASSERT_TRUE(report) << path << ": " << report.error().message();
    EXPECT_THAT(report->damaged, IsEmpty()) << path;
    EXPECT_THAT(env_->files().list("/data/sessions").value(), IsEmpty()) << path;
    EXPECT_THAT(verify(world.store()).value().problems, IsEmpty()) << path;
  }
}

}  // namespace erase_damage_test
}  // namespace tertulia
