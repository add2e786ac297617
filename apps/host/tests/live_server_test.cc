#include "host/live_server.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tertulia/base/testing/sim_env.h"
#include "tertulia/base/uuid.h"
#include "tertulia/store/memory_store.h"

namespace tertulia {
namespace live_server_test {

using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

const Path kData = "/data";
constexpr const char* kId = "01890a5d-ac96-774b-bcce-b302099a8057";

std::vector<std::string> names(FileSystem& files) { return files.list(kData).value(); }

TEST(LiveServer, RemovesOnlyWhatItMadeItselfWhenItStarts) {
  SimEnv env(1);
  ASSERT_TRUE(env.files().make_directory(kData));
  const std::string id = Uuid::parse(kId).value().text();
  const std::vector<std::string> ours{".backup-" + id + ".copy", ".backup-" + id + ".failed",
                                      ".backup-" + id + ".taken", "backup.ask"};
  const std::vector<std::string> theirs{
      "backup-monday.db",    "backup-" + id,        "backup-" + id + ".failed",
      ".backup-monday.copy", ".backup-" + id + "x", ".backup-.copy",
      "backup.ask.txt"};
  for (const std::string& name : ours) ASSERT_TRUE(write_file_atomically(env.files(), kData / name, "x"));
  for (const std::string& name : theirs) ASSERT_TRUE(write_file_atomically(env.files(), kData / name, "x"));
  const auto lock = note_serving(env.files(), kData, "http://here");
  ASSERT_TRUE(lock) << lock.error().message();
  EXPECT_THAT(names(env.files()), IsSupersetOf(theirs));
  for (const std::string& name : ours) EXPECT_THAT(names(env.files()), Not(testing::Contains(name)));
}

TEST(LiveServer, TellsThatThereIsNoCopyEvenWhereTheReasonCannotBeWritten) {
  SimEnv env(1);
  ASSERT_TRUE(env.files().make_directory(kData));
  const std::string id = Uuid::parse(kId).value().text();
  ASSERT_TRUE(write_file_atomically(env.files(), kData / "backup.ask", id));
  // No room for a byte; names can still be changed.
  env.disk().set_faults({.capacity = 0});
  const auto store = open_memory_store();
  answer_backup(env, kData, *store);
  EXPECT_THAT(names(env.files()), testing::Contains(".backup-" + id + ".failed"));
  EXPECT_THAT(names(env.files()), Not(testing::Contains("backup.ask")));
}

TEST(LiveServer, ThatDoesNotAnswerIsNotWaitedForForEver) {
  std::string pattern = std::filesystem::temp_directory_path() / "tertulia-live-XXXXXX";
  const Path directory = ::mkdtemp(pattern.data());
  const auto lock = note_serving(real_env().files(), directory, "http://here");
  ASSERT_TRUE(lock);
  ASSERT_NE(std::signal(SIGUSR1, SIG_IGN), SIG_ERR);
  const Result<Path> copy =
      ask_for_backup(real_env(), directory, {::getpid(), "http://here"}, std::chrono::milliseconds(0));
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().code(), ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(copy.error().message(), HasSubstr("log"));
  EXPECT_FALSE(real_env().files().info(directory / "backup.ask"));
  std::filesystem::remove_all(directory);
}

}  // namespace live_server_test
}  // namespace tertulia
