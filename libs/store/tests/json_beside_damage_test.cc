// One session is damaged, in any of its files: everything else goes on, and says which one it is.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "json_fixture.h"

namespace tertulia::trial {
namespace json_beside_damage_test {

using Trial = StoreTrial;

constexpr char kRoot[] = "/data";
constexpr std::string_view kLongName = "a-session-whose-name-is-longer-than-what-a-directory-shows-of-it";

class JsonBesideDamage : public ::testing::Test {
 protected:
  JsonBesideDamage() {
    auto store = open();
    for (const SessionKey& key : {hurt_, healthy_, Trial::key("third")}) fill(*store, key);
  }

  static void fill(JsonDirectory& store, const SessionKey& key) {
    store.commit(Trial::first(key)).value();
    for (std::uint64_t n = 0; n < 3; ++n) {
      AppendTurn append{.branch = Trial::branch("main"), .turn = Trial::tool_turn(n * 4)};
      append.tool_calls = {Trial::tool_call(n)};
      const StreamId episodes{.kind = RecordKind::kEpisode, .branch = Trial::branch("main")};
      store.commit(Trial::of(key, Revision{n + 1}, {append, AddRecord{Trial::record(episodes, n + 1)}}))
          .value();
    }
    const StreamId journal{.kind = RecordKind::kJournal, .branch = Trial::branch("main")};
    const StreamId assets{.kind = RecordKind::kAsset};
    store
        .note({.key = key,
               .changes = {AddRecord{Trial::record(journal, 1)},
                           AddRecord{Trial::record(assets, 1, "\xff\x01picture")}}})
        .value();
  }

  std::unique_ptr<JsonDirectory> open() { return JsonDirectory::open(env_, kRoot, quiet_options()).value(); }

  std::vector<Path> files_of_hurt() {
    std::vector<Path> found;
    for (const Path& path : files_below(env_.files(), kRoot)) {
      if (path.string().find("/a-session") != std::string::npos) found.push_back(path);
    }
    return found;
  }

  // Everything that can be asked for without naming the damaged session.
  void others_go_on(const std::string& where) {
    auto store = open();
    EXPECT_EQ(store->list({.tenant = hurt_.tenant, .owner = hurt_.owner}).value().sessions.size(), 3U)
        << where;
    const SessionPage unfinished = store->list({.tenant = {}, .unfinished = true}).value();
    EXPECT_GE(unfinished.sessions.size(), 2U) << where;
    for (const RecordKind kind :
         {RecordKind::kEpisode, RecordKind::kToolCall, RecordKind::kJournal, RecordKind::kAsset}) {
      const RecordPage page =
          store->read_records({.tenant = hurt_.tenant, .owner = hurt_.owner, .kind = kind}).value();
      for (const SessionKey& key : {healthy_, Trial::key("third")}) {
        const auto own = std::ranges::count(page.records, key.session, &StoredRecord::session);
        const bool is_once = kind == RecordKind::kJournal || kind == RecordKind::kAsset;
        EXPECT_EQ(own, is_once ? 1 : 3) << where << ": " << name_of(kind);
      }
      const auto hurt = std::ranges::count(page.records, hurt_.session, &StoredRecord::session);
      const auto all = std::ranges::count(page.records, healthy_.session, &StoredRecord::session);
      const bool is_told = std::ranges::find(page.damaged, hurt_.session) != page.damaged.end();
      EXPECT_TRUE(is_told || hurt == all) << where << ": " << name_of(kind) << " was read as missing";
      EXPECT_LE(page.damaged.size(), 1U) << where;
    }
    EXPECT_EQ(store->read_turns(healthy_, {.branch = Trial::branch("main")}).value().size(), 3U) << where;
    const AppendTurn more{.branch = Trial::branch("main"), .turn = Trial::turn(90)};
    EXPECT_TRUE(store->commit(Trial::of(healthy_, Revision{4}, {more}))) << where;
    const EraseScope third{hurt_.tenant, hurt_.owner, Trial::key("third").session};
    EXPECT_EQ(store->erase(third).value().sessions, 1U) << where;
    const VerifyReport report = store->verify().value();
    // The lengths are advice that is not synced: what is not whole there tells nothing.
    if (where.find("lengths.json") == std::string::npos) ASSERT_FALSE(report.problems.empty()) << where;
    for (const Problem& problem : report.problems) {
      EXPECT_EQ(problem.session, hurt_.text()) << where << ": " << problem.sentence;
    }
  }

  // Then the owner goes, and with it all of the damaged session.
  void owner_can_be_erased(const std::string& where) {
    auto store = open();
    EXPECT_EQ(store->erase({.tenant = hurt_.tenant, .owner = hurt_.owner}).value().sessions, 2U) << where;
    EXPECT_TRUE(env_.files().list(Path(kRoot) / "sessions").value().empty()) << where;
    EXPECT_TRUE(store->verify().value().problems.empty()) << where;
    EXPECT_EQ(store->load(hurt_).error().code(), ErrorCode::kNoSession) << where;
  }

  SimEnv env_{1};
  const SessionKey hurt_ = Trial::key(kLongName);
  const SessionKey healthy_ = Trial::key("healthy");
};

TEST_F(JsonBesideDamage, AnyFileOfOneSessionLeavesTheOthersAlone) {
  for (const Path& path : files_of_hurt()) {
    const std::string before = read_file(env_.files(), path).value();
    std::string flipped = before;
    flipped[before.size() / 2] = static_cast<char>(flipped[before.size() / 2] ^ 1);
    for (const std::string& after : {flipped, std::string(), std::string(before.size(), '\0')}) {
      overwrite(env_.files(), path, after);
      const std::string where = path.string() + " with " + std::to_string(after.size()) + " bytes";
      others_go_on(where);
      EXPECT_EQ(read_file(env_.files(), path).value(), after) << where << ": damage was written over";
      owner_can_be_erased(where);
      if (HasFailure()) return;
      auto store = open();
      for (const SessionKey& key : {hurt_, healthy_, Trial::key("third")}) fill(*store, key);
    }
  }
}

TEST_F(JsonBesideDamage, TheDamagedSessionAloneCanBeErased) {
  for (const Path& path : files_of_hurt()) {
    overwrite(env_.files(), path, "{");
    auto store = open();
    const EraseScope scope{hurt_.tenant, hurt_.owner, hurt_.session};
    EXPECT_EQ(store->erase(scope).value().sessions, 1U) << path;
    EXPECT_EQ(env_.files().list(Path(kRoot) / "sessions").value().size(), 2U) << path;
    EXPECT_TRUE(store->verify().value().problems.empty()) << path;
    fill(*store, hurt_);
  }
}

}  // namespace json_beside_damage_test
}  // namespace tertulia::trial
