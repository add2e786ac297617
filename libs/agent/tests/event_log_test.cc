#include "event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/env.h"

namespace tertulia {
namespace event_log_test {

using testing::ElementsAre;

Event event_of(EventKind kind, std::string text = {}) {
  Event event;
  event.kind = kind;
  event.text = std::move(text);
  return event;
}

std::vector<std::string> read(EventLog& log, std::uint64_t from, bool* last = nullptr) {
  std::vector<std::string> texts;
  log.read(from, 1'000, [&](Result<EventBatch> batch) {
    for (const Event& event : batch->events) {
      texts.push_back(std::to_string(event.number) + " " + event.text);
    }
    if (last != nullptr) *last = batch->last;
  });
  return texts;
}

class EventLogTest : public testing::Test {
 protected:
  TurnId turn{UuidMaker(real_env().clock(), real_env().random()).make()};
  EventLog log{turn, real_env().clock()};
};

TEST_F(EventLogTest, DeltasAreKeptTogetherAndReadOneByOne) {
  log.add(event_of(EventKind::kTurnStarted, "start"));
  log.add_delta(EventKind::kTextDelta, 0, {}, "a");
  log.add_delta(EventKind::kTextDelta, 0, {}, "bc");
  log.add_delta(EventKind::kTextDelta, 0, {}, "d");
  log.add(event_of(EventKind::kTextEnded, "end"));
  EXPECT_THAT(read(log, 0), ElementsAre("0 start", "1 a", "2 bc", "3 d", "4 end"));
  EXPECT_THAT(read(log, 2), ElementsAre("2 bc", "3 d", "4 end"));
  EXPECT_THAT(read(log, 4), ElementsAre("4 end"));
}

TEST_F(EventLogTest, WhatIsHiddenIsReadOnceItIsShown) {
  log.add(event_of(EventKind::kTurnStarted, "start"));
  log.add_hidden(event_of(EventKind::kToolCallResult, "result"));
  EXPECT_THAT(read(log, 0), ElementsAre("0 start"));
  log.show();
  EXPECT_THAT(read(log, 0), ElementsAre("0 start", "1 result"));
}

TEST_F(EventLogTest, AReaderWaitsForTheNextEventAndForTheEnd) {
  std::vector<std::uint64_t> numbers;
  bool last = false;
  const auto take = [&](Result<EventBatch> batch) {
    for (const Event& event : batch->events) numbers.push_back(event.number);
    last = batch->last;
  };
  log.read(0, 10, take);
  EXPECT_TRUE(numbers.empty());
  log.add_delta(EventKind::kTextDelta, 0, {}, "x");
  EXPECT_THAT(numbers, ElementsAre(0U));
  log.read(1, 10, take);
  EXPECT_FALSE(last);
  log.close();
  EXPECT_TRUE(last);
  EXPECT_THAT(numbers, ElementsAre(0U));
}

TEST_F(EventLogTest, WhatWasStoredIsReadTheSameAndANewLifeNumbersBeyondIt) {
  log.add(event_of(EventKind::kTurnStarted, "start"));
  log.add_delta(EventKind::kTextDelta, 0, {}, "a");
  log.add_delta(EventKind::kTextDelta, 0, {}, "b");
  const std::string first = log.take_unsaved();
  EXPECT_EQ(log.take_unsaved(), "");
  // Behind what was taken a new text begins.
  log.add_delta(EventKind::kTextDelta, 0, {}, "c");
  const std::string second = log.take_unsaved();

  EventLog again(turn, real_env().clock());
  ASSERT_TRUE(again.restore({first, second}));
  EXPECT_THAT(read(again, 0), ElementsAre("0 start", "1 a", "2 b", "3 c"));
  again.add(event_of(EventKind::kReset, "reset"));
  EXPECT_THAT(read(again, 3), ElementsAre("3 c", std::to_string(kEventsPerLife) + " reset"));

  EventLog third(turn, real_env().clock());
  ASSERT_TRUE(third.restore({first, second, again.take_unsaved()}));
  third.add(event_of(EventKind::kReset, "again"));
  EXPECT_THAT(read(third, kEventsPerLife + 1), ElementsAre(std::to_string(2 * kEventsPerLife) + " again"));
}

TEST_F(EventLogTest, WhatCouldNotBeStoredIsTakenAgainWithoutWhatWasHidden) {
  log.add(event_of(EventKind::kTurnStarted, "start"));
  log.add_hidden(event_of(EventKind::kToolCallResult, "result"));
  EXPECT_NE(log.take_unsaved(), "");
  log.take_back();
  log.add(event_of(EventKind::kTurnFailed, "failed"));
  EXPECT_THAT(read(log, 0), ElementsAre("0 start", "1 failed"));
  EventLog again(turn, real_env().clock());
  ASSERT_TRUE(again.restore({log.take_unsaved()}));
  again.add_hidden(event_of(EventKind::kReset, "reset"));
  EXPECT_NE(again.take_unsaved(), "");
  again.take_back();
  again.add(event_of(EventKind::kTurnFailed, "again"));
  // Not a number of the life before, of which a reader may know more than was stored.
  EXPECT_THAT(read(again, 0), ElementsAre("0 start", "1 failed", std::to_string(kEventsPerLife) + " again"));
}

TEST_F(EventLogTest, AnEventThatIsNotStoredInTheEndUsesNoNumber) {
  log.add(event_of(EventKind::kTurnStarted, "start"));
  EXPECT_NE(log.take_unsaved(), "");
  EXPECT_EQ(log.numbered(event_of(EventKind::kTurnCommitted)).number, 1U);
  log.take_back();
  log.add(event_of(EventKind::kTurnFailed, "failed"));
  EXPECT_THAT(read(log, 0), ElementsAre("0 start", "1 failed"));
}

TEST_F(EventLogTest, StoredEventsThatMakeNoSenseAreDamaged) {
  for (const char* text : {"", "{}", "[1]", "[{}]"}) {
    EventLog other(turn, real_env().clock());
    EXPECT_FALSE(other.restore({text})) << text;
  }
}

}  // namespace event_log_test
}  // namespace tertulia
