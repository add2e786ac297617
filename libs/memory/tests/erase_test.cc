// A message is erased: nothing of it is left, wherever it had gone, in any store; everything else is; and a
// crash at any moment loses nothing.
#include <atomic>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>
#include <zstd.h>

#include "tertulia/base/log.h"
#include "tertulia/store/json_store.h"
#include "tertulia/store/memory_store.h"
#include "tertulia/store/sqlite_store.h"

#include "erase_world.h"
#include "tree.h"

namespace tertulia {
namespace erase_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using trial::bytes_under;
using trial::EraseWorld;
using trial::kCanary;

const std::string kWord(kCanary);

// Where the canary stands in a text; empty if it does not.
std::string trace_in(const std::string& text) {
  const std::size_t at = text.find(kWord);
  return at == std::string::npos ? "" : "…" + text.substr(at < 60 ? 0 : at - 60, 140) + "…";
}

class EraseMessageTest : public ::testing::TestWithParam<std::string> {
 protected:
  Path directory =
      Path(::testing::TempDir()) / ("tertulia-erase-" + GetParam() + "-" + std::to_string(::getpid()));

  EraseMessageTest() { std::filesystem::remove_all(directory); }
  ~EraseMessageTest() override { std::filesystem::remove_all(directory); }

  std::shared_ptr<Store> open() {
    if (GetParam() == "memory") return open_memory_store();
    if (GetParam() == "json") return open_json_store(real_env(), directory).value();
    SqliteOptions options;
    if (GetParam() == "encrypted") options.master_key = Secret(std::string(32, 'k'));
    return open_sqlite_store(real_env(), directory, std::move(options)).value();
  }
  bool has_files() const { return GetParam() != "memory"; }
};

TEST_P(EraseMessageTest, LeavesNoTraceOfItAndAllOfTheRest) {
  EraseWorld world(open(), real_env());
  world.tell();
  ASSERT_NE(trace_in(world.all_text()), "");
  const Revision before = load(world.store(), EraseWorld::key()).value().session.revision;
  const std::vector<MessageId> both{world.said, world.looked};
  const ErasedMemory report = world.memory().erase_messages(EraseWorld::key(), both).value();
  EXPECT_EQ(report.messages, 2U);
  EXPECT_EQ(report.items, 2U);
  EXPECT_EQ(report.episodes, 1U);
  EXPECT_EQ(report.summaries, 1U);
  EXPECT_EQ(report.records, 3U) << "the text of a prompt, the events of the turn, a checkpoint";
  EXPECT_EQ(report.prompt_parts, 1U);

  const std::string left = world.all_text();
  EXPECT_EQ(trace_in(left), "");
  for (const std::string kept :
       {"garden is in bloom", "lovely bird", "roses need water", "tulips need shade",
        "water the roses on Mondays", "helpful assistant", "something else", "calm", "green"}) {
    EXPECT_NE(left.find(kept), std::string::npos) << kept;
  }
  if (has_files()) EXPECT_EQ(trace_in(bytes_under(directory)), "");
  EXPECT_TRUE(verify(world.store()).value().problems.empty());
  const SessionState state = load(world.store(), EraseWorld::key()).value();
  EXPECT_EQ(number(state.session.revision), number(before) + 1);
  EXPECT_THAT(state.branches, SizeIs(2));
  EXPECT_THAT(world.records(EraseWorld::key(), RecordKind::kSubmission), SizeIs(1));
}

TEST_P(EraseMessageTest, KeepsThePlaceOfTheMessageOnEveryBranch) {
  EraseWorld world(open(), real_env());
  world.tell();
  const std::vector<Message> before = world.messages(EraseWorld::side());
  world.memory().erase_messages(EraseWorld::key(), std::vector{world.said, world.looked}).value();
  const std::vector<Message> after = world.messages(EraseWorld::side());
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].id(), before[i].id());
    const bool gone = after[i].id() == world.said || after[i].id() == world.looked;
    EXPECT_EQ(is_erased(after[i]), gone);
    if (!gone) EXPECT_EQ(after[i], before[i]);
  }
  // What is gone stays gone after a restart, and is found by nobody.
  world.restart();
  const CollectionId known = EraseWorld::known();
  for (const Recalled& one : world.semantic().recall(std::span(&known, 1), EraseWorld::words()).value()) {
    EXPECT_EQ(trace_in(one.text), "");
  }
  EXPECT_THAT(world.semantic().facts(known).value(), SizeIs(1));
}

INSTANTIATE_TEST_SUITE_P(EveryStore, EraseMessageTest,
                         ::testing::Values("memory", "json", "sqlite", "encrypted"),
                         [](const auto& info) { return info.param; });

// The content of every column of every row, and what unpacking gives from any byte of it on.
class Database {
 public:
  explicit Database(const Path& file) {
    EXPECT_EQ(sqlite3_open_v2(file.c_str(), &handle_, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    const Path path = trial::source_dir() / "libs/store/data/turn_dictionary_1";
    std::ifstream in(path, std::ios::binary);
    dictionary_.assign(std::istreambuf_iterator<char>(in), {});
    EXPECT_FALSE(dictionary_.empty());
  }
  ~Database() {
    sqlite3_close(handle_);
    ZSTD_freeDCtx(unpacker_);
  }

  std::vector<std::string> column(const std::string& sql) {
    std::vector<std::string> values;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sql;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, i));
        values.emplace_back(bytes == nullptr ? "" : bytes,
                            static_cast<std::size_t>(sqlite3_column_bytes(statement, i)));
      }
    }
    sqlite3_finalize(statement);
    return values;
  }

  std::string unpacked_turns() {
    std::string text;
    for (const std::string& row : column("SELECT data FROM turns")) {
      for (std::size_t from = 0; from < row.size(); ++from)
        text += unpacked(std::string_view(row).substr(from));
    }
    return text;
  }

 private:
  // Frames are kept without the bytes that they begin with.
  std::string unpacked(std::string_view packed) {
    std::string frame("\x28\xB5\x2F\xFD", 4);
    frame += packed;
    std::string out(4'096, '\0');
    const std::size_t size = ZSTD_decompress_usingDict(unpacker_, out.data(), out.size(), frame.data(),
                                                       frame.size(), dictionary_.data(), dictionary_.size());
    return ZSTD_isError(size) != 0 ? std::string() : out.substr(0, size);
  }

  sqlite3* handle_ = nullptr;
  ZSTD_DCtx* unpacker_ = ZSTD_createDCtx();
  std::string dictionary_;
};

class PackedEraseTest : public ::testing::Test {
 protected:
  Path directory = Path(::testing::TempDir()) / ("tertulia-packed-" + std::to_string(::getpid()));
  PackedEraseTest() { std::filesystem::remove_all(directory); }
  ~PackedEraseTest() override { std::filesystem::remove_all(directory); }
};

TEST_F(PackedEraseTest, ThePackedRowsHoldItNeitherPackedNorAsBytesThatWereFreed) {
  const std::shared_ptr<Store> store = open_sqlite_store(real_env(), directory).value();
  EraseWorld world(store, real_env());
  world.tell();
  std::vector<std::string> rows;
  {
    Database before(directory / "tertulia.db");
    ASSERT_NE(trace_in(before.unpacked_turns()), "") << "unpacking must be able to find it";
    rows = before.column("SELECT data FROM turns");
  }
  world.memory().erase_messages(EraseWorld::key(), std::vector{world.said, world.looked}).value();
  Database after(directory / "tertulia.db");
  EXPECT_EQ(trace_in(after.unpacked_turns()), "");
  EXPECT_NE(after.unpacked_turns().find("lovely bird"), std::string::npos);

  // The packed bytes of the rows that went: in no page, free or not, and not in the log.
  std::string kept;
  for (const std::string& row : after.column("SELECT data FROM turns")) kept += row;
  const std::string files = bytes_under(directory);
  std::size_t looked_for = 0;
  for (const std::string& row : rows) {
    for (std::size_t at = 0; at + 24 <= row.size(); at += 8) {
      const std::string piece = row.substr(at, 24);
      if (kept.find(piece) != std::string::npos) continue;
      ++looked_for;
      EXPECT_EQ(files.find(piece), std::string::npos) << "byte " << at << " of a row that was erased";
    }
  }
  EXPECT_GT(looked_for, 5U);
}

class OneStoreTest : public ::testing::Test {
 protected:
  SimEnv env{1};
  std::shared_ptr<Store> store = open_memory_store();
  EraseWorld world{store, env};
  OneStoreTest() { world.tell(); }
};

// Somebody who talks without a pause, and knows what was acknowledged.
class Talker {
 public:
  Talker(Store& store, SessionKey key) : store_(store), key_(std::move(key)), thread_([this] { talk(); }) {}
  ~Talker() { stop(); }
  Talker(const Talker&) = delete;
  Talker& operator=(const Talker&) = delete;

  std::vector<MessageId> stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
    return acknowledged_;
  }
  // It says so many more, some of them before this returns.
  void let_talk(std::size_t turns) {
    const std::size_t before = count_;
    allowed_ = before + turns;
    while (count_ == before) std::this_thread::yield();
  }

 private:
  void talk() {
    UuidMaker ids(real_env().clock(), real_env().random());
    while (!stopping_) {
      if (count_ >= allowed_) {
        std::this_thread::yield();
        continue;
      }
      const Result<SessionState> state = load(store_, key_);
      if (!state) {
        ASSERT_EQ(state.error().code(), ErrorCode::kTurnRunning);
        continue;
      }
      const Time now = real_env().clock().now();
      const Message message =
          Message::text(MessageId(ids.make()), Role::kUser, "And another thing.", now).value();
      const Result<Revision> done =
          commit(store_,
                 {.key = key_,
                  .expected = state->session.revision,
                  .conditions = {},
                  .changes = {AppendTurn{.branch = main_branch(),
                                         .turn = Turn::from_messages(TurnId(ids.make()), {message}).value()}},
                  .time = now});
      if (!done) continue;
      acknowledged_.push_back(message.id());
      ++count_;
    }
  }

  Store& store_;
  SessionKey key_;
  std::vector<MessageId> acknowledged_;
  std::atomic<std::size_t> count_ = 0;
  std::atomic<std::size_t> allowed_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

TEST_P(EraseMessageTest, NothingIsLostThatWasSaidMeanwhile) {
  const std::shared_ptr<Store> store = open();
  EraseWorld world(store, real_env());
  world.tell();
  const std::vector<Message> before = world.messages();
  Talker talker(*store, EraseWorld::key());
  for (const Message& message : before) {
    talker.let_talk(20);
    world.memory().erase_messages(EraseWorld::key(), std::vector{message.id()}).value();
  }
  const std::vector<MessageId> said = talker.stop();
  std::set<MessageId> there;
  for (const Message& message : world.messages()) there.insert(message.id());
  std::size_t lost = 0;
  for (const MessageId& id : said) lost += there.contains(id) ? 0 : 1;
  EXPECT_EQ(lost, 0U) << "of " << said.size();
  EXPECT_EQ(trace_in(world.all_text()), "");
}

TEST_F(OneStoreTest, ErasingTwiceIsFineAndAnUnknownMessageIsNot) {
  const std::vector<MessageId> one{world.said};
  EXPECT_EQ(world.memory().erase_messages(EraseWorld::key(), one).value().messages, 1U);
  EXPECT_EQ(world.memory().erase_messages(EraseWorld::key(), one).value().messages, 0U);
  EXPECT_EQ(world.memory().erase_messages(EraseWorld::key(), std::vector{MessageId()}).error().code(),
            ErrorCode::kNoMessage);
}

TEST_F(OneStoreTest, AnEpisodeThatCannotBeReadIsInNobodysWay) {
  const SessionKey broken{EraseWorld::key().tenant, EraseWorld::key().owner,
                          SessionId::parse("broken").value()};
  const BranchId main = BranchId::parse("main").value();
  Record episode{
      .stream = {.kind = RecordKind::kEpisode, .branch = main}, .number = 1, .payload = R"({"a":1})"};
  commit(*store, {.key = broken,
                  .expected = std::nullopt,
                  .changes = {PutSession{}, PutBranch{{.id = main}}, AddRecord{std::move(episode)}}})
      .value();
  EXPECT_TRUE(world.memory().episodic().list(broken.tenant, broken.owner).ok());
  EXPECT_THAT(world.memory().episodic().damaged(broken.tenant, broken.owner).value(),
              testing::ElementsAre(broken.session));
  EXPECT_EQ(world.memory().erase_messages(EraseWorld::key(), std::vector{world.said}).value().messages, 1U);
}

TEST_F(OneStoreTest, ACallKeepsItsToolAndLosesItsArguments) {
  const MessageId call = world.messages()[3].id();
  world.memory().erase_messages(EraseWorld::key(), std::vector{call}).value();
  const Message message = world.messages()[3];
  EXPECT_EQ(message.part(0).name, "look");
  EXPECT_EQ(message.part(0).text, "{}");
  const auto calls = world.records(EraseWorld::key(), RecordKind::kToolCall);
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_THAT(calls[0].record.payload, Not(HasSubstr("cupboard\"")));
  EXPECT_NE(trace_in(calls[0].record.payload), "") << "the result is another message";
}

TEST_F(OneStoreTest, ATurnThatIsNotFinishedIsInTheWay) {
  note(*store, {.key = EraseWorld::key(),
                .conditions = {},
                .changes = {AddRecord{{.stream = {.kind = RecordKind::kJournal, .branch = main_branch()},
                                       .number = 1,
                                       .time = env.clock().now(),
                                       .payload = "{}"}}}})
      .value();
  EXPECT_EQ(world.memory().erase_messages(EraseWorld::key(), std::vector{world.said}).error().code(),
            ErrorCode::kTurnRunning);
  EXPECT_NE(trace_in(world.all_text(EraseWorld::key())), "");
}

TEST_F(OneStoreTest, APromptThatShowedItCannotBeMadeAgainAndSaysWhy) {
  world.memory().erase_messages(EraseWorld::key(), std::vector{world.said}).value();
  const Receipt receipt =
      read_receipts(*store, EraseWorld::key(),
                    read_turns(*store, EraseWorld::key(), {.branch = main_branch()}).value()[1].turn.id())
          .value()
          .front();
  EXPECT_EQ(rebuild_prompt(*store, EraseWorld::key(), receipt).error().code(), ErrorCode::kNotFound);
}

std::shared_ptr<Store> open_quietly(SimEnv& env, const std::string& kind) {
  if (kind == "sqlite") return open_sqlite_store(env, "/data", {.readers = 1}).value();
  Log log(make_log_sink(stderr, LogFormat::kHuman), env.clock(), LogLevel::kError);
  return open_json_store(env, "/data", {.log = log}).value();
}

// Cuts the power after `cut` changes of the disk while messages are erased, starts again, and looks.
bool erased_before_cut(const std::string& kind, std::uint64_t cut) {
  SimEnv env(cut);
  std::vector<MessageId> both;
  bool finished = false;
  std::size_t branches = 0;
  {
    EraseWorld world(open_quietly(env, kind), env);
    world.tell();
    both = {world.said, world.looked};
    branches = world.messages().size() + world.messages(EraseWorld::side()).size();
    env.disk().set_faults({.power_off_after = cut});
    finished = world.memory().erase_messages(EraseWorld::key(), both).ok();
  }
  env.disk().crash(CrashPolicy::kLoseUnsynced);
  EraseWorld world(open_quietly(env, kind), env);
  world.memory().finish_erasing().value();
  EXPECT_EQ(world.messages().size() + world.messages(EraseWorld::side()).size(), branches)
      << kind << ", cut after change " << cut;
  if (finished) EXPECT_EQ(trace_in(world.all_text()), "");
  world.memory().erase_messages(EraseWorld::key(), both).value();
  EXPECT_EQ(trace_in(world.all_text()), "") << kind << ", cut after change " << cut;
  EXPECT_TRUE(verify(world.store()).value().problems.empty());
  SessionQuery query{.tenant = EraseWorld::key().tenant, .own = OwnSessions::kToo};
  for (const SessionSummary& session : list(world.store(), query).value().sessions) {
    EXPECT_FALSE(session.key.session.text().starts_with("~erase.")) << "a copy was left";
  }
  return finished;
}

TEST(EraseCrash, APowerCutAtAnyMomentLosesNoConversationAndTheNextCallErases) {
  for (const std::string kind : {"json", "sqlite"}) {
    bool finished = false;
    std::uint64_t cut = 1;
    // Every moment at first, then one of several.
    for (; !finished && cut < 1'000 && !::testing::Test::HasFailure(); cut += 1 + cut / 8) {
      finished = erased_before_cut(kind, cut);
    }
    EXPECT_TRUE(finished);
    EXPECT_GT(cut, 10U);
  }
}

TEST(EncryptedMemory, ShowsNoNamesOfDocuments) {
  const Path directory = Path(::testing::TempDir()) / ("tertulia-sealed-" + std::to_string(::getpid()));
  std::filesystem::remove_all(directory);
  {
    SqliteOptions options;
    options.master_key = Secret(std::string(32, 'k'));
    const std::shared_ptr<Store> store = open_sqlite_store(real_env(), directory, std::move(options)).value();
    SemanticMemory semantic(*store, real_env(), static_embedder());
    const CollectionId known = EraseWorld::known();
    ASSERT_TRUE(semantic
                    .ingest(known, {.source = "redundancies.md", .bytes = "Thirty people."},
                            {.kind = WriterKind::kUser, .name = "ada"})
                    .ok());
  }
  std::string all;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory)) {
    if (file.is_regular_file()) all += read_file(real_env().files(), file.path()).value();
  }
  EXPECT_EQ(all.find("redundancies"), std::string::npos);
  EXPECT_GT(all.size(), 1'000U);
  std::filesystem::remove_all(directory);
}

}  // namespace erase_test
}  // namespace tertulia
