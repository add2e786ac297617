#include "chat/kept_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_clock.h"

namespace tertulia::cli {
namespace kept_log_test {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(KeptLog, GivesWhatWasLoggedOnceAndCountsWhatWasSaidAgain) {
  SimClock clock;
  const auto kept = std::make_shared<KeptLog>();
  const Log log(kept, clock, LogLevel::kWarn);
  log.warn("the model wrote no summary", {{"reason", "a\nb"}});
  log.error("a journal is damaged");
  log.error("a journal is damaged");
  log.info("not this");
  EXPECT_THAT(kept->take(), ElementsAre("warn: the model wrote no summary reason=\"a\\nb\"",
                                        "error: a journal is damaged (2 times)"));
  EXPECT_THAT(kept->take(), IsEmpty());
}

TEST(KeptLog, SaysHowManyDidNotFit) {
  SimClock clock;
  const auto kept = std::make_shared<KeptLog>();
  const Log log(kept, clock, LogLevel::kWarn);
  for (int i = 0; i < 23; ++i) log.warn("again", {{"number", i}});
  const std::vector<std::string> lines = kept->take();
  EXPECT_EQ(lines.size(), 21U);
  EXPECT_EQ(lines.back(), "and 3 more");
}

}  // namespace kept_log_test
}  // namespace tertulia::cli
