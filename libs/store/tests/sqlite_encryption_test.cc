#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sqlite_fixture.h"

namespace tertulia {
namespace sqlite_encryption_test {

using Trial = StoreTrial;

SqliteOptions with_key(char fill = 'k') {
  SqliteOptions options;
  options.master_key = test_key(fill);
  return options;
}

std::string all_bytes(SimEnv& env) {
  std::string all;
  const std::vector<std::string> names = env.files().list("/data").value();
  for (const std::string& name : names) {
    all += read_file(env.files(), "/data/" + name).value();
  }
  return all;
}

void add_secret_session(SqliteStore& store, const SessionKey& key) {
  Commit first = Trial::first(key);
  std::get<PutSession>(first.changes.front()).session.metadata.set("topic", "canarymetadata");
  ASSERT_TRUE(commit(store, std::move(first)).ok());
  ASSERT_TRUE(commit(store, Trial::of(key, Revision{1},
                                      {AppendTurn{.branch = main_branch(),
                                                  .turn = canary_turn(1, "canaryquestion", "canaryanswer")}}))
                  .ok());
  ASSERT_TRUE(note(store, {.key = key,
                           .conditions = {},
                           .changes = {AddRecord{Trial::record(
                               {.kind = RecordKind::kEvent, .branch = main_branch()}, 1, "canarypayload")}}})
                  .ok());
}

TEST(SqliteEncryption, NothingThatWasSaidCanBeReadInTheFiles) {
  SimEnv env(1);
  const std::unique_ptr<SqliteStore> store = open_store(env, "/data", with_key());
  add_secret_session(*store, Trial::key());
  EXPECT_EQ(store->search_text(Trial::key().tenant, Trial::key().owner, "canaryanswer", 10).value().size(),
            1U);
  EXPECT_EQ(all_bytes(env).find("canary"), std::string::npos);
}

TEST(SqliteEncryption, AWrongOrMissingMasterKeyIsRefusedAtOpening) {
  SimEnv env(1);
  open_store(env, "/data", with_key()).reset();
  EXPECT_EQ(open_sqlite_store(env, "/data", with_key('x')).error().code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(open_sqlite_store(env, "/data").error().code(), ErrorCode::kNotPermitted);
  EXPECT_TRUE(open_sqlite_store(env, "/data", with_key()).ok());
}

TEST(SqliteEncryption, AKeyForAPlainStoreAndAShortKeyAreRefused) {
  SimEnv env(1);
  open_store(env, "/data").reset();
  EXPECT_EQ(open_sqlite_store(env, "/data", with_key()).error().code(), ErrorCode::kBadConfig);
  SqliteOptions options;
  options.master_key = Secret("password");
  EXPECT_EQ(open_sqlite_store(env, "/other", std::move(options)).error().code(), ErrorCode::kBadConfig);
}

TEST(SqliteEncryption, ErasingATenantsKeyErasesTheTenantAndNobodyElse) {
  SimEnv env(1);
  const std::unique_ptr<SqliteStore> store = open_store(env, "/data", with_key());
  const SessionKey gone = Trial::key("s", "o", "tenant-gone");
  add_secret_session(*store, gone);
  add_secret_session(*store, Trial::key());
  EXPECT_TRUE(store->erase_tenant_key(gone.tenant).value());
  EXPECT_FALSE(store->erase_tenant_key(gone.tenant).value());
  EXPECT_EQ(load(*store, gone).error().code(), ErrorCode::kNoSession);
  EXPECT_EQ(all_bytes(env).find("tenant-gone"), std::string::npos);
  EXPECT_EQ(read_turns(*store, Trial::key(), {.branch = main_branch()}).value().size(), 1U);
  EXPECT_TRUE(verify(*store).value().problems.empty());
}

}  // namespace sqlite_encryption_test
}  // namespace tertulia
