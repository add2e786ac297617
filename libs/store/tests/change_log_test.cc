// The change log alone: what comes back, what is taken for torn, and what for damage.
#include "sqlite/change_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_env.h"

namespace tertulia {
namespace change_log_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kFile[] = "/data/tertulia.log";

class ChangeLogTest : public ::testing::Test {
 protected:
  ChangeLogTest() : env_(1) { env_.files().make_directory("/data").value(); }

  ChangeLog open(bool synced = true) {
    return ChangeLog::open(env_.files(), "/data", {.synced = synced, .growth = 1'024}).value();
  }
  static void add(ChangeLog& log, std::string_view payload) {
    std::string batch;
    ChangeLog::begin(batch);
    batch += payload;
    log.append(batch).value();
  }
  Result<std::vector<std::string>> read(std::uint64_t settled) {
    TERTULIA_TRY_AS(const std::vector<std::string> batches, open().read(settled));
    std::vector<std::string> payloads;
    for (const std::string& batch : batches) payloads.emplace_back(ChangeLog::payload(batch));
    return payloads;
  }
  std::string bytes() { return read_file(env_.files(), kFile).value(); }
  void change(std::uint64_t offset, std::string_view content) {
    env_.files().open(kFile, OpenMode::kReadWrite).value()->write_at(offset, content).value();
  }

  SimEnv env_;
};

TEST_F(ChangeLogTest, GivesBackWhatIsNotSettledInItsOrder) {
  {
    ChangeLog log = open();
    EXPECT_THAT(log.read(0).value(), IsEmpty());
    for (const char* payload : {"one", "two", "three"}) add(log, payload);
    EXPECT_EQ(log.newest(), 3U);
  }
  EXPECT_THAT(read(0).value(), ElementsAre("one", "two", "three"));
  EXPECT_THAT(read(2).value(), ElementsAre("three"));
  EXPECT_THAT(read(3).value(), IsEmpty());
}

TEST_F(ChangeLogTest, GoesOnBehindWhatIsThere) {
  {
    ChangeLog log = open();
    log.read(0).value();
    add(log, "one");
  }
  {
    ChangeLog log = open();
    EXPECT_EQ(log.read(0).value().size(), 1U);
    add(log, "two");
  }
  EXPECT_THAT(read(0).value(), ElementsAre("one", "two"));
}

TEST_F(ChangeLogTest, TakesABatchThatWasCutAnywhereForNone) {
  std::uint64_t second = 0;
  std::uint64_t end = 0;
  {
    ChangeLog log = open();
    log.read(0).value();
    add(log, "one");
    second = log.bytes();
    add(log, std::string(300, 'x'));
    end = second + 24 + 300;
  }
  const std::string whole = bytes();
  for (std::uint64_t cut = second; cut < end; ++cut) {
    change(second, std::string(end - second, '\0'));
    change(second, std::string_view(whole).substr(second, cut - second));
    EXPECT_THAT(read(0).value(), ElementsAre("one")) << cut;
  }
}

TEST_F(ChangeLogTest, TellsAByteThatChangedUnderANewerBatchFromATornEnd) {
  std::uint64_t first_end = 0;
  {
    ChangeLog log = open();
    log.read(0).value();
    add(log, std::string(100, 'x'));
    first_end = 24 + 100;
    add(log, "two");
  }
  const std::string whole = bytes();
  for (std::uint64_t at = 0; at < first_end; ++at) {
    const char changed = static_cast<char>(whole[at] ^ 1);
    change(at, {&changed, 1});
    const Result<std::vector<std::string>> found = read(0);
    ASSERT_FALSE(found) << at;
    EXPECT_EQ(found.error().code(), ErrorCode::kDamaged);
    EXPECT_THAT(found.error().message(), HasSubstr("tertulia.log"));
    change(at, std::string_view(whole).substr(at, 1));
  }
  EXPECT_EQ(read(0).value().size(), 2U);
}

TEST_F(ChangeLogTest, PromisesNothingOfWhatWasNotSynced) {
  {
    ChangeLog log = open(false);
    log.read(0).value();
    add(log, "one");
    add(log, "two");
  }
  change(24, "X");
  EXPECT_THAT(read(0).value(), IsEmpty());
}

TEST_F(ChangeLogTest, LeavesOlderBatchesBehindTheNewestAlone) {
  {
    ChangeLog log = open();
    log.read(0).value();
    for (const char* payload : {"one", "two", "three"}) add(log, payload);
    log.restart();
    add(log, "four");
  }
  EXPECT_THAT(read(3).value(), ElementsAre("four"));
  EXPECT_THAT(read(4).value(), IsEmpty());
}

TEST_F(ChangeLogTest, SaysThatBatchesAreMissingBeforeItsFirst) {
  {
    ChangeLog log = open();
    log.read(7).value();
    add(log, "eight");
  }
  EXPECT_THAT(read(7).value(), ElementsAre("eight"));
  EXPECT_EQ(read(6).error().code(), ErrorCode::kDamaged);
}

TEST_F(ChangeLogTest, IsEmptyOnceItWasCleared) {
  {
    ChangeLog log = open();
    log.read(0).value();
    add(log, "secret");
    log.clear().value();
    EXPECT_EQ(bytes(), "");
    add(log, "two");
  }
  EXPECT_THAT(read(1).value(), ElementsAre("two"));
}

}  // namespace change_log_test
}  // namespace tertulia
