// One data directory, several that have it open: in one process here, because each opening is one of its own.
// Processes that die are in tests/crash/shared.mjs.
#include "tertulia/store/shared_store.h"

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include "tertulia/store/json_store.h"
#include "tertulia/store/session_hold.h"
#include "tertulia/store/sqlite_store.h"
#include "tertulia/store/testing/store_conformance.h"

#include "shared/channel.h"
#include "shared/door.h"
#include "shared/landed.h"
#include "sqlite_fixture.h"

namespace tertulia {
namespace shared_store_test {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::NotNull;
using Trial = StoreTrial;

SharedStoreOptions sharing_of(const Path& directory, const std::string& kind) {
  SharedStoreOptions options;
  options.kind = kind;
  options.open = [directory, kind]() -> Result<std::unique_ptr<Store>> {
    if (kind == "json") return open_json_store(real_env(), directory);
    TERTULIA_TRY_AS(std::unique_ptr<SqliteStore> store, open_sqlite_store(real_env(), directory));
    return std::unique_ptr<Store>(std::move(store));
  };
  return options;
}

std::unique_ptr<SharedStore> share(const Path& directory, const std::string& kind = "sqlite") {
  return open_shared_store(directory, sharing_of(directory, kind)).value();
}

// What is asked goes through the socket.
class ThroughSocket final : public StoreFixture {
 public:
  explicit ThroughSocket(std::string kind) : kind_(std::move(kind)) { open(); }

  Store& store() override { return *guest_; }
  void reopen() override {
    guest_.reset();
    host_.reset();
    open();
  }
  bool durable() const override { return true; }

 private:
  void open() {
    host_ = share(home_.path() / "data", kind_);
    guest_ = share(home_.path() / "data", kind_);
  }

  const std::string kind_;
  TempDirectory home_;
  std::unique_ptr<SharedStore> host_;
  std::unique_ptr<SharedStore> guest_;
};

TERTULIA_STORE_CONFORMANCE(SharedSqlite, [] { return std::make_unique<ThroughSocket>("sqlite"); });
TERTULIA_STORE_CONFORMANCE(SharedJson, [] { return std::make_unique<ThroughSocket>("json"); });

// A restart is the end of whoever held the store: the one that was asked takes it over.
class HandedOver final : public StoreFixture {
 public:
  Store& store() override { return *guest_; }
  void reopen() override {
    host_ = std::move(guest_);
    guest_ = share(home_.path() / "data");
  }
  bool durable() const override { return true; }

 private:
  TempDirectory home_;
  std::unique_ptr<SharedStore> host_ = share(home_.path() / "data");
  std::unique_ptr<SharedStore> guest_ = share(home_.path() / "data");
};

TERTULIA_STORE_CONFORMANCE(SharedHandedOver, [] { return std::make_unique<HandedOver>(); });

class SharedStoreTest : public testing::Test {
 protected:
  Path directory() const { return home_.path() / "data"; }

  // Keeps what it is told.
  std::unique_ptr<SharedStore> share_and_hear(std::vector<SessionKey>& heard) {
    SharedStoreOptions options = sharing_of(directory(), "sqlite");
    options.changed = [&heard, this](const SessionKey& key) {
      const std::lock_guard lock(mutex_);
      heard.push_back(key);
    };
    return open_shared_store(directory(), std::move(options)).value();
  }

  TempDirectory home_;
  std::mutex mutex_;
};

TEST_F(SharedStoreTest, OneHoldsTheStoreAndAllSeeTheSame) {
  const auto first = share(directory());
  const auto second = share(directory());
  EXPECT_THAT(first->held(), NotNull());
  EXPECT_EQ(second->held(), nullptr);
  EXPECT_EQ(second->kind(), "sqlite");
  const SessionKey key = Trial::key();
  ASSERT_TRUE(commit(*second, Trial::first(key)).ok());
  EXPECT_EQ(load(*first, key).value().session, load(*second, key).value().session);
  EXPECT_THAT(verify(*second).value().problems, IsEmpty());
}

TEST_F(SharedStoreTest, TheEndOfWhoHeldItHandsTheStoreOver) {
  auto first = share(directory());
  const auto second = share(directory());
  const auto third = share(directory());
  const SessionKey key = Trial::key();
  ASSERT_TRUE(commit(*second, Trial::first(key)).ok());
  first.reset();
  // Asked while nobody, or the next one, holds it.
  const SessionState state = load(*third, key).value();
  EXPECT_EQ(state.session.revision, Revision{1});
  EXPECT_EQ(load(*second, key).value().session, state.session);
  EXPECT_NE(second->held() == nullptr, third->held() == nullptr) << "exactly one holds it";
}

TEST_F(SharedStoreTest, WritersAreCountedOnceWhileTheStoreIsHandedOverAgainAndAgain) {
  constexpr int kEach = 60;
  const SessionKey key = Trial::key();
  ASSERT_TRUE(commit(*share(directory()), Trial::first(key)).ok());
  std::atomic<std::uint64_t> number = 1'000;
  std::atomic<int> writing = 2;
  const auto write = [&] {
    const auto store = share(directory());
    for (int made = 0; made < kEach;) {
      const Revision seen = load(*store, key).value().session.revision;
      const std::uint64_t n = number.fetch_add(2);
      const auto done = commit(
          *store,
          Trial::of(
              key, seen,
              {AppendTurn{
                  .branch = Trial::branch("main"), .turn = Trial::turn(n), .tool_calls = {}, .state = {}}}));
      if (done) ++made;
      EXPECT_TRUE(done || done.error().code() == ErrorCode::kRevisionConflict) << done.error().message();
    }
    --writing;
  };
  std::thread one(write);
  std::thread other(write);
  // Whoever comes here may get the store, and gives it away at once.
  while (writing > 0) share(directory()).reset();
  one.join();
  other.join();
  const auto store = share(directory());
  const SessionState state = load(*store, key).value();
  EXPECT_EQ(state.branches.at(0).message_count, 4 * kEach);
  EXPECT_EQ(state.session.revision, Revision{1 + 2 * kEach});
  EXPECT_THAT(verify(*store).value().problems, IsEmpty());
}

TEST_F(SharedStoreTest, EachHearsWhatTheOthersChangeAndNothingOfItsOwn) {
  std::vector<SessionKey> heard_by_first;
  std::vector<SessionKey> heard_by_second;
  const auto first = share_and_hear(heard_by_first);
  const auto second = share_and_hear(heard_by_second);
  const SessionKey key = Trial::key();
  ASSERT_TRUE(commit(*second, Trial::first(key)).ok());
  {
    const std::lock_guard lock(mutex_);
    EXPECT_THAT(heard_by_first, ElementsAre(key)) << "before the one who changed it has its answer";
  }
  ASSERT_TRUE(erase(*first, {.tenant = key.tenant, .owner = key.owner, .session = {}}).ok());
  // Whatever is answered behind it was said behind it.
  ASSERT_TRUE(verify(*second).ok());
  const std::lock_guard lock(mutex_);
  EXPECT_THAT(heard_by_first, ElementsAre(key));
  EXPECT_THAT(heard_by_second, ElementsAre(SessionKey{key.tenant, key.owner, {}}));
}

TEST_F(SharedStoreTest, AHoldOfOneKeepsTheOthersOut) {
  const auto first = share(directory());
  const auto second = share(directory());
  const SessionKey key = Trial::key();
  ASSERT_TRUE(commit(*second, Trial::first(key)).ok());
  {
    const SessionHold hold = SessionHold::take(*second, key).value();
    EXPECT_EQ(load(*first, key).error().code(), ErrorCode::kTurnRunning);
    EXPECT_TRUE(load(*second, key).ok()) << "the thread that holds it goes on";
    EXPECT_EQ(std::async(std::launch::async, [&] { return load(*second, key); }).get().error().code(),
              ErrorCode::kTurnRunning);
  }
  EXPECT_TRUE(load(*first, key).ok());
}

TEST_F(SharedStoreTest, AHoldDiesWithWhoKeptItAndItsThreadDoesNotGoOn) {
  auto first = share(directory());
  const auto second = share(directory());
  const SessionKey key = Trial::key();
  ASSERT_TRUE(commit(*second, Trial::first(key)).ok());
  {
    const SessionHold hold = SessionHold::take(*second, key).value();
    first.reset();
    while (second->held() == nullptr && load(*second, key).ok()) std::this_thread::yield();
  }
  EXPECT_TRUE(load(*second, key).ok());
}

TEST_F(SharedStoreTest, ATurnThatIsNotThereHasNotLandedWhateverTheFieldsSay) {
  const auto store = share(directory());
  const SessionKey key = Trial::key();
  ASSERT_TRUE(commit(*store, Trial::first(key)).ok());
  const Session session = load(*store, key).value().session;
  const Commit lost = Trial::of(
      key, Revision{1},
      {PutSession{session},
       AppendTurn{.branch = Trial::branch("main"), .turn = Trial::turn(0), .tool_calls = {}, .state = {}}});
  // Somebody else's commit moves the revision and leaves the fields as they are.
  ASSERT_TRUE(commit(*store, Trial::of(key, Revision{1}, {PutSession{session}})).ok());
  const std::string body = body_of(lost).value();
  EXPECT_EQ(look_for_change(*store, Verb::kCommit, body), std::nullopt);
  Commit again = lost;
  again.expected = Revision{2};
  ASSERT_TRUE(commit(*store, again).ok());
  EXPECT_NE(look_for_change(*store, Verb::kCommit, body_of(again).value()), std::nullopt);
}

TEST_F(SharedStoreTest, AnotherVersionIsRefusedAndNamed) {
  const auto alone = open_sqlite_store(real_env(), directory()).value();
  const Descriptor door = listen_in(directory(), kStoreSocket).value();
  std::thread newer([&door] {
    pollfd wait{door.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, 10'000), 1);
    const Descriptor socket(::accept(door.get(), nullptr, nullptr));
    const std::string hello =
        frame_of({.verb = Verb::kHello}, body_of(Hello{.version = kWireVersion + 1, .kind = "sqlite"}));
    EXPECT_EQ(::send(socket.get(), hello.data(), hello.size(), 0), static_cast<ssize_t>(hello.size()));
    // Until the other end has gone.
    std::array<char, 64> rest{};
    while (::recv(socket.get(), rest.data(), rest.size(), 0) > 0) continue;
  });
  const auto refused = open_shared_store(directory(), sharing_of(directory(), "sqlite"));
  newer.join();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kNeedsVersion);
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("another version"));
}

TEST_F(SharedStoreTest, BytesThatAreNoQuestionEndTheirConnectionOnly) {
  const auto host = share(directory());
  const auto guest = share(directory());
  for (const std::string& bytes :
       {std::string(4, '\xff'), std::string("GET / HTTP/1.1\r\n\r\n"), std::string(64, '\0'),
        frame_of({.verb = Verb::kCommit, .number = 1}, "not asked politely"),
        frame_of({.verb = Verb::kHello}, body_of(Hello{})) + frame_of({.verb = Verb::kCommit}, "\x01\x02") +
            frame_of({.verb = Verb::kAnswer}, "") + std::string(32, 'x')}) {
    const Descriptor socket = connect_in(directory(), kStoreSocket).value();
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    ::shutdown(socket.get(), SHUT_WR);
    std::array<char, 4'096> answer{};
    pollfd wait{socket.get(), POLLIN, 0};
    do {
      ASSERT_EQ(::poll(&wait, 1, 10'000), 1);
    } while (::recv(socket.get(), answer.data(), answer.size(), 0) > 0);
  }
  EXPECT_TRUE(commit(*guest, Trial::first(Trial::key())).ok());
}

TEST_F(SharedStoreTest, WhoSharesNothingIsNamedAsBefore) {
  const auto alone = open_sqlite_store(real_env(), directory()).value();
  SharedStoreOptions options = sharing_of(directory(), "sqlite");
  options.patience = std::chrono::milliseconds(50);
  const auto refused = open_shared_store(directory(), std::move(options));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kLocked);
  EXPECT_NE(refused.error().fact("pid"), nullptr);
}

}  // namespace shared_store_test
}  // namespace tertulia
