// What is the JSON store's own: its directory, who may open it, and what it writes.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tertulia/store/session_store.h"

#include "json/checked_text.h"
#include "json/names.h"
#include "json_fixture.h"

namespace tertulia::trial {
namespace json_store_test {

using Trial = StoreTrial;

AppendTurn question(std::uint64_t n, std::string_view text = "question") {
  return {.branch = Trial::branch("main"), .turn = Trial::turn(n, text)};
}

Result<std::unique_ptr<JsonDirectory>> open_at(Env& env, const Path& path) {
  return JsonDirectory::open(env, path, quiet_options());
}

TEST(JsonStore, DirectoryNamesAreReadableAndNeverTheIdItself) {
  const std::string name = directory_name(Trial::key("holiday-plans"));
  EXPECT_EQ(name.substr(0, 14), "holiday-plans~");
  EXPECT_EQ(name.size(), 14U + 16U);
  EXPECT_NE(name, directory_name(Trial::key("holiday-plans", "another")));
  EXPECT_NE(directory_name(Trial::key("ABC")).substr(4), directory_name(Trial::key("abc")).substr(4));
  EXPECT_LE(directory_name(Trial::key(std::string(128, 'x'))).size(), 64U);
}

TEST(JsonStore, TurnIsOneAppendToOneFileHoweverLongTheHistory) {
  SimEnv env(1);
  auto store = open_at(env, "/data").value();
  const SessionKey key = Trial::key();
  store->commit(Trial::first(key)).value();
  for (std::uint64_t n = 0; n < 50; ++n) {
    const std::uint64_t before = env.disk().changes();
    store->commit(Trial::of(key, Revision{n + 1}, {question(2 * n)})).value();
    EXPECT_EQ(env.disk().changes() - before, 2U) << "one write, one sync";
    EXPECT_EQ(env.disk().unsynced(), 0U);
  }
}

TEST(JsonStore, AStateThatIsNoJsonIsRefusedAndTheStoreGoesOn) {
  SimEnv env(1);
  auto store = open_at(env, "/data").value();
  const SessionKey key = Trial::key();
  store->commit(Trial::first(key)).value();
  BranchHead fork = Trial::head(Trial::branch("fork"));
  fork.state["plan"] = JsonText::written("{no json");
  const Result<Revision> refused = store->commit(Trial::of(key, Revision{1}, {PutBranch{fork}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("branch 'fork'"), std::string::npos) << refused.error().message();
  fork.state.clear();
  EXPECT_EQ(store->commit(Trial::of(key, Revision{1}, {PutBranch{fork}})).value(), Revision{2});
}

TEST(JsonStore, ABranchThatHasBecomeShorterIsAConflictAndNotTheEndOfTheProgram) {
  SimEnv env(1);
  JsonStoreOptions options = quiet_options();
  const auto store = open_json_store(env, "/data", options).value();
  const SessionKey key = Trial::key();
  commit(*store, Trial::first(key)).value();
  commit(*store, Trial::of(key, Revision{1}, {question(0)})).value();
  const BranchHead head = load(*store, key).value().branches.front();
  EXPECT_EQ(load_branch_until(*store, key, head, head.message_count).value().transcript.size(), 2U);
  EXPECT_EQ(load_branch_until(*store, key, head, 1).value().transcript.size(), 1U);
  EXPECT_EQ(load_branch_until(*store, key, head, 3).error().code(), ErrorCode::kRevisionConflict);
}

TEST(JsonStore, ForkStoresNoMessageAndLittleElse) {
  SimEnv env(1);
  auto store = open_at(env, "/data").value();
  const SessionKey key = Trial::key();
  store->commit(Trial::first(key)).value();
  store->commit(Trial::of(key, Revision{1}, {question(0, std::string(5'000, 'x'))})).value();
  const BranchHead fork = Trial::head(Trial::branch("fork"), ForkOrigin{Trial::branch("main"), 1});
  store->commit(Trial::of(key, Revision{2}, {PutBranch{fork}})).value();
  std::uint64_t bytes = 0;
  for (const Path& path : files_below(env.files(), "/data")) {
    if (path.string().find("fork~") != std::string::npos) bytes += env.files().info(path).value().size;
  }
  EXPECT_GT(bytes, 0U);
  EXPECT_LE(bytes, 1'024U);
}

TEST(JsonStore, ForeignDirectoryIsRefusedAndLeftAlone) {
  SimEnv env(1);
  env.files().make_directory("/photos").value();
  overwrite(env.files(), "/photos/cat.jpg", "meow");
  EXPECT_EQ(open_at(env, "/photos").error().code(), ErrorCode::kForeignData);
  EXPECT_EQ(env.files().list("/photos").value(), std::vector<std::string>{"cat.jpg"});
}

TEST(JsonStore, NewerFormatIsRefusedAndLeftAlone) {
  SimEnv env(1);
  open_at(env, "/data").value();
  const std::string newer =
      sealed_document("tertulia JSON store", {{"format", "tertulia JSON store"}, {"version", 2}});
  overwrite(env.files(), "/data/tertulia.json", newer);
  EXPECT_EQ(open_at(env, "/data").error().code(), ErrorCode::kNeedsVersion);
  EXPECT_EQ(read_file(env.files(), "/data/tertulia.json").value(), newer);
}

TEST(JsonStore, LostSessionsDirectoryIsDamageAndNotAnEmptyStore) {
  SimEnv env(1);
  open_at(env, "/data").value();
  env.files().remove("/data/sessions").value();
  EXPECT_EQ(open_at(env, "/data").error().code(), ErrorCode::kDamaged);
}

TEST(JsonStore, SecondProcessIsRefusedWithThePidOfTheFirst) {
  const JsonTempDirectory directory;
  auto store = open_at(real_env(), directory.path() / "data").value();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto second = open_at(real_env(), directory.path() / "data");
    const bool refused = !second && second.error().code() == ErrorCode::kLocked &&
                         second.error().message().find(std::to_string(::getppid())) != std::string::npos;
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(JsonStore, SecondOpeningIsRefusedAlsoWhenTheLockFileIsGone) {
  const JsonTempDirectory directory;
  const auto store = open_at(real_env(), directory.path() / "data").value();
  std::filesystem::remove(directory.path() / "data" / "lock");
  EXPECT_EQ(open_at(real_env(), directory.path() / "data").error().code(), ErrorCode::kLocked);
}

TEST(JsonStore, AFullDiskIsAStateThatEndsWhenThereIsRoom) {
  SimEnv env(1);
  const auto store = open_at(env, "/data").value();
  store->commit(StoreTrial::first(StoreTrial::key())).value();
  EXPECT_TRUE(store->check_writable());
  env.disk().set_faults({.capacity = env.disk().used_bytes() + 10});
  EXPECT_EQ(store->commit(StoreTrial::first(StoreTrial::key("second"))).error().code(),
            ErrorCode::kStorageFull);
  EXPECT_EQ(store->check_writable().error().code(), ErrorCode::kStorageFull);
  env.disk().set_faults({});
  EXPECT_TRUE(store->check_writable());
  EXPECT_FALSE(env.files().info("/data/room.new"));
}

TEST(JsonStore, SymbolicLinksDoNotLeadOut) {
  const JsonTempDirectory directory;
  const Path root = directory.path() / "data";
  const SessionKey key = Trial::key();
  open_at(real_env(), root).value()->commit(Trial::first(key)).value();
  const Path session = root / "sessions" / directory_name(key);
  const Path outside = directory.path() / "outside";
  std::filesystem::rename(session, outside);
  std::filesystem::create_symlink(outside, session);
  auto store = open_at(real_env(), root).value();
  EXPECT_EQ(store->load(key).error().code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(store->commit(Trial::first(key)).error().code(), ErrorCode::kNotPermitted);

  std::filesystem::remove(session);
  std::filesystem::rename(outside, session);
  const Path file = session / branch_path(Trial::branch("main")) / "transcript.jsonl";
  std::filesystem::rename(file, outside);
  std::filesystem::create_symlink(outside, file);
  store = nullptr;
  store = open_at(real_env(), root).value();
  EXPECT_FALSE(store->commit(Trial::of(key, Revision{1}, {question(0)})));
  EXPECT_EQ(std::filesystem::file_size(outside), std::filesystem::file_size(file)) << "nothing was written";
}

TEST(JsonStore, FilesAreForTheOwnerAlone) {
  const JsonTempDirectory directory;
  auto store = open_at(real_env(), directory.path() / "data").value();
  store->commit(Trial::first(Trial::key())).value();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path() / "data")) {
    const auto others = entry.status().permissions() &
                        (std::filesystem::perms::group_all | std::filesystem::perms::others_all);
    EXPECT_EQ(others, std::filesystem::perms::none) << entry.path();
  }
}

TEST(JsonStore, ErasedTextIsInNoFile) {
  const JsonTempDirectory directory;
  const std::string canary = "the canary sings at noon";
  auto store = open_at(real_env(), directory.path() / "data").value();
  for (const std::string_view owner : {"o", "another"}) {
    const SessionKey key = Trial::key("s", owner);
    store->commit(Trial::first(key)).value();
    const StreamId journal{.kind = RecordKind::kJournal, .branch = Trial::branch("main")};
    const std::string text = owner == "o" ? canary : "something else";
    store->note({.key = key, .changes = {AddRecord{Trial::record(journal, 1, text)}}}).value();
    store->commit(Trial::of(key, Revision{1}, {question(0, text), DropRecords{journal}})).value();
  }
  const EraseReport report =
      store->erase({.tenant = Trial::key().tenant, .owner = Trial::key().owner}).value();
  EXPECT_EQ(report.sessions, 1U);
  EXPECT_EQ(report.turns, 1U);
  for (const Path& path : files_below(real_env().files(), directory.path() / "data")) {
    EXPECT_EQ(read_file(real_env().files(), path).value().find(canary), std::string::npos) << path;
  }
  EXPECT_TRUE(store->load(Trial::key("s", "another")));
  EXPECT_FALSE(store->load(Trial::key("s")));
}

TEST(JsonStore, DroppedRecordsDoNotMakeTheFileGrowForEver) {
  SimEnv env(1);
  auto store = open_at(env, "/data").value();
  const SessionKey key = Trial::key();
  store->commit(Trial::first(key)).value();
  const StreamId journal{.kind = RecordKind::kJournal, .branch = Trial::branch("main")};
  for (std::uint64_t n = 1; n <= 300; ++n) {
    store->note({.key = key, .changes = {AddRecord{Trial::record(journal, n, std::string(2'000, 'j'))}}})
        .value();
    store->note({.key = key, .changes = {DropRecords{journal, n}}}).value();
  }
  const Path path =
      "/data/sessions/" + directory_name(key) + "/" + records_path(RecordKind::kJournal, journal.branch);
  EXPECT_LT(env.files().info(path).value().size, 150'000U);
  store.reset();
  store = open_at(env, "/data").value();
  EXPECT_TRUE(store->note({.key = key, .changes = {AddRecord{Trial::record(journal, 301)}}}))
      << "numbers go on";
}

TEST(JsonStore, LastMessagesOfALongBranchAreReadFromTheEnd) {
  SimEnv env(1);
  const SessionKey key = Trial::key();
  {
    auto store = open_at(env, "/data").value();
    store->commit(Trial::first(key)).value();
    for (std::uint64_t n = 0; n < 2'000; ++n) {
      store->commit(Trial::of(key, Revision{n + 1}, {question(2 * n, std::string(300, 'q'))})).value();
    }
  }
  auto store = open_at(env, "/data").value();
  for (const std::uint64_t begin : {0U, 1U, 1'234U, 3'951U, 3'999U}) {
    const auto turns =
        store->read_turns(key, {.branch = Trial::branch("main"), .begin = begin, .end = begin + 40}).value();
    ASSERT_FALSE(turns.empty());
    EXPECT_EQ(turns.front().first_index, begin / 2 * 2);
    EXPECT_EQ(Trial::number_of(turns.front().turn.messages().front()), begin / 2 * 2);
    EXPECT_GE(turns.back().first_index + 2, std::min<std::uint64_t>(begin + 40, 4'000));
  }
}

}  // namespace json_store_test
}  // namespace tertulia::trial
