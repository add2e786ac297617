#include "tertulia/conversation/transcript.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample.h"

namespace tertulia {
namespace transcript_test {

using sample::number_of;
using sample::says;
using sample::tool_turn;
using sample::turn;
using testing::ElementsAre;

std::vector<std::uint64_t> numbers_of(const Transcript& transcript) {
  std::vector<std::uint64_t> numbers;
  transcript.for_each(0, transcript.size(), [&](std::size_t index, const Message& message) {
    EXPECT_EQ(index, numbers.size());
    numbers.push_back(number_of(message));
  });
  return numbers;
}

// One message per turn, numbered from 0, each of one token, committed as revisions 1, 2, …
Transcript counting(std::size_t count) {
  Transcript transcript;
  for (std::size_t i = 0; i < count; ++i) transcript.append(turn({says(i, Role::kUser)}), Revision{i + 1});
  return transcript;
}

TEST(Transcript, BeginsEmpty) {
  const Transcript transcript;
  EXPECT_TRUE(transcript.empty());
  EXPECT_EQ(transcript.tokens(), Tokens{});
  EXPECT_EQ(transcript.last_revision(), Revision{});
  EXPECT_EQ(transcript.first_after(Revision{}), 0U);
  EXPECT_EQ(transcript.first_within(Tokens{}), 0U);
  EXPECT_TRUE(transcript.prefix(0).empty());
}

TEST(Transcript, KeepsMessagesInOrderWithTheirRevisionsAndTokens) {
  const Transcript transcript = counting(1'000);
  ASSERT_EQ(transcript.size(), 1'000U);
  for (std::size_t i = 0; i < 1'000; ++i) {
    ASSERT_EQ(number_of(transcript[i]), i);
    ASSERT_EQ(transcript.revision_at(i), Revision{i + 1});
    ASSERT_EQ(transcript.tokens_before(i), Tokens{i});
  }
  EXPECT_EQ(transcript.tokens(), Tokens{1'000});
  EXPECT_EQ(transcript.last_revision(), Revision{1'000});
}

TEST(Transcript, ACopyNeverChanges) {
  Transcript transcript = counting(3);
  const Transcript snapshot = transcript;
  transcript.append(turn({says(3, Role::kUser)}), Revision{4});
  EXPECT_THAT(numbers_of(snapshot), ElementsAre(0, 1, 2));
  EXPECT_THAT(numbers_of(transcript), ElementsAre(0, 1, 2, 3));
}

TEST(Transcript, ForkSharesEveryChunk) {
  const Transcript trunk = counting(500);
  Transcript fork = trunk.prefix(301);
  EXPECT_TRUE(fork.shares_prefix_with(trunk, 301));
  fork.append(turn({says(9'000, Role::kUser)}), Revision{1'000});
  EXPECT_TRUE(fork.shares_prefix_with(trunk, 301)) << "appending copies nothing";
  EXPECT_EQ(&fork[300], &trunk[300]);
  EXPECT_FALSE(fork.shares_prefix_with(trunk, 302));
  EXPECT_FALSE(counting(5).shares_prefix_with(counting(5), 1)) << "equal is not shared";
  EXPECT_EQ(number_of(trunk[301]), 301U);
  EXPECT_EQ(number_of(fork[301]), 9'000U);
}

TEST(Transcript, ForksAtOnePointGoTheirOwnWays) {
  Transcript trunk = counting(2);
  std::vector<Transcript> forks(10, trunk);
  for (std::size_t i = 0; i < forks.size(); ++i) {
    forks[i].append(turn({says(100 + i, Role::kUser)}), Revision{10 + i});
    forks[i].append(turn({says(200 + i, Role::kUser)}), Revision{20 + i});
  }
  trunk.append(turn({says(2, Role::kUser)}), Revision{3});
  EXPECT_THAT(numbers_of(trunk), ElementsAre(0, 1, 2));
  for (std::size_t i = 0; i < forks.size(); ++i) {
    EXPECT_THAT(numbers_of(forks[i]), ElementsAre(0, 1, 100 + i, 200 + i));
    EXPECT_EQ(forks[i].revision_at(3), Revision{20 + i});
    EXPECT_EQ(forks[i].tokens(), Tokens{4});
  }
}

TEST(Transcript, TakesATurnLargerThanAChunk) {
  std::vector<Message> messages;
  for (std::uint64_t i = 0; i < 200; ++i) messages.push_back(says(i, Role::kUser, i));
  Transcript transcript;
  transcript.append(turn(messages), Revision{7});
  ASSERT_EQ(transcript.size(), 200U);
  EXPECT_EQ(transcript.revision_at(199), Revision{7});
  EXPECT_EQ(transcript.turn_start(199), 0U);
  EXPECT_EQ(transcript.tokens(), Tokens{199 * 200 / 2});
}

TEST(Transcript, TokensAndRevisionsMayBeFarApart) {
  const std::uint64_t many = (1ULL << 32U) - 1;
  Transcript transcript;
  transcript.append(turn({says(0, Role::kUser, many), says(1, Role::kAssistant, many)}), Revision{1});
  transcript.append(turn({says(2, Role::kUser, many)}), Revision{1ULL << 40U});
  transcript.append(turn({says(3, Role::kUser, 0)}), Revision{1ULL << 60U});
  EXPECT_EQ(transcript.tokens(), Tokens{3 * many});
  EXPECT_EQ(transcript.revision_at(2), Revision{1ULL << 40U});
  EXPECT_EQ(transcript.revision_at(3), Revision{1ULL << 60U});
  EXPECT_EQ(transcript.first_after(Revision{1}), 2U);
  EXPECT_EQ(transcript.first_within(Tokens{many}), 2U);
  EXPECT_EQ(transcript.first_within(Tokens{2 * many}), 1U);
  EXPECT_EQ(transcript.first_within(Tokens{many - 1}), 3U);
}

TEST(Transcript, FindsTheFirstMessageOfALaterCommit) {
  Transcript transcript;
  for (std::uint64_t i = 0; i < 100; ++i) {
    transcript.append(turn({says(2 * i, Role::kUser), says(2 * i + 1, Role::kAssistant)}),
                      Revision{10 * (i + 1)});
  }
  EXPECT_EQ(transcript.first_after(Revision{0}), 0U);
  EXPECT_EQ(transcript.first_after(Revision{9}), 0U);
  EXPECT_EQ(transcript.first_after(Revision{10}), 2U);
  EXPECT_EQ(transcript.first_after(Revision{505}), 100U);
  EXPECT_EQ(transcript.first_after(Revision{1'000}), 200U);
  EXPECT_EQ(transcript.first_after(Revision{5'000}), 200U);
  EXPECT_EQ(transcript.turn_start(101), 100U);
  EXPECT_EQ(transcript.turn_start(100), 100U);
}

TEST(Transcript, ABudgetKeepsFreeMessagesInFrontOfIt) {
  Transcript transcript;
  transcript.append(turn({says(0, Role::kUser, 5), says(1, Role::kUser, 0), says(2, Role::kUser, 3)}),
                    Revision{1});
  EXPECT_EQ(transcript.first_within(Tokens{8}), 0U);
  EXPECT_EQ(transcript.first_within(Tokens{7}), 1U);
  EXPECT_EQ(transcript.first_within(Tokens{3}), 1U);
  EXPECT_EQ(transcript.first_within(Tokens{2}), 3U);
  EXPECT_EQ(transcript.first_within(Tokens{0}), 3U);
}

TEST(Transcript, KnowsWhereToolGroupsBeginAndEnd) {
  Transcript transcript;
  for (std::uint64_t i = 0; i < 30; ++i) transcript.append(tool_turn(5 * i), Revision{i + 1});
  for (std::size_t start = 0; start < 150; start += 5) {
    EXPECT_EQ(transcript.group_start(start), start);
    EXPECT_EQ(transcript.group_end(start), start + 1);
    for (std::size_t inside = start + 1; inside < start + 4; ++inside) {
      EXPECT_EQ(transcript.group_start(inside), start + 1);
      EXPECT_EQ(transcript.group_end(inside), start + 4);
    }
    EXPECT_EQ(transcript.group_start(start + 4), start + 4);
    EXPECT_EQ(transcript.group_end(start + 4), start + 5);
  }
}

TEST(Transcript, ForEachVisitsARangeAndCanBeEnded) {
  const Transcript transcript = counting(300);
  std::vector<std::size_t> visited;
  transcript.for_each(70, 200, [&](std::size_t index, const Message& message) {
    EXPECT_EQ(number_of(message), index);
    visited.push_back(index);
    return index < 140;
  });
  ASSERT_EQ(visited.size(), 71U);
  EXPECT_EQ(visited.front(), 70U);
  EXPECT_EQ(visited.back(), 140U);
}

TEST(Transcript, AMillionMessagesAreDestroyedWithoutRecursion) {
  const Turn one = turn({says(0, Role::kUser)});
  Transcript transcript;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) transcript.append(one, Revision{i + 1});
  EXPECT_EQ(transcript.size(), 1'000'000U);
  EXPECT_EQ(transcript.tokens_before(654'321), Tokens{654'321});
  transcript = Transcript();
}

TEST(Transcript, AChainOfForksIsDestroyedWithoutRecursion) {
  const Turn one = turn({says(0, Role::kUser)});
  Transcript transcript;
  for (std::uint64_t i = 0; i < 300'000; ++i) {
    // Another copy takes the room behind it, so each append begins a new chunk.
    Transcript other = transcript;
    other.append(one, Revision{i + 1});
    transcript.append(one, Revision{i + 1});
  }
  EXPECT_EQ(transcript.revision_at(123'456), Revision{123'457});
  EXPECT_EQ(transcript.tokens_before(200'000), Tokens{200'000});
  EXPECT_EQ(transcript.first_within(Tokens{1'000}), 299'000U);
  transcript = Transcript();
}

TEST(TranscriptDeathTest, ARevisionThatDoesNotRiseIsABrokenPromise) {
  Transcript transcript = counting(2);
  EXPECT_DEATH(transcript.append(turn({says(9, Role::kUser)}), Revision{2}), "higher revision");
  EXPECT_DEATH((void)transcript[2], "below size");
}

// Threads ---------------------------------------------------------------------------------------------------

// All threads begin with copies that end in the same chunk and race for the room behind it. The copies are
// handed over by starting and joining the threads.
TEST(TranscriptThreads, ForkAndAppendWhatTheyShare) {
  constexpr std::size_t kThreads = 4;
  constexpr std::uint64_t kRounds = 200;
  for (std::size_t start = 0; start < 20; ++start) {
    const Transcript trunk = counting(start);
    std::vector<Transcript> ends(kThreads);
    std::atomic<std::size_t> ready{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t, mine = trunk]() mutable {
        ready.fetch_add(1);
        while (ready.load() < kThreads) std::this_thread::yield();
        for (std::uint64_t i = 0; i < kRounds; ++i) {
          const Transcript before = mine;
          mine.append(turn({says(1'000 * (t + 1) + i, Role::kUser)}), Revision{start + 1 + i});
          Transcript other = before;
          other.append(turn({says(1, Role::kUser)}), Revision{start + 1 + i});
          EXPECT_EQ(before.size() + 1, mine.size());
          EXPECT_EQ(mine.tokens(), Tokens{mine.size()});
        }
        ends[t] = std::move(mine);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t t = 0; t < kThreads; ++t) {
      ASSERT_EQ(ends[t].size(), start + kRounds);
      EXPECT_TRUE(ends[t].shares_prefix_with(trunk, start));
      for (std::uint64_t i = 0; i < kRounds; ++i)
        ASSERT_EQ(number_of(ends[t][start + i]), 1'000 * (t + 1) + i);
    }
  }
}

// One thread appends and publishes copies under a lock; readers take a copy and read all of it meanwhile.
TEST(TranscriptThreads, ReadersSeeWholeSnapshotsWhileAWriterAppends) {
  constexpr std::uint64_t kTurns = 2'000;
  std::mutex mutex;
  Transcript published;
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&] {
      std::size_t seen = 0;
      while (seen < 5 * kTurns) {
        Transcript snapshot;
        {
          const std::lock_guard lock(mutex);
          snapshot = published;
        }
        ASSERT_GE(snapshot.size(), seen);
        seen = snapshot.size();
        const std::size_t from = snapshot.first_within(Tokens{100});
        snapshot.for_each(from, seen, [](std::size_t index, const Message& message) {
          ASSERT_EQ(number_of(message), index);
        });
      }
    });
  }
  Transcript writer;
  for (std::uint64_t i = 0; i < kTurns; ++i) {
    writer.append(tool_turn(5 * i), Revision{i + 1});
    const std::lock_guard lock(mutex);
    published = writer;
  }
  for (std::thread& reader : readers) reader.join();
}

}  // namespace transcript_test
}  // namespace tertulia
