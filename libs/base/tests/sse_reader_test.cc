#include "tertulia/base/sse_reader.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tertulia {
namespace sse_reader_test {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> read(std::string_view stream, std::size_t step) {
  SseReader reader;
  std::vector<std::string> events;
  for (std::size_t at = 0; at < stream.size(); at += step) {
    const Result<void> fed = reader.feed(stream.substr(at, step), [&](const SseEvent& event) -> Result<void> {
      events.push_back(std::string(event.type) + "|" + std::string(event.data) + "|" + std::string(event.id));
      return {};
    });
    EXPECT_TRUE(fed);
  }
  return events;
}

TEST(SseReader, ReadsTheSameEventsHoweverTheBytesAreCut) {
  const std::string stream =
      "\xEF\xBB\xBF: hello\r\ndata: one\r\ndata:two\r\n\r\nevent: x\nid: 7\ndata\n\ndata: \xC3\xA9\r\rid\n"
      "unknown: y\ndata:  z\n\nevent: nothing\n\n";
  const auto expected = ElementsAre("message|one\ntwo|", "x||7", "message|\xC3\xA9|7", "message| z|");
  for (std::size_t step = 1; step <= stream.size(); ++step) EXPECT_THAT(read(stream, step), expected) << step;
}

TEST(SseReader, GivesNoEventBeforeItsBlankLine) {
  EXPECT_THAT(read("data: a\n", 1), IsEmpty());
  EXPECT_THAT(read("data: a\n\n", 1), ElementsAre("message|a|"));
}

TEST(SseReader, SaysWhenTheStreamEndsWithinAnEvent) {
  const auto nothing = [](const SseEvent&) -> Result<void> { return {}; };
  for (const auto& [stream, whole] : std::vector<std::pair<std::string, bool>>{
           {"", true}, {"data: a\n\n", true}, {"data: a\n", false}, {"dat", false}, {": c\n", true}}) {
    SseReader reader;
    EXPECT_TRUE(reader.feed(stream, nothing));
    EXPECT_EQ(reader.finish().ok(), whole) << stream;
  }
}

TEST(SseReader, RefusesAnEndlessLineWithoutKeepingIt) {
  SseReader reader(1000);
  const auto nothing = [](const SseEvent&) -> Result<void> { return {}; };
  const std::string block(100, 'x');
  Result<void> fed;
  int blocks = 0;
  while (fed) {
    fed = reader.feed(block, nothing);
    ASSERT_LE(++blocks, 11);
  }
  EXPECT_EQ(fed.error().code(), ErrorCode::kBadStream);
  EXPECT_EQ(std::get<std::int64_t>(*fed.error().fact("limit")), 1000);
}

TEST(SseReader, RefusesAnEventOfEndlessDataLines) {
  SseReader reader(1000);
  Result<void> fed;
  for (int i = 0; i < 2000 && fed; ++i)
    fed = reader.feed("data: x\n", [](const SseEvent&) -> Result<void> { return {}; });
  EXPECT_FALSE(fed);
}

TEST(SseReader, HandsOnTheErrorOfItsListener) {
  SseReader reader;
  const Result<void> fed = reader.feed(
      "data: a\n\n", [](const SseEvent&) -> Result<void> { return Error(ErrorCode::kCancelled, "enough"); });
  EXPECT_EQ(fed.error().code(), ErrorCode::kCancelled);
}

TEST(SseReader, RemembersHowLongToWait) {
  SseReader reader;
  EXPECT_TRUE(reader.feed("retry: 1500\nretry: soon\n", {}));
  EXPECT_EQ(reader.retry_milliseconds(), 1500U);
}

}  // namespace sse_reader_test
}  // namespace tertulia
