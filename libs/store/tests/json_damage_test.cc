// Damage of every kind: it is found, named, never read as something else and never written over.
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tertulia/store/archive.h"
#include "tertulia/store/json_store.h"

#include "json_fixture.h"

namespace tertulia::trial {
namespace json_damage_test {

using Trial = StoreTrial;

constexpr char kRoot[] = "/data";

class JsonDamage : public ::testing::Test {
 protected:
  JsonDamage() {
    auto store = open(*env_);
    const SessionKey key = Trial::key("s");
    store->commit(Trial::first(key)).value();
    std::uint64_t revision = 0;
    for (std::uint64_t n = 0; n < 4; ++n) {
      AppendTurn append{.branch = Trial::branch("main"), .turn = Trial::tool_turn(n * 4)};
      append.tool_calls = {Trial::tool_call(n)};
      if (n == 1) append.state = MiddlewareState{{"plan", JsonText::of(Json("draft"))}};
      store->commit(Trial::of(key, Revision{++revision}, {append})).value();
    }
    BranchHead fork = Trial::head(Trial::branch("fork"), ForkOrigin{Trial::branch("main"), 3});
    store->commit(Trial::of(key, Revision{++revision}, {PutBranch{fork}})).value();
    const StreamId journal{.kind = RecordKind::kJournal, .branch = Trial::branch("main")};
    store->note({.key = key, .changes = {AddRecord{Trial::record(journal, 1)}}}).value();
    store->note({.key = key, .changes = {AddRecord{Trial::record(journal, 2)}}}).value();
    const StreamId assets{.kind = RecordKind::kAsset};
    store->note({.key = key, .changes = {AddRecord{Trial::record(assets, 1, "\xff\x01picture")}}}).value();
    store->commit(Trial::first(Trial::key("other"))).value();
    original_ = content(*store);
  }

  static std::unique_ptr<JsonDirectory> open(Env& env) {
    return JsonDirectory::open(env, kRoot, quiet_options()).value();
  }

  // The path of the one file with this name, in the session `s`.
  Path find(std::string_view name, std::string_view branch = "", std::string_view session = "/s~") {
    for (const Path& path : files_below(env_->files(), kRoot)) {
      const std::string text = path.string();
      if (path.filename() == name && text.find(session) != std::string::npos &&
          text.find(branch) != std::string::npos) {
        return path;
      }
    }
    ADD_FAILURE() << "there is no " << name;
    return {};
  }
  std::string bytes(const Path& path) { return read_file(env_->files(), path).value(); }

  // What is asked, and the answer; an error is an answer too.
  using Answers = std::map<std::string, std::string>;

  static Answers content(JsonDirectory& store) {
    Answers answers;
    for (const std::string_view name : {"s", "other"}) {
      const SessionKey key = Trial::key(name);
      const auto put = [&](const std::string& question, const auto& result, const auto& write) {
        answers[std::string(name) + " " + question] =
            result ? write(*result) : "error: " + std::string(name_of(result.error().code()));
      };
      put("state", store.load(key), [&](const SessionState& state) { return text_of(store, key, state); });
      for (const std::string_view branch : {"main", "fork"}) {
        for (std::uint64_t index = 0; index < 16; index += 4) {
          const TurnRange range{.branch = Trial::branch(branch), .begin = index, .end = index + 4};
          put(std::string(branch) + std::to_string(index), store.read_turns(key, range),
              [](const std::vector<StoredTurn>& turns) {
                std::string text;
                for (const StoredTurn& turn : turns) text += to_json(turn.turn);
                return text;
              });
        }
      }
      for (const RecordKind kind : {RecordKind::kJournal, RecordKind::kAsset, RecordKind::kToolCall}) {
        put(std::string(name_of(kind)), store.read_records(Trial::query(key, kind)),
            [](const RecordPage& page) {
              std::string text;
              for (const StoredRecord& stored : page.records) {
                text += std::to_string(stored.record.number) + stored.record.payload;
              }
              return text;
            });
      }
    }
    return answers;
  }

  // A branch that is given as far as it can be read says so when all of it is asked for.
  static std::string text_of(JsonDirectory& store, const SessionKey& key, const SessionState& state) {
    std::string text = to_json(state.session);
    for (const BranchHead& head : state.branches) {
      const auto all = store.read_turns(key, {.branch = head.id});
      if (!all) return "error: " + std::string(name_of(all.error().code()));
      text += head.id.text() + " " + std::to_string(head.message_count);
      for (const auto& [owner, value] : head.state) text += owner + "=" + value.text();
    }
    return text;
  }

  std::unique_ptr<SimEnv> env_ = std::make_unique<SimEnv>(1);
  Answers original_;
};

TEST_F(JsonDamage, EveryByteFlippedIsFoundOrChangesNothing) {
  std::uint64_t flips = 0;
  for (const Path& path : files_below(env_->files(), kRoot)) {
    if (path.filename() == "lock") continue;
    const std::string before = bytes(path);
    for (std::size_t at = 0; at < before.size() && !HasFailure(); ++at) {
      for (const int change : {0x01, 0x80, -1}) {
        std::string after = before;
        after[at] = change < 0 ? '\0' : static_cast<char>(after[at] ^ change);
        if (after == before || (path.filename() == "lengths.json" && before[at] == ' ')) continue;
        ++flips;
        overwrite(env_->files(), path, after);
        auto opened = JsonDirectory::open(*env_, kRoot, quiet_options());
        const std::string where =
            path.string() + " at " + std::to_string(at) + " change " + std::to_string(change);
        if (!opened) {
          EXPECT_EQ(path.filename(), "tertulia.json") << where;
          continue;
        }
        for (const auto& [question, answer] : content(**opened)) {
          EXPECT_TRUE(answer == "error: session_damaged" || answer == original_[question])
              << where << ": " << question << "\n"
              << answer;
        }
        const VerifyReport report = (*opened)->verify().value();
        // The lengths are advice that is not synced: what is not whole there tells nothing.
        if (path.filename() != "lengths.json") EXPECT_FALSE(report.problems.empty()) << where;
        EXPECT_TRUE(report.notices.empty()) << where << ": damage was taken for a torn line";
        EXPECT_EQ(bytes(path), after) << where << ": damage was written over";
      }
    }
    overwrite(env_->files(), path, before);
  }
  EXPECT_EQ(content(*open(*env_)), original_);
  std::cout << flips << " flipped bytes\n";
}

TEST_F(JsonDamage, TornLastLineIsCutAndReportedOnce) {
  const Path path = find("transcript.jsonl", "main~");
  const std::string whole = bytes(path);
  overwrite(env_->files(), path, whole + "{\"number\":5,\"rev");
  auto store = open(*env_);
  EXPECT_EQ(content(*store), original_);
  EXPECT_EQ(bytes(path), whole);
  const VerifyReport report = store->verify().value();
  EXPECT_TRUE(report.problems.empty()) << "what a crash tore is no damage";
  ASSERT_EQ(report.notices.size(), 1U);
  EXPECT_EQ(report.notices.front().session, Trial::key("s").text());
  EXPECT_TRUE(store->verify().value().notices.empty());
}

TEST_F(JsonDamage, LineWithoutItsLineBreakIsKept) {
  const Path path = find("transcript.jsonl", "main~");
  const std::string whole = bytes(path);
  overwrite(env_->files(), path, whole.substr(0, whole.size() - 1));
  EXPECT_EQ(content(*open(*env_)), original_);
  EXPECT_EQ(bytes(path), whole);
}

TEST_F(JsonDamage, ZeroedExtentInTheMiddleStopsWritersAndReadersThere) {
  const Path path = find("transcript.jsonl", "main~");
  std::string text = bytes(path);
  const std::size_t second = text.find("{\"number\":2");
  std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(second), 40, '\0');
  overwrite(env_->files(), path, text);
  auto store = open(*env_);
  const SessionKey key = Trial::key("s");
  const auto read = [&](std::uint64_t begin, std::uint64_t end) {
    return store->read_turns(key, {.branch = Trial::branch("main"), .begin = begin, .end = end});
  };
  EXPECT_EQ(read(0, 4).value().size(), 1U);
  const auto damaged = read(0, 16);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code(), ErrorCode::kSessionDamaged);
  ASSERT_NE(damaged.error().fact("record"), nullptr);
  const Commit commit =
      Trial::of(key, Revision{6}, {AppendTurn{.branch = Trial::branch("main"), .turn = Trial::turn(90)}});
  EXPECT_EQ(store->commit(commit).error().code(), ErrorCode::kSessionDamaged);
  EXPECT_EQ(bytes(path), text);
  // The other session does not notice.
  const AppendTurn other{.branch = Trial::branch("main"), .turn = Trial::turn(90)};
  EXPECT_TRUE(store->commit(Trial::of(Trial::key("other"), Revision{1}, {other})));
}

TEST_F(JsonDamage, EmptyMissingForeignAndSwappedFilesAreDamage) {
  const std::string foreign = "{\"hello\": \"world\"}\n";
  for (const std::string_view name : {"session.json", "branch.json", "transcript.jsonl"}) {
    const Path path = find(name, name == "session.json" ? "" : "main~");
    const std::string before = bytes(path);
    const std::string swapped =
        name == "session.json" ? bytes(find(name, "", "/other~")) : bytes(find(name, "fork~"));
    for (const std::string& after : {std::string(), foreign, swapped, std::string(before.size(), '\0')}) {
      overwrite(env_->files(), path, after);
      auto store = open(*env_);
      EXPECT_EQ(store->read_turns(Trial::key("s"), {.branch = Trial::branch("main")}).error().code(),
                ErrorCode::kSessionDamaged)
          << name;
      EXPECT_FALSE(store->verify().value().problems.empty()) << name;
      EXPECT_EQ(store->commit(Trial::first(Trial::key("s"))).error().code(), ErrorCode::kSessionDamaged)
          << name;
      EXPECT_EQ(bytes(path), after) << name;
    }
    env_->files().remove(path).value();
    EXPECT_EQ(open(*env_)->commit(Trial::first(Trial::key("s"))).error().code(), ErrorCode::kSessionDamaged)
        << name;
    overwrite(env_->files(), path, before);
  }
  EXPECT_EQ(content(*open(*env_)), original_);
}

TEST_F(JsonDamage, SessionWithADamagedDocumentIsListedAsDamagedAndCanBeErased) {
  const Path path = find("session.json");
  const std::string before = bytes(path);
  std::string damaged_time = before;
  damaged_time[before.find("2026")] = '3';
  const SessionKey key = Trial::key("s");
  // Its key can still be read there, or is only told by the name of the directory, or stands nowhere else.
  for (const std::string& after : {damaged_time, std::string("{"), std::string()}) {
    overwrite(env_->files(), path, after);
    auto store = open(*env_);
    for (const SessionQuery& query :
         {SessionQuery{.tenant = key.tenant}, SessionQuery{.tenant = key.tenant, .owner = key.owner}}) {
      const SessionPage page = store->list(query).value();
      ASSERT_EQ(page.sessions.size(), 2U);
      EXPECT_FALSE(page.sessions[0].damaged);
      EXPECT_TRUE(page.sessions[1].damaged);
      EXPECT_EQ(page.sessions[1].key, key);
    }
    EXPECT_EQ(store->load(key).error().code(), ErrorCode::kSessionDamaged);
    const EraseScope somebody{.tenant = key.tenant, .owner = OwnerId::parse("somebody").value()};
    EXPECT_EQ(store->erase(somebody).value().sessions, 0U);
    EXPECT_EQ(bytes(path), after);
  }
  auto store = open(*env_);
  EXPECT_EQ(store->erase({.tenant = key.tenant, .owner = key.owner}).value().sessions, 2U);
  EXPECT_EQ(store->list({.tenant = key.tenant}).value().sessions.size(), 0U);
  EXPECT_TRUE(store->verify().value().problems.empty());
  EXPECT_EQ(env_->files().list("/data/sessions").value().size(), 0U);
}

// What a repair reads: everything that is whole, of a session whose own document is not.
TEST_F(JsonDamage, WhatIsWholeIsSalvagedBesideADamagedDocument) {
  struct Case {
    std::string_view name;
    std::string_view branch;
  };
  for (const Case& one :
       {Case{"session.json", ""}, Case{"branch.json", "fork~"}, Case{"branch.json", "main~"}}) {
    SCOPED_TRACE(std::string(one.name) + " " + std::string(one.branch));
    const Path path = find(one.name, one.branch);
    const std::string before = bytes(path);
    std::string after = before;
    after[before.size() / 2] ^= 1;
    overwrite(env_->files(), path, after);
    {
      JsonStoreOptions options = quiet_options();
      options.salvages = true;
      const auto damaged = open_json_store(*env_, kRoot, options).value();
      SimEnv other(2);
      const auto copy = open_json_store(other, kRoot, quiet_options()).value();
      const SalvageReport report = copy_readable(*damaged, *copy, {}).value();
      EXPECT_EQ(report.counts.sessions, 2U);
      EXPECT_EQ(report.counts.turns, 4U);
      EXPECT_EQ(report.counts.records, 3U);
      EXPECT_FALSE(report.losses.empty());
      const SessionKey key = Trial::key("s");
      for (const std::string_view branch : {"main", "fork"}) {
        const std::size_t turns = branch == "main" ? 4 : 1;
        EXPECT_EQ(tertulia::read_turns(*copy, key, {.branch = Trial::branch(branch)}).value().size(), turns);
      }
      EXPECT_EQ(
          tertulia::read_records(*copy, Trial::query(key, RecordKind::kToolCall)).value().records.size(), 4U);
    }
    EXPECT_EQ(bytes(path), after);
    overwrite(env_->files(), path, before);
  }
  EXPECT_EQ(content(*open(*env_)), original_);
}

// A file of records that lost its end, or is gone, does not look like one that was never longer.
TEST_F(JsonDamage, AFileOfRecordsThatWasCutIsDamaged) {
  const SessionKey key = Trial::key("s");
  const auto remembered = [](std::uint64_t number) {
    return AddRecord{Trial::record({.kind = RecordKind::kMemory, .scope = "item"}, number, "a fact")};
  };
  {
    auto store = open(*env_);
    for (const std::uint64_t number : {1, 2, 3}) {
      store->note({.key = key, .changes = {remembered(number)}}).value();
    }
  }
  const Path path = find("memory.jsonl");
  const std::string whole = bytes(path);
  const std::size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  const std::size_t second = whole.rfind('\n', last - 2) + 1;
  for (const std::string& cut : {whole.substr(0, last), whole.substr(0, second), whole.substr(0, last + 9),
                                 whole.substr(0, whole.find('\n') + 1)}) {
    overwrite(env_->files(), path, cut);
    auto store = open(*env_);
    EXPECT_EQ(store->read_records(Trial::query(key, RecordKind::kMemory)).error().code(),
              ErrorCode::kSessionDamaged);
    EXPECT_FALSE(store->verify().value().problems.empty());
    EXPECT_EQ(store->note({.key = key, .changes = {remembered(4)}}).error().code(),
              ErrorCode::kSessionDamaged);
    EXPECT_EQ(bytes(path), cut) << "what is damaged stays as it is";
  }
  env_->files().remove(path).value();
  EXPECT_FALSE(open(*env_)->verify().value().problems.empty());
  overwrite(env_->files(), path, whole);
  EXPECT_TRUE(open(*env_)->verify().value().problems.empty());
  // Written anew without what was dropped it is shorter, and that is no damage.
  {
    auto store = open(*env_);
    const DropRecords drop{.stream = {.kind = RecordKind::kMemory, .scope = "item"}, .up_to = 3};
    store->note({.key = key, .changes = {drop}}).value();
  }
  EXPECT_TRUE(open(*env_)->verify().value().problems.empty());
  EXPECT_LT(bytes(path).size(), whole.size());
}

TEST_F(JsonDamage, SwappedSessionDirectoriesAreDamage) {
  const Path one = find("session.json").parent_path();
  const Path two = find("session.json", "", "/other~").parent_path();
  env_->files().rename(one, "/data/sessions/between").value();
  env_->files().rename(two, one).value();
  env_->files().rename("/data/sessions/between", two).value();
  auto store = open(*env_);
  EXPECT_EQ(store->load(Trial::key("s")).error().code(), ErrorCode::kSessionDamaged);
  EXPECT_EQ(store->load(Trial::key("other")).error().code(), ErrorCode::kSessionDamaged);
  EXPECT_EQ(store->verify().value().problems.size(), 2U);
}

}  // namespace json_damage_test
}  // namespace tertulia::trial
