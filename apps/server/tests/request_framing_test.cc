// Every way to say how long a body is: what RFC 9112 does not allow is refused, and nothing behind it is
// read.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "http/body_framing.h"
#include "http/request_reader.h"

namespace tertulia::server {
namespace request_framing_test {

using Step = RequestReader::Step;

constexpr HeadLimits kLimits;
constexpr std::uint64_t kBodyLimit = 100;
constexpr std::string_view kNext = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n";

// What a reader makes of bytes that come in pieces: each request's path and body, then how it ended.
std::string reading(std::string_view bytes, std::size_t piece) {
  RequestReader reader(kLimits);
  std::string told;
  std::string in;
  std::size_t came = 0;
  const auto more = [&] {
    if (came == bytes.size()) return false;
    in += bytes.substr(came, piece);
    came = std::min(came + piece, bytes.size());
    return true;
  };
  while (true) {
    std::size_t taken = 0;
    // The head stays where it is while it is read.
    in.reserve(bytes.size());
    Step step = reader.read(in, taken);
    while (step == Step::kMore && more()) step = reader.read(in, taken);
    if (step == Step::kMore) return told + "|";
    if (step == Step::kProblem) return told + std::string(reader.problem().code);
    told += std::string(reader.request().path) + "=";
    in.erase(0, taken);
    reader.want_body(kBodyLimit);
    do {
      step = reader.read(in, taken);
      in.erase(0, taken);
    } while (step == Step::kMore && more());
    if (step == Step::kMore) return told + "?";
    if (step == Step::kProblem) return told + std::string(reader.problem().code);
    told += reader.request().body + ";";
    reader.reset();
  }
}

std::string whole(std::string_view bytes) {
  const std::string at_once = reading(bytes, bytes.size());
  EXPECT_EQ(reading(bytes, 1), at_once);
  EXPECT_EQ(reading(bytes, 7), at_once);
  return at_once;
}

// Header lines as they are sent, and whether they are a correct way to say it.
struct Said {
  std::string_view lines;
  bool correct;
};

const std::vector<Said> kEncodings = {
    {"", true},
    {"Transfer-Encoding: chunked\r\n", true},
    {"transfer-encoding:chunked\r\n", true},
    {"Transfer-Encoding: \t CHUNKED \t\r\n", true},
    {"Transfer-Encoding: identity\r\n", false},
    {"Transfer-Encoding: gzip\r\n", false},
    {"Transfer-Encoding: xchunked\r\n", false},
    {"Transfer-Encoding: chunkedx\r\n", false},
    {"Transfer-Encoding: chunked, gzip\r\n", false},
    {"Transfer-Encoding: gzip, chunked\r\n", false},
    {"Transfer-Encoding: chunked, chunked\r\n", false},
    {"Transfer-Encoding: chunked,\r\n", false},
    {"Transfer-Encoding: ,chunked\r\n", false},
    {"Transfer-Encoding: \"chunked\"\r\n", false},
    {"Transfer-Encoding: 'chunked'\r\n", false},
    {"Transfer-Encoding: chunked;q=1\r\n", false},
    {"Transfer-Encoding:\r\n", false},
    {"Transfer-Encoding: chu nked\r\n", false},
    {"Transfer-Encoding: \x0b"
     "chunked\r\n",
     false},
    {"Transfer-Encoding: chunked\x7f\r\n", false},
    {"Transfer-Encoding: \xc2\xa0"
     "chunked\r\n",
     false},
    {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", false},
    {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", false},
    {"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", false},
    {"Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n", false},
    {"Transfer-Encoding:\r\n chunked\r\n", false},
    {"Transfer-Encoding: chunked\r\n ,gzip\r\n", false},
    {"Transfer-Encoding : chunked\r\n", false},
    {"Transfer-Encoding\t: chunked\r\n", false},
    {" Transfer-Encoding: chunked\r\n", false},
    {"Transfer-Encoding: chunked\n", false},
    {"Transfer-Encoding: chunked\rX: y\r\n", false},
};

const std::vector<Said> kLengths = {
    {"", true},
    {"Content-Length: 5\r\n", true},
    {"Content-Length: 005\r\n", true},
    {"content-length:5 \r\n", true},
    {"Content-Length: +5\r\n", false},
    {"Content-Length: -5\r\n", false},
    {"Content-Length: 5, 5\r\n", false},
    {"Content-Length: 5,6\r\n", false},
    {"Content-Length: 0x5\r\n", false},
    {"Content-Length: 5 5\r\n", false},
    {"Content-Length: 5.0\r\n", false},
    {"Content-Length: 5e0\r\n", false},
    {"Content-Length:\r\n", false},
    {"Content-Length: five\r\n", false},
    {"Content-Length: \"5\"\r\n", false},
    {"Content-Length: 18446744073709551616\r\n", false},
    {"Content-Length: 18446744073709551621\r\n", false},
    {"Content-Length: 99999999999999999999999\r\n", false},
    {"Content-Length: 5\r\nContent-Length: 5\r\n", false},
    {"Content-Length: 5\r\nContent-Length: 0\r\n", false},
    {"Content-Length: 5\r\nContent-Length:\r\n", false},
    {"Content-Length:\r\n 5\r\n", false},
    {"Content-Length : 5\r\n", false},
    {"Content-Length: 5\r\n 5\r\n", false},
};

TEST(Framing, ReadsABodyOneWayOnlyOrNotAtAll) {
  int cases = 0;
  int accepted = 0;
  for (const std::string_view version : {"1.1", "1.0"}) {
    for (const Said& encoding : kEncodings) {
      for (const Said& length : kLengths) {
        for (const bool length_first : {false, true}) {
          if (length_first && (encoding.lines.empty() || length.lines.empty())) continue;
          ++cases;
          const bool chunked = !encoding.lines.empty();
          const bool correct = encoding.correct && length.correct && !(chunked && !length.lines.empty()) &&
                               !(chunked && version == "1.0");
          const std::string_view body = chunked                 ? "5\r\nhello\r\n0\r\n\r\n"
                                        : !length.lines.empty() ? "hello"
                                                                : "";
          std::string bytes = "POST /first HTTP/" + std::string(version) + "\r\nHost: a\r\n";
          bytes.append(length_first ? length.lines : encoding.lines);
          bytes.append(length_first ? encoding.lines : length.lines);
          bytes.append("\r\n").append(body).append(kNext);
          const std::string told = whole(bytes);
          if (correct) {
            EXPECT_EQ(told, std::string("/first=") + (body.empty() ? "" : "hello") + ";/next=;|") << bytes;
            ++accepted;
          } else {
            EXPECT_TRUE(told == "ambiguous_length" || told == "bad_header") << told << " for " << bytes;
          }
        }
      }
    }
  }
  EXPECT_GE(cases, 400);
  EXPECT_EQ(accepted, 3 + 2 * 4);
}

TEST(Framing, ReadsChunksToTheLetter) {
  const auto body_of = [](const std::string& chunks) {
    return whole("POST /first HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks +
                 std::string(kNext));
  };
  const std::string line(ChunkedBody::kMaxLineBytes - 2, 'x');
  for (const std::string& good : {
           std::string("5\r\nhello\r\n0\r\n\r\n"),
           std::string("2\r\nhe\r\n3\r\nllo\r\n000\r\n\r\n"),
           std::string("0000000000000005\r\nhello\r\n0\r\n\r\n"),
           std::string("5;a\r\nhello\r\n0;b=c\r\n\r\n"),
           std::string("5 ; a = \"q \\\" ;\" ;b\r\nhello\r\n0\r\n\r\n"),
           std::string("5\r\nhello\r\n0\r\nX: y\r\nContent-Length: 3\r\nTransfer-Encoding: gzip\r\n\r\n"),
           "5;" + line + "\r\nhello\r\n0\r\n\r\n",
       }) {
    EXPECT_EQ(body_of(good), "/first=hello;/next=;|") << good;
  }
  std::string trailers = "0\r\n";
  for (std::size_t i = 0; i * 64 <= ChunkedBody::kMaxTrailerBytes; ++i)
    trailers += "T: " + std::string(64, 't') + "\r\n";
  for (const std::string& bad : {
           std::string("\r\n5\r\nhello\r\n0\r\n\r\n"),
           std::string(" 5\r\nhello\r\n0\r\n\r\n"),
           std::string("5 \r\nhello\r\n0\r\n\r\n"),
           std::string("+5\r\nhello\r\n0\r\n\r\n"),
           std::string("-5\r\nhello\r\n0\r\n\r\n"),
           std::string("0x5\r\nhello\r\n0\r\n\r\n"),
           std::string("5h\r\nhello\r\n0\r\n\r\n"),
           std::string("5,\r\nhello\r\n0\r\n\r\n"),
           std::string("5;\r\nhello\r\n0\r\n\r\n"),
           std::string("5;=a\r\nhello\r\n0\r\n\r\n"),
           std::string("5;a=\r\nhello\r\n0\r\n\r\n"),
           std::string("5;a=\"b\r\nhello\r\n0\r\n\r\n"),
           std::string("5;a=\"\x01\"\r\nhello\r\n0\r\n\r\n"),
           std::string("5;a b\r\nhello\r\n0\r\n\r\n"),
           std::string("5\nhello\r\n0\r\n\r\n"),
           std::string("5\rhello\r\n0\r\n\r\n"),
           std::string("5\r\r\nhello\r\n0\r\n\r\n"),
           std::string("5\r\nhello\n0\r\n\r\n"),
           std::string("5\r\nhello0\r\n\r\n"),
           std::string("4\r\nhello\r\n0\r\n\r\n"),
           std::string("5\r\nhello\r\n0\r\n\n"),
           std::string("5\r\nhello\r\n0\n\r\n"),
           std::string("00000000000000005\r\nhello\r\n0\r\n\r\n"),
           std::string("10000000000000005\r\nhello\r\n0\r\n\r\n"),
           std::string("5\r\nhello\r\n0\r\nno field\r\n\r\n"),
           std::string("5\r\nhello\r\n0\r\n: x\r\n\r\n"),
           std::string("5\r\nhello\r\n0\r\nX : y\r\n\r\n"),
           std::string("5\r\nhello\r\n0\r\nX: y\r\n z\r\n\r\n"),
           std::string("5\r\nhello\r\n0\r\nX: a\x01\r\n\r\n"),
           "5;" + line + "xx\r\nhello\r\n0\r\n\r\n",
           trailers + "\r\n",
       }) {
    EXPECT_TRUE(body_of(bad).ends_with("=bad_chunk")) << bad << " gives " << body_of(bad);
  }
  EXPECT_EQ(body_of("65\r\n" + std::string(101, 'x') + "\r\n0\r\n\r\n"), "/first=body_too_large");
  EXPECT_EQ(body_of("ffffffffffffffff\r\nhello\r\n0\r\n\r\n"), "/first=body_too_large");
  EXPECT_EQ(body_of("60\r\n" + std::string(96, 'x') + "\r\n5\r\nhello\r\n0\r\n\r\n"),
            "/first=body_too_large");
}

TEST(Framing, BoundsWhatComesBesideTheData) {
  ChunkedBody body;
  std::string data;
  std::size_t taken = 0;
  auto step = ChunkedBody::Step::kMore;
  std::size_t sent = 0;
  const std::string chunk = "1;" + std::string(62, 'e') + "\r\nx\r\n";
  while (step == ChunkedBody::Step::kMore && sent < (1U << 20U)) {
    step = body.read(chunk, taken, data, 1U << 20U);
    sent += chunk.size();
  }
  EXPECT_EQ(step, ChunkedBody::Step::kBad);
  EXPECT_LT(sent, 2 * ChunkedBody::kMaxExtensionBytes);
}

TEST(Framing, RefusesHeadsThatCouldBeReadTwoWays) {
  for (const std::string_view bad : {
           "GET / HTTP/1.1\r\nHost: a\r\nX: b\rY: c\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nX: b\nY: c\r\n\r\n",
           "GET / HTTP/1.1\nHost: a\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\tc\r\n\r\n",
           "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
           "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nX(): b\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\n\xc3\xb1: b\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nX: \x08\r\n\r\n",
           "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET /  HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
           "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET / http/1.1\r\nHost: a\r\n\r\n",
           "GET / HTTP/1.10\r\nHost: a\r\n\r\n",
           "GET / HTTP/11\r\nHost: a\r\n\r\n",
           "GET / HTTP/3.0\r\nHost: a\r\n\r\n",
           "GET / HTTP/0.9\r\nHost: a\r\n\r\n",
           "GET /\r\n\r\n",
           "GET /a\x01 HTTP/1.1\r\nHost: a\r\n\r\n",
           "G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
           " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
           "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
           "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
       }) {
    const std::string told = whole(std::string(bad) + std::string(kNext));
    EXPECT_EQ(told.find('='), std::string::npos) << bad << " gives " << told;
  }
  const std::string zero =
      whole(std::string("GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n", 36) + std::string(kNext));
  EXPECT_EQ(zero, "bad_header");
}

}  // namespace request_framing_test
}  // namespace tertulia::server
