// Requests as bytes, one behind the other, in pieces of any size: the same pieces or one must read as the
// same requests.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/read_buffer.h"
#include "http/request_reader.h"

namespace {

using tertulia::server::HeadLimits;
using tertulia::server::Query;
using tertulia::server::ReadBuffer;
using tertulia::server::Request;
using tertulia::server::RequestReader;
using Step = RequestReader::Step;

constexpr HeadLimits kLimits;
constexpr int kMostRequests = 16;

// What became of the bytes, as text.
class Reading {
 public:
  Reading(std::string_view bytes, std::size_t piece) : left_(bytes), piece_(piece) {}

  std::string text() {
    for (int i = 0; i < kMostRequests && read_one(); ++i) reader_.reset();
    return text_;
  }

 private:
  // False if no more bytes came.
  bool take_in() {
    if (left_.empty()) return false;
    in_.append(left_.substr(0, piece_));
    left_.remove_prefix(std::min(piece_, left_.size()));
    return true;
  }

  // True if there may be another one behind it.
  bool read_one() {
    std::size_t taken = 0;
    Step step = Step::kMore;
    while ((step = reader_.read(in_.unused(), taken)) == Step::kMore) {
      if (!take_in()) return tell(" more");
    }
    if (step == Step::kProblem) return tell(" problem ", reader_.problem().code);
    const Request& request = reader_.request();
    tell(" request ", request.target);
    for (const Request::Field& field : request.fields) text_.append(field.name).append(field.value);
    if (auto query = Query::parse(request.query)) (void)query->finish();
    (void)tertulia::server::percent_decoded(request.path);
    in_.use(taken);
    reader_.want_body(1U << 16U);
    while (true) {
      step = reader_.read(in_.unused(), taken);
      in_.use(taken);
      if (step != Step::kMore) break;
      if (!take_in()) return tell(" more of ", request.body);
    }
    if (step == Step::kProblem) return tell(" problem ", reader_.problem().code);
    tell(" done ", request.body);
    return reader_.keep_alive();
  }

  bool tell(std::string_view what, std::string_view more = {}) {
    text_.append(what).append(more);
    return false;
  }

  std::string_view left_;
  const std::size_t piece_;
  ReadBuffer in_;
  RequestReader reader_{kLimits};
  std::string text_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = Reading(bytes, std::max<std::size_t>(bytes.size(), 1)).text();
  const std::string pieces = Reading(bytes, data[0] % 31U + 1U).text();
  if (whole != pieces) std::abort();
  return 0;
}
