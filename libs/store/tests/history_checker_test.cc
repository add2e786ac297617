#include "tertulia/store/testing/history_checker.h"

#include <gtest/gtest.h>

namespace tertulia {
namespace history_checker_test {

using Kind = RevisionCall::Kind;

RevisionCall appended(std::uint64_t expected, std::uint64_t result, std::uint64_t began,
                      std::uint64_t ended) {
  return {"s", Kind::kAppended, Revision{expected}, Revision{result}, began, ended};
}
RevisionCall conflict(std::uint64_t expected, std::uint64_t current, std::uint64_t began,
                      std::uint64_t ended) {
  return {"s", Kind::kConflict, Revision{expected}, Revision{current}, began, ended};
}
RevisionCall unknown(std::uint64_t expected, std::uint64_t began) {
  return {"s", Kind::kUnknown, Revision{expected}, Revision{}, began, 0};
}
RevisionCall read(std::uint64_t seen, std::uint64_t began, std::uint64_t ended) {
  return {"s", Kind::kRead, Revision{}, Revision{seen}, began, ended};
}

bool legal(const std::vector<RevisionCall>& calls) { return check_history(calls).ok(); }

TEST(HistoryChecker, AcceptsNothingAndOneAfterTheOther) {
  EXPECT_TRUE(legal({}));
  EXPECT_TRUE(legal({appended(1, 2, 0, 1), read(2, 2, 3), appended(2, 3, 4, 5), conflict(1, 3, 6, 7)}));
}

TEST(HistoryChecker, AcceptsOneWinnerOfTwoAtOnce) {
  EXPECT_TRUE(legal({appended(1, 2, 0, 10), conflict(1, 2, 1, 9)}));
}

TEST(HistoryChecker, RefusesTwoWinnersOfOneRevision) {
  EXPECT_FALSE(legal({appended(1, 2, 0, 10), appended(1, 2, 1, 9)}));
}

TEST(HistoryChecker, RefusesALostCommit) {
  EXPECT_FALSE(legal({appended(1, 2, 0, 1), read(1, 2, 3)}));
  EXPECT_FALSE(legal({appended(1, 2, 0, 1), appended(1, 2, 2, 3)}));
}

TEST(HistoryChecker, AcceptsEitherAnswerWhileACommitRuns) {
  EXPECT_TRUE(legal({appended(1, 2, 0, 10), read(1, 1, 2), read(2, 3, 4)}));
  EXPECT_FALSE(legal({appended(1, 2, 0, 10), read(2, 1, 2), read(1, 3, 4)}));
}

TEST(HistoryChecker, RefusesAReaderOfTheFuture) {
  EXPECT_FALSE(legal({read(2, 0, 1), appended(1, 2, 2, 3)}));
}

TEST(HistoryChecker, RefusesAConflictWithoutACause) {
  EXPECT_FALSE(legal({conflict(1, 1, 0, 1)}));
  EXPECT_FALSE(legal({conflict(1, 2, 0, 1), appended(1, 2, 2, 3)}));
}

TEST(HistoryChecker, RefusesASkippedRevision) { EXPECT_FALSE(legal({appended(1, 3, 0, 1)})); }

TEST(HistoryChecker, ACommitWithoutAnAnswerMayHaveHappenedOrNot) {
  EXPECT_TRUE(legal({unknown(1, 0), read(1, 5, 6)}));
  EXPECT_TRUE(legal({unknown(1, 0), read(2, 5, 6)}));
  EXPECT_TRUE(legal({unknown(1, 0), read(1, 5, 6), read(2, 7, 8)}));
  EXPECT_FALSE(legal({unknown(1, 0), read(2, 5, 6), read(1, 7, 8)}));
  EXPECT_FALSE(legal({read(2, 0, 1), unknown(1, 5)}));
  EXPECT_TRUE(legal({unknown(1, 0), appended(1, 2, 5, 6)}));
  EXPECT_FALSE(legal({unknown(1, 0), read(3, 5, 6)}));
}

TEST(HistoryChecker, ChecksEachSessionByItself) {
  std::vector<RevisionCall> calls{appended(1, 2, 0, 1), appended(1, 2, 2, 3)};
  calls[1].session = "other";
  EXPECT_TRUE(legal(calls));
  calls.push_back(calls[1]);
  const Result<void> checked = check_history(calls);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message().find("'other'"), std::string::npos) << checked.error().message();
}

// Every call runs at the same time as its eight neighbours: many orders, one of them right.
TEST(HistoryChecker, FindsTheOrderOfAWideHistory) {
  std::vector<RevisionCall> calls;
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    calls.push_back(appended(i + 1, i + 2, 10 * i, 10 * i + 85));
    calls.push_back(conflict(i, i + 2, 10 * i + 1, 10 * i + 84));
  }
  EXPECT_TRUE(legal(calls));
  calls.push_back(read(5, 30'000, 30'001));
  EXPECT_FALSE(legal(calls));
}

}  // namespace history_checker_test
}  // namespace tertulia
