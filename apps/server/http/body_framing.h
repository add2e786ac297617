// Where a body ends (RFC 9112, 6 and 7), to the letter: what could be read in two ways is refused, for what
// one reader takes for a body another takes for the next request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "http/problem.h"
#include "http/request.h"

namespace tertulia::server {

struct BodyFraming {
  bool chunked = false;
  std::uint64_t length = 0;
};

// By the head alone. At most one Content-Length of digits, or exactly one Transfer-Encoding, which is
// chunked, of HTTP/1.1; never both. Everything else is kAmbiguousLength.
std::variant<BodyFraming, Problem> framing_of(const Request& request);

// The data of a body that comes in chunks. Extensions and trailers are checked and dropped; a client that
// sends more of them than these is refused, as is one whose data is longer than `limit`.
class ChunkedBody {
 public:
  static constexpr std::size_t kMaxLineBytes = 1U << 10U;
  static constexpr std::size_t kMaxExtensionBytes = 16U << 10U;
  static constexpr std::size_t kMaxTrailerBytes = 8U << 10U;

  enum class Step : std::uint8_t { kMore, kDone, kBad, kTooLong };

  // Appends what is data to `body` and says how many of `bytes` are used: all of them, up to the end of the
  // body.
  Step read(std::string_view bytes, std::size_t& taken, std::string& body, std::uint64_t limit);

 private:
  enum class At : std::uint8_t { kSize, kData, kDataEnd, kTrailer, kEnd };

  // True when `line_` holds a line without its end; `bad_` if there cannot be one.
  bool take_line(std::string_view bytes, std::size_t& taken);
  bool begin_chunk();
  bool check_trailer();

  At at_ = At::kSize;
  bool bad_ = false;
  std::string line_;
  std::uint64_t left_ = 0;
  std::size_t extension_bytes_ = 0;
  std::size_t trailer_bytes_ = 0;
};

}  // namespace tertulia::server
