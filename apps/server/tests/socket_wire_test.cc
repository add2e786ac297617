#include "http/socket_wire.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/upgrade.h"

namespace tertulia::server {
namespace socket_wire_test {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr unsigned char kMask[] = {0x37, 0xfa, 0x21, 0x3d};

// A masked frame as clients send it. `first` holds FIN, the reserved bits and the kind.
std::string frame(unsigned first, std::string_view payload) {
  std::string out(1, static_cast<char>(first));
  if (payload.size() < 126) {
    out += static_cast<char>(0x80U | payload.size());
  } else if (payload.size() <= 0xFFFF) {
    out += static_cast<char>(0x80U | 126U);
    out += static_cast<char>(payload.size() >> 8U);
    out += static_cast<char>(payload.size() & 0xFFU);
  } else {
    out += static_cast<char>(0x80U | 127U);
    for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(payload.size() >> shift & 0xFFU);
  }
  out.append(reinterpret_cast<const char*>(kMask), 4);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    out += static_cast<char>(static_cast<unsigned char>(payload[i]) ^ kMask[i % 4]);
  }
  return out;
}
std::string text(std::string_view payload) { return frame(0x81, payload); }
std::string close_frame(unsigned code, std::string_view reason = {}) {
  std::string payload{static_cast<char>(code >> 8U), static_cast<char>(code & 0xFFU)};
  return frame(0x88, payload.append(reason));
}

struct Read {
  std::vector<std::string> messages;
  std::string output;
  bool finished = false;
};
Read read_all(std::string_view bytes, std::size_t piece = SIZE_MAX, std::size_t limit = 1'000'000) {
  SocketWire wire(limit);
  Read read;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    wire.read(bytes.substr(0, piece), read.messages);
  }
  read.output = wire.take_output();
  read.finished = wire.finished();
  return read;
}
// The code of the close frame that the server answered with last; 0 if it did not.
unsigned closed_with(const Read& read) {
  const std::size_t at = read.output.rfind('\x88');
  if (at == std::string::npos || read.output.size() < at + 4) return 0;
  return static_cast<unsigned char>(read.output[at + 2]) * 256U +
         static_cast<unsigned char>(read.output[at + 3]);
}

TEST(SocketWire, ReadsMessagesOfEveryLengthInAnyPieces) {
  const std::string medium(200, 'm');
  const std::string large(70'000, 'l');
  const std::string bytes = text("") + text("Hello") + text(medium) + text(large);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{4'096}, bytes.size()}) {
    EXPECT_THAT(read_all(bytes, piece).messages, ElementsAre("", "Hello", medium, large));
  }
}

TEST(SocketWire, PutsFragmentsTogetherAroundControlFrames) {
  const Read read = read_all(frame(0x01, "Hel") + frame(0x89, "ping") + frame(0x00, "l") + frame(0x80, "o"));
  EXPECT_THAT(read.messages, ElementsAre("Hello"));
  EXPECT_EQ(read.output, "\x8a\x04ping");
  EXPECT_FALSE(read.finished);
}

TEST(SocketWire, RefusesWhatBreaksTheProtocolWithItsCode) {
  const struct {
    std::string what;
    std::string bytes;
    unsigned code;
  } cases[] = {
      {"an extension nobody agreed on", frame(0xC1, "x"), 1002},
      {"a frame without a mask", "\x81\x01x", 1002},
      {"an unknown kind", frame(0x83, "x"), 1002},
      {"an unknown control kind", frame(0x8B, "x"), 1002},
      {"a ping in fragments", frame(0x09, "x"), 1002},
      {"a ping that is too long", frame(0x89, std::string(126, 'x')), 1002},
      {"a continuation of nothing", frame(0x80, "x"), 1002},
      {"a message in a message", frame(0x01, "x") + text("y"), 1002},
      {"a length that could be shorter", std::string("\x81\xfe\x00\x05", 4) + std::string(9, 'x'), 1002},
      {"a length beyond all numbers", "\x81\xff" + std::string(8, '\xff') + "mask", 1002},
      {"binary", frame(0x82, "x"), 1003},
      {"text that is not UTF-8", text("\xc3\x28"), 1007},
      {"half a character at the end", frame(0x01, "\xe2\x82") + frame(0x80, "x"), 1007},
      {"a close with half a code", frame(0x88, "x"), 1002},
      {"a close with a code that is none", close_frame(1005), 1002},
      {"a close with a code below all", close_frame(999), 1002},
      {"a close with a reason that is not UTF-8", close_frame(1000, "\xff"), 1007},
  };
  for (const auto& one : cases) {
    for (const std::size_t piece : {std::size_t{1}, one.bytes.size()}) {
      const Read read = read_all(one.bytes + text("behind"), piece);
      EXPECT_EQ(closed_with(read), one.code) << one.what;
      EXPECT_TRUE(read.finished) << one.what;
      EXPECT_THAT(read.messages, IsEmpty()) << one.what;
    }
  }
}

TEST(SocketWire, RefusesAMessageThatIsTooLongBeforeItCame) {
  EXPECT_THAT(read_all(text(std::string(100, 'x')), SIZE_MAX, 100).messages.size(), 1);
  const std::string longer = text(std::string(101, 'x'));
  EXPECT_EQ(closed_with(read_all(longer.substr(0, 6), SIZE_MAX, 100)), 1009);
  EXPECT_EQ(closed_with(read_all(frame(0x01, std::string(60, 'x')) + frame(0x80, std::string(60, 'x')),
                                 SIZE_MAX, 100)),
            1009);
}

TEST(SocketWire, AnswersACloseWithItsCodeAndListensToNothingBehindIt) {
  const Read read = read_all(close_frame(4001, "bye") + text("late"));
  EXPECT_EQ(closed_with(read), 4001);
  EXPECT_TRUE(read.finished);
  EXPECT_THAT(read.messages, IsEmpty());
  EXPECT_EQ(read_all(frame(0x88, "")).output, std::string("\x88\x00", 2));
}

TEST(SocketWire, SaysNothingBehindItsOwnClose) {
  SocketWire wire(100);
  wire.send("before");
  wire.close(CloseCode::kGoingAway, "so long");
  wire.send("after");
  wire.ping();
  EXPECT_EQ(wire.take_output(),
            "\x81\x06"
            "before\x88\x09\x03\xe9so long");
  EXPECT_FALSE(wire.finished());
  std::vector<std::string> messages;
  wire.read(text("on its way") + close_frame(1001), messages);
  EXPECT_TRUE(wire.finished());
  EXPECT_FALSE(wire.has_output());
  EXPECT_THAT(messages, IsEmpty());
}

TEST(SocketWire, WritesLengthsInTheirShortestForm) {
  SocketWire wire(100);
  wire.send(std::string(125, 'a'));
  EXPECT_EQ(wire.take_output().substr(0, 2), "\x81\x7d");
  wire.send(std::string(126, 'a'));
  EXPECT_EQ(wire.take_output().substr(0, 4), std::string("\x81\x7e\x00\x7e", 4));
  wire.send(std::string(65'536, 'a'));
  EXPECT_EQ(wire.take_output().substr(0, 10), std::string("\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10));
}

TEST(Upgrade, AcceptsTheKeyOfTheStandard) {
  EXPECT_EQ(accept_of("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(Upgrade, TakesAKeyFromAFirstMessageOnlyIfItCanBeAHeader) {
  EXPECT_EQ(shown_key(R"({"type":"authenticate","key":"tk_abc"})"), "tk_abc");
  EXPECT_EQ(shown_key(R"({"type":"authenticate","key":"tk\r\nX: y"})"), std::nullopt);
  EXPECT_EQ(shown_key(R"({"type":"response.create","key":"tk_abc"})"), std::nullopt);
  EXPECT_EQ(shown_key("tk_abc"), std::nullopt);
}

}  // namespace socket_wire_test
}  // namespace tertulia::server
