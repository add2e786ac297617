// Every copy of a session holds every kind of record: archives, repaired stores, sessions written again,
// backups. A new kind has its place in all of them, or this fails.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_env.h"
#include "tertulia/store/archive.h"
#include "tertulia/store/copy_session.h"
#include "tertulia/store/json_store.h"
#include "tertulia/store/memory_store.h"
#include "tertulia/store/sqlite_store.h"
#include "tertulia/store/testing/store_trial.h"

#include "archive/export_scope.h"
#include "archive_sample.h"

namespace tertulia {
namespace copies_test {

using Trial = StoreTrial;

struct Kind {
  std::string name;
  std::function<std::unique_ptr<Store>(Env&, const Path&)> open;
};

std::vector<Kind> stores() {
  return {{"memory", [](Env&, const Path&) { return open_memory_store(); }},
          {"json", [](Env& env, const Path& path) { return open_json_store(env, path).value(); }},
          {"sqlite", [](Env& env, const Path& path) -> std::unique_ptr<Store> {
             return open_sqlite_store(env, path).value();
           }}};
}

bool belongs_to_branch(RecordKind kind) {
  return kind != RecordKind::kCheckpoint && kind != RecordKind::kAsset && kind != RecordKind::kMemory;
}

// Two of everything, of two tenants.
void fill(Store& store, const SessionKey& key) {
  commit(store, Trial::first(key)).value();
  AppendTurn append{.branch = main_branch(), .turn = Trial::tool_turn(100)};
  append.tool_calls = {Trial::tool_call(100)};
  commit(store, Trial::of(key, Revision{1}, {append})).value();
  for (const RecordKind kind : kAllRecordKinds) {
    if (kind == RecordKind::kToolCall) continue;
    StreamId stream{.kind = kind, .branch = {}, .scope = "scope"};
    if (belongs_to_branch(kind)) stream.branch = main_branch();
    for (const std::uint64_t number : {1, 2}) {
      note(store, {.key = key,
                   .conditions = {},
                   .changes = {AddRecord{Trial::record(stream, number, std::string(name_of(kind)))}}})
          .value();
    }
  }
}

std::map<std::string, std::vector<std::string>> by_kind(Store& store, const SessionKey& key) {
  std::map<std::string, std::vector<std::string>> found;
  for (const RecordKind kind : kAllRecordKinds) {
    RecordQuery query = Trial::query(key, kind);
    for (const StoredRecord& stored : read_records(store, query).value().records) {
      // A tool call says in its payload which session it is of.
      found[std::string(name_of(kind))].push_back(
          std::to_string(stored.record.number) + stored.record.key + stored.record.name +
          (kind == RecordKind::kToolCall ? "" : stored.record.payload));
    }
  }
  return found;
}

void expect_same(Store& from, const SessionKey& key, Store& to, const SessionKey& copy,
                 const std::string& path) {
  SCOPED_TRACE(path);
  auto before = by_kind(from, key);
  EXPECT_EQ(before.size(), kAllRecordKinds.size()) << "the source has something of every kind";
  // What no copy takes along is said in one place.
  for (const RecordKind kind : kAllRecordKinds) {
    if (travel_of(kind) == Travel::kNever) before.erase(std::string(name_of(kind)));
  }
  EXPECT_EQ(by_kind(to, copy), before);
  EXPECT_EQ(read_turns(to, copy, {.branch = main_branch()}).value().size(), 1U);
}

TEST(Copies, HoldEveryKindOfRecord) {
  const SessionKey key = Trial::key("everything");
  const SessionKey other{TenantId::parse("other-tenant").value(), key.owner, key.session};
  for (const Kind& from_kind : stores()) {
    for (const Kind& to_kind : stores()) {
      SCOPED_TRACE(from_kind.name + " to " + to_kind.name);
      SimEnv env(1);
      const auto from = from_kind.open(env, "/from");
      fill(*from, key);
      fill(*from, other);

      const auto repaired = to_kind.open(env, "/repaired");
      const SalvageReport report = copy_readable(*from, *repaired, {}).value();
      EXPECT_TRUE(report.losses.empty()) << report.losses[0];
      expect_same(*from, key, *repaired, key, "repair");
      expect_same(*from, other, *repaired, other, "repair of another tenant");

      std::string text;
      export_sessions(*from, {.tenant = key.tenant}, [&](std::string_view bytes) -> Result<void> {
        text += bytes;
        return {};
      }).value();
      const auto imported = to_kind.open(env, "/imported");
      const std::unique_ptr<File> archive = sample::file_of(env, text);
      const ImportReport taken =
          import_archive(*imported, *archive, {.tenant = key.tenant, .trust = ArchiveTrust::kOwn}).value();
      EXPECT_TRUE(taken.left_out.empty());
      expect_same(*from, key, *imported, key, "archive");

      const SessionKey again = Trial::key("again");
      copy_session(*from, key, again).value();
      expect_same(*from, key, *from, again, "copied session");
    }
  }
}

TEST(Copies, ABackupHoldsEveryKindOfRecord) {
  SimEnv env(1);
  const SessionKey key = Trial::key("everything");
  const auto from = open_sqlite_store(env, "/from").value();
  fill(*from, key);
  from->backup_to("/backup.db").value();
  restore_sqlite_store(env, "/backup.db", "/restored").value();
  const auto to = open_sqlite_store(env, "/restored").value();
  EXPECT_EQ(by_kind(*to, key), by_kind(*from, key));
}

}  // namespace copies_test
}  // namespace tertulia
