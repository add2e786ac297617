// Requests as bytes, in pieces of any size: the same pieces or one must read as the same request.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/request_reader.h"

namespace {

using tertulia::server::HeadLimits;
using tertulia::server::Query;
using tertulia::server::Request;
using tertulia::server::RequestReader;

constexpr HeadLimits kLimits;

// What became of the bytes, as text.
std::string read_in_pieces(std::string_view bytes, std::size_t piece) {
  RequestReader reader(kLimits);
  std::string head;
  std::size_t at = 0;
  std::size_t taken = 0;
  RequestReader::Step step = RequestReader::Step::kMore;
  // The views of a request point into what holds its head, so that is not moved.
  head.reserve(bytes.size());
  while (step == RequestReader::Step::kMore && at < bytes.size()) {
    const std::string_view part = bytes.substr(at, piece);
    head.append(part);
    at += part.size();
    step = reader.read(head, taken);
  }
  if (step == RequestReader::Step::kProblem) return "problem " + std::string(reader.problem().code);
  if (step != RequestReader::Step::kHead) return "more";
  Request& request = reader.request();
  std::string text(request.target);
  for (const Request::Field& field : request.fields) text.append(field.name).append(field.value);
  if (auto query = Query::parse(request.query)) (void)query->finish();
  (void)tertulia::server::percent_decoded(request.path);
  reader.want_body(1U << 16U);
  std::string rest = head.substr(taken);
  step = reader.read(rest, taken);
  rest.erase(0, taken);
  while (step == RequestReader::Step::kMore && at < bytes.size()) {
    const std::string_view part = bytes.substr(at, piece);
    rest.append(part);
    at += part.size();
    step = reader.read(rest, taken);
    rest.erase(0, taken);
  }
  if (step == RequestReader::Step::kProblem) return "problem " + std::string(reader.problem().code);
  return text + (step == RequestReader::Step::kDone ? " done " : " more ") + request.body;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = read_in_pieces(bytes, std::max<std::size_t>(bytes.size(), 1));
  const std::string pieces = read_in_pieces(bytes, data[0] % 31U + 1U);
  if (whole != pieces) std::abort();
  return 0;
}
