#include "tertulia/base/log.h"

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/json.h"
#include "tertulia/base/printable.h"
#include "tertulia/base/testing/sim_clock.h"

namespace tertulia {
namespace log_test {

// Counts how often it is asked for its text.
struct CountingId {
  int* asked;
  std::string text() const {
    ++*asked;
    return "s-1";
  }
};

class Stream {
 public:
  ~Stream() { std::fclose(file_); }
  std::FILE* file() { return file_; }
  std::string text() {
    std::fflush(file_);
    std::string out(static_cast<std::size_t>(std::ftell(file_)), '\0');
    std::rewind(file_);
    out.resize(std::fread(out.data(), 1, out.size(), file_));
    return out;
  }

 private:
  std::FILE* file_ = std::tmpfile();
};

class Collector final : public LogSink {
 public:
  void write(const LogRecord& record) override {
    lines.push_back(std::string(name_of(record.level)) + " " + std::string(record.component) + " " +
                    std::string(record.message) + " " + std::to_string(record.fields.size()));
  }
  std::vector<std::string> lines;
};

class Thrower final : public LogSink {
 public:
  void write(const LogRecord&) override { throw std::runtime_error("disk full"); }
};

TEST(Log, TheHumanFormIsOneLineWithKeysAndValues) {
  Stream stream;
  SimClock clock;
  const Log log =
      Log(make_log_sink(stream.file(), LogFormat::kHuman), clock, LogLevel::kDebug).component("store");
  int asked = 0;
  const CountingId id{&asked};
  log.info("turn committed",
           {{"session", id}, {"revision", 7}, {"took", 1.5}, {"fresh", true}, {"why", "two words"}});
  EXPECT_EQ(
      stream.text(),
      "info 2025-01-01T00:00:00.000000Z [store] turn committed session=s-1 revision=7 took=1.5 fresh=true "
      "why=\"two words\"\n");
}

TEST(Log, TheJsonFormKeepsFieldsApart) {
  Stream stream;
  SimClock clock;
  const Log log(make_log_sink(stream.file(), LogFormat::kJson), clock);
  log.error("failed", {{"level", "fake"}, {"count", -3}, {"big", ~0ULL}, {"rate", NAN}, {"on", false}});
  const std::string text = stream.text();
  EXPECT_EQ(
      text,
      "{\"time\":\"2025-01-01T00:00:00.000000Z\",\"level\":\"error\",\"component\":\"tertulia\",\"message\":"
      "\"failed\",\"fields\":{\"level\":\"fake\",\"count\":-3,\"big\":18446744073709551615,\"rate\":\"nan\","
      "\"on\":false}}\n");
  EXPECT_TRUE(parse_json(text).ok());
}

TEST(Log, AValueCannotForgeALineOrAFieldOrSteerATerminal) {
  const std::string evil = "x\nerror 2025 [store] forged admin=true \x1b[2J \xc2\x9b \xff \"";
  for (LogFormat format : {LogFormat::kHuman, LogFormat::kJson}) {
    Stream stream;
    SimClock clock;
    const Log log = Log(make_log_sink(stream.file(), format), clock).component(evil);
    log.warn(evil, {{evil, evil}});
    const std::string text = stream.text();
    EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\xff'), std::string::npos);
  }
}

TEST(Log, BelowTheLevelNothingIsWrittenOrTurnedIntoText) {
  auto sink = std::make_shared<Collector>();
  SimClock clock;
  Log log(sink, clock);
  int asked = 0;
  const CountingId id{&asked};
  log.info("quiet", {{"id", id}});
  log.debug("quiet");
  EXPECT_TRUE(sink->lines.empty());
  EXPECT_EQ(asked, 0);
  Log other = log.component("agent");
  log.set_level(LogLevel::kDebug);
  other.debug("loud", {{"id", id}, {"n", 1U}});
  EXPECT_THAT(sink->lines, testing::ElementsAre("debug agent loud 2"));
  log.set_level(LogLevel::kOff);
  other.error("silence");
  EXPECT_EQ(sink->lines.size(), 1U);
}

TEST(Log, TheLibraryItselfWarnsOnly) {
  EXPECT_FALSE(Log().enabled(LogLevel::kInfo));
  EXPECT_TRUE(Log().enabled(LogLevel::kWarn));
}

TEST(Log, CanBeSentElsewhereWithAllItsHandles) {
  SimClock clock;
  const auto first = std::make_shared<Collector>();
  const auto second = std::make_shared<Collector>();
  Log log(first, clock, LogLevel::kInfo);
  const Log part = log.component("memory");
  log.set_sink(second);
  part.warn("over there");
  EXPECT_TRUE(first->lines.empty());
  EXPECT_THAT(second->lines, testing::ElementsAre("warn memory over there 0"));
}

TEST(Log, ASinkThatThrowsDoesNotStopTheWork) {
  SimClock clock;
  Log(std::make_shared<Thrower>(), clock).error("still here");
}

TEST(Log, LinesOfSeveralThreadsDoNotMix) {
  Stream stream;
  SimClock clock;
  const Log log(make_log_sink(stream.file(), LogFormat::kJson), clock);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) log.warn("a message", {{"i", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = stream.text();
  int lines = 0;
  for (std::size_t begin = 0; begin < text.size(); ++lines) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_TRUE(parse_json(text.substr(begin, end - begin)).ok());
    begin = end + 1;
  }
  EXPECT_EQ(lines, 200);
}

TEST(Log, LevelsHaveNames) {
  for (LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn, LogLevel::kError, LogLevel::kOff}) {
    EXPECT_EQ(log_level_named(name_of(level)), level);
  }
  EXPECT_EQ(log_level_named("loud"), std::nullopt);
}

TEST(Printable, EscapesWhatIsNotOneLineOfText) {
  EXPECT_EQ(printable("plain ünïcode 😀"), "plain ünïcode 😀");
  EXPECT_EQ(printable("a\nb\tc\x01\x7f"), "a\\nb\\tc\\u0001\\u007f");
  EXPECT_EQ(printable("\u009b \u2028 \u202e \u2066"), "\\u009b \\u2028 \\u202e \\u2066");
  EXPECT_EQ(printable("\xff"), "\uFFFD");
  EXPECT_EQ(printable("abcdef", 3), "abc…");
  EXPECT_EQ(in_quotes("a\"b\\"), "\"a\\\"b\\\\\"");
}

}  // namespace log_test
}  // namespace tertulia
