#include "core/audit_log.h"

#include <future>

#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_env.h"

namespace tertulia::server {
namespace audit_log_test {

const Path kDirectory = "/data";

void add_two(Env& env) {
  const std::unique_ptr<AuditLog> log = AuditLog::open(env, kDirectory, Log()).value();
  log->add({.tenant = "acme", .user = "ana", .method = "POST", .route = "/a", .status = 201});
  log->add({.tenant = "acme", .user = "bea", .method = "DELETE", .route = "/b", .status = 200});
}

TEST(AuditLog, GoesOnWhereItWasWhenItIsOpenedAgain) {
  SimEnv env(1);
  add_two(env);
  add_two(env);
  const AuditReport report = verify_audit(env.files(), kDirectory).value();
  EXPECT_EQ(report.entries, 4U);
  EXPECT_EQ(report.head.size(), 64U);
}

TEST(AuditLog, NoticesEveryByteThatIsChanged) {
  SimEnv env(1);
  add_two(env);
  const std::string whole = read_file(env.files(), audit_path(kDirectory)).value();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = changed[at] == 'x' ? 'y' : 'x';
    ASSERT_TRUE(write_file_atomically(env.files(), audit_path(kDirectory), changed));
    const Result<AuditReport> report = verify_audit(env.files(), kDirectory);
    // The last line end is no part of an entry: without it the line counts as cut.
    if (at + 1 == whole.size()) {
      EXPECT_TRUE(report && report->torn && report->entries == 1);
    } else {
      EXPECT_EQ(report ? ErrorCode::kClosed : report.error().code(), ErrorCode::kDamaged) << at;
    }
  }
}

TEST(AuditLog, TakesOffALineThatACrashHasCut) {
  SimEnv env(1);
  add_two(env);
  std::string cut = read_file(env.files(), audit_path(kDirectory)).value();
  cut.resize(cut.size() - 20);
  ASSERT_TRUE(write_file_atomically(env.files(), audit_path(kDirectory), cut));
  EXPECT_TRUE(verify_audit(env.files(), kDirectory).value().torn);
  add_two(env);
  EXPECT_EQ(verify_audit(env.files(), kDirectory).value().entries, 3U);
}

TEST(AuditLog, GoesOnBehindALongOneOfWhichItReadsTheEnd) {
  SimEnv env(1);
  for (int i = 0; i < 40; ++i) {
    const std::unique_ptr<AuditLog> log = AuditLog::open(env, kDirectory, Log()).value();
    for (int j = 0; j < 100; ++j) {
      log->add({.tenant = "acme", .user = "ana", .method = "POST", .route = "/a", .status = 201});
    }
  }
  const std::string whole = read_file(env.files(), audit_path(kDirectory)).value();
  ASSERT_GT(whole.size(), 3U << 18U);
  EXPECT_EQ(verify_audit(env.files(), kDirectory).value().entries, 4'000U);
  // The end is looked at, and also what is cut off there.
  std::string changed = whole;
  changed[changed.rfind("ana")] = 'e';
  ASSERT_TRUE(write_file_atomically(env.files(), audit_path(kDirectory), changed));
  EXPECT_EQ(AuditLog::open(env, kDirectory, Log()).error().code(), ErrorCode::kDamaged);
  ASSERT_TRUE(write_file_atomically(env.files(), audit_path(kDirectory), whole.substr(0, whole.size() - 20)));
  add_two(env);
  EXPECT_EQ(verify_audit(env.files(), kDirectory).value().entries, 4'001U);
}

TEST(AuditLog, IsNotOpenedBehindABrokenChain) {
  SimEnv env(1);
  add_two(env);
  std::string changed = read_file(env.files(), audit_path(kDirectory)).value();
  changed.replace(changed.find("ana"), 3, "eve");
  ASSERT_TRUE(write_file_atomically(env.files(), audit_path(kDirectory), changed));
  EXPECT_EQ(AuditLog::open(env, kDirectory, Log()).error().code(), ErrorCode::kDamaged);
}

AuditEntry change(std::string request) {
  return {.tenant = "acme",
          .user = "ana",
          .method = "POST",
          .route = "/a",
          .request = std::move(request),
          .status = 200};
}

Result<void> begin(AuditLog& log, const std::string& request) {
  std::promise<Result<void>> durable;
  log.begin(change(request), [&](Result<void> told) { durable.set_value(std::move(told)); });
  return durable.get_future().get();
}

std::size_t count_of(SimEnv& env, std::string_view what) {
  const std::string text = read_file(env.files(), audit_path(kDirectory)).value();
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(AuditLog, WhatBeginsIsDurableBeforeItDoes) {
  SimEnv env(1);
  {
    const std::unique_ptr<AuditLog> log = AuditLog::open(env, kDirectory, Log()).value();
    ASSERT_TRUE(begin(*log, "r1"));
    ASSERT_TRUE(begin(*log, "r2"));
    log->add(change("r1"));
    log->settle();
    ASSERT_TRUE(begin(*log, "r3"));
    env.disk().crash(CrashPolicy::kLoseUnsynced);
  }
  EXPECT_EQ(count_of(env, "\"state\":\"begun\""), 3U);
  // The next process says of which nobody knows what came.
  AuditLog::open(env, kDirectory, Log()).value()->settle();
  EXPECT_EQ(count_of(env, "\"state\":\"cut\""), 2U);
  AuditLog::open(env, kDirectory, Log()).value()->settle();
  EXPECT_EQ(count_of(env, "\"state\":\"cut\""), 2U) << "once";
  EXPECT_EQ(verify_audit(env.files(), kDirectory).value().entries, 6U);
}

TEST(AuditLog, WhatWasCutIsJudgedByWhoeverKnows) {
  SimEnv env(1);
  const auto about = [](std::string request, std::string session) {
    AuditEntry entry = change(std::move(request));
    entry.session = std::move(session);
    return entry;
  };
  {
    const std::unique_ptr<AuditLog> log = AuditLog::open(env, kDirectory, Log()).value();
    log->begin(about("r1", "one"), [](const Result<void>&) {});
    log->begin(about("r2", "two"), [](const Result<void>&) {});
    log->begin(about("r3", "two"), [](const Result<void>&) {});
    log->begin(about("r4", "three"), [](const Result<void>&) {});
    log->add(about("r4", "three"));
    log->begin(about("r5", "three"), [](const Result<void>&) {});
    log->settle();
  }
  std::map<std::string, bool> alone;
  const auto judge = [&](const CutRequest& cut) -> std::string_view {
    alone[cut.entry.request] = cut.alone;
    EXPECT_GT(cut.begun, Time{});
    return cut.entry.request == "r1" ? "yes" : "no";
  };
  AuditLog::open(env, kDirectory, Log(), judge).value()->settle();
  EXPECT_EQ(alone, (std::map<std::string, bool>{{"r1", true}, {"r2", false}, {"r3", false}, {"r5", true}}));
  EXPECT_EQ(count_of(env, R"("state":"cut","landed":"yes")"), 1U);
  EXPECT_EQ(count_of(env, R"("state":"cut","landed":"no")"), 3U);
  EXPECT_EQ(verify_audit(env.files(), kDirectory).value().entries, 10U);
}

TEST(AuditLog, NothingBeginsOnAFullDiskAndWhatEndedIsWrittenLater) {
  SimEnv env(1);
  const std::unique_ptr<AuditLog> log = AuditLog::open(env, kDirectory, Log()).value();
  ASSERT_TRUE(begin(*log, "r1"));
  env.disk().set_faults({.capacity = 0});
  log->add(change("r1"));
  log->settle();
  const Result<void> refused = begin(*log, "r2");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kStorageFull);
  env.disk().set_faults({});
  ASSERT_TRUE(begin(*log, "r3"));
  EXPECT_EQ(count_of(env, "\"request\":\"r1\""), 2U) << "its end came when there was room";
  EXPECT_EQ(count_of(env, "\"request\":\"r2\""), 0U);
  EXPECT_EQ(verify_audit(env.files(), kDirectory).value().entries, 3U);
}

TEST(AuditLog, WhatASyncThatFailedHasLeftIsTakenOff) {
  SimEnv env(1);
  const std::unique_ptr<AuditLog> log = AuditLog::open(env, kDirectory, Log()).value();
  ASSERT_TRUE(begin(*log, "r0"));
  env.disk().set_faults({.fail_sync = 1});
  EXPECT_EQ(begin(*log, "r1").error().code(), ErrorCode::kStorageIo);
  EXPECT_FALSE(log->check_writable());
  // No restart is needed, and no line of what was refused is left.
  ASSERT_TRUE(begin(*log, "r2"));
  EXPECT_TRUE(log->check_writable());
  EXPECT_EQ(count_of(env, "\"request\":\"r1\""), 0U);
  EXPECT_EQ(verify_audit(env.files(), kDirectory).value().entries, 2U);
}

TEST(AuditLog, SaysThatItIsFullUntilThereIsRoomThoughNobodyWrites) {
  SimEnv env(1);
  const std::unique_ptr<AuditLog> log = AuditLog::open(env, kDirectory, Log()).value();
  EXPECT_TRUE(log->check_writable());
  env.disk().set_faults({.capacity = 0});
  ASSERT_FALSE(begin(*log, "r1"));
  ASSERT_FALSE(log->check_writable());
  log->settle();
  EXPECT_EQ(log->check_writable().error().code(), ErrorCode::kStorageFull);
  log->settle();
  env.disk().set_faults({});
  EXPECT_FALSE(log->check_writable()) << "it has not looked yet";
  log->settle();
  EXPECT_TRUE(log->check_writable());
  EXPECT_EQ(read_file(env.files(), audit_path(kDirectory)).value(), "");
}

}  // namespace audit_log_test
}  // namespace tertulia::server
