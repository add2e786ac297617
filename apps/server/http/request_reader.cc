#include "http/request_reader.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "tertulia/base/check.h"

#include "http/body_framing.h"

namespace tertulia::server {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using BeastView = boost::beast::string_view;

std::string_view view_of(BeastView text) { return {text.data(), text.size()}; }

Method method_of(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return Method::kGet;
    case http::verb::head:
      return Method::kHead;
    case http::verb::post:
      return Method::kPost;
    case http::verb::put:
      return Method::kPut;
    case http::verb::patch:
      return Method::kPatch;
    case http::verb::delete_:
      return Method::kDelete;
    case http::verb::options:
      return Method::kOptions;
    default:
      return Method::kOther;
  }
}

Problem problem_of(const error_code& code, const HeadLimits& limits, std::uint64_t body_limit) {
  if (code == http::error::header_limit) {
    return Problem::of(HttpProblem::kHeadersTooLarge,
                       "the head of the request is longer than " + std::to_string(limits.head_bytes) +
                           " bytes, or has more than " + std::to_string(limits.fields) + " fields",
                       {{"limit", static_cast<std::int64_t>(limits.head_bytes)}});
  }
  if (code == http::error::body_limit) {
    return Problem::of(HttpProblem::kBodyTooLarge,
                       "the body is longer than the " + std::to_string(body_limit) + " bytes allowed here",
                       {{"limit", static_cast<std::int64_t>(body_limit)}});
  }
  if (code == http::error::multiple_content_length || code == http::error::bad_content_length ||
      code == http::error::bad_transfer_encoding) {
    return Problem::of(HttpProblem::kAmbiguousLength,
                       "the length of the body is not clear: one Content-Length, or Transfer-Encoding: "
                       "chunked, not both, and nothing else");
  }
  if (code == http::error::bad_chunk) {
    return Problem::of(HttpProblem::kBadChunk, "a chunk of the body is not well-formed");
  }
  if (code == http::error::bad_version) {
    return Problem::of(HttpProblem::kUnsupportedVersion, "HTTP/1.1 and HTTP/1.0 are spoken here");
  }
  if (code == http::error::bad_line_ending) {
    return Problem::of(HttpProblem::kBadHeader, "a line of the request does not end with CR LF");
  }
  if (code == http::error::bad_field || code == http::error::bad_value || code == http::error::bad_obs_fold) {
    return Problem::of(HttpProblem::kBadHeader, "a header of the request is not well-formed");
  }
  if (code == http::error::bad_target) {
    return Problem::of(HttpProblem::kBadTarget, "the target of the request must be a path of at most " +
                                                    std::to_string(limits.target_bytes) + " bytes");
  }
  return Problem::of(HttpProblem::kBadRequestLine, "this is not an HTTP request");
}

// Where a head ends that is not looked at before `from`; nothing if it does not end here. Lines that end
// without a carriage return end a head as well, so that it is refused and not waited for.
std::size_t end_of_head(std::string_view bytes, std::size_t& from) {
  while (true) {
    const std::size_t line = bytes.find('\n', from);
    if (line == std::string_view::npos) {
      from = bytes.size();
      return line;
    }
    from = line;
    const std::string_view next = bytes.substr(line + 1, 2);
    if (next.starts_with('\n')) return line + 2;
    if (next == "\r\n") return line + 3;
    // What follows the line is not there yet.
    if (next.empty() || next == "\r") return std::string_view::npos;
    from = line + 1;
  }
}

// Whether a line goes on in the next one. No client may send that (RFC 9112, 5.2), and the parser would join
// it.
bool has_fold(std::string_view head) {
  return head.find("\n ") != std::string_view::npos || head.find("\n\t") != std::string_view::npos;
}

// A method is made of these; what begins otherwise is not HTTP, for example TLS.
bool may_begin(char c) { return c > 0x20 && c < 0x7f; }

}  // namespace

class RequestReader::Parser final : public http::basic_parser<true> {
 public:
  explicit Parser(const HeadLimits& limits) : limits_(&limits) {
    header_limit(static_cast<std::uint32_t>(limits.head_bytes));
    body_limit(boost::none);
    eager(false);
  }

  Request request;
  std::optional<Problem> problem;
  std::uint64_t wanted = 0;
  BodyFraming framing;
  ChunkedBody chunks;
  bool done = false;
  // Where to go on looking for the end of the head.
  std::size_t searched = 0;
  // The head says already that the body is longer than that.
  bool too_long = false;

 private:
  void on_request_impl(http::verb verb, BeastView, BeastView target, int version, error_code& code) override {
    request.method = method_of(verb);
    request.target = view_of(target);
    request.version = version;
    const std::size_t question = std::min(request.target.find('?'), request.target.size());
    request.path = request.target.substr(0, question);
    request.query = request.target.substr(std::min(question + 1, request.target.size()));
    const bool asterisk = request.target == "*" && request.method == Method::kOptions;
    if (request.target.size() > limits_->target_bytes || (!request.target.starts_with('/') && !asterisk)) {
      code = http::error::bad_target;
    }
  }
  void on_field_impl(http::field, BeastView name, BeastView value, error_code& code) override {
    if (request.fields.size() >= limits_->fields) {
      code = http::error::header_limit;
      return;
    }
    request.fields.push_back({view_of(name), view_of(value)});
  }
  // Only heads are given to it.
  std::size_t on_body_impl(BeastView, error_code&) override { return 0; }
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView, error_code&) override { return 0; }
  void on_response_impl(int, BeastView, int, error_code&) override {}
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  void on_chunk_header_impl(std::uint64_t, BeastView, error_code&) override {}
  void on_finish_impl(error_code&) override {}

  const HeadLimits* limits_;
};

RequestReader::RequestReader(const HeadLimits& limits)
    : limits_(limits), parser_(std::make_unique<Parser>(limits_)) {}
RequestReader::~RequestReader() = default;

RequestReader::Step RequestReader::failed(const error_code& code) {
  parser_->problem = problem_of(code, limits_, parser_->wanted);
  return Step::kProblem;
}

// The parser gets a head in one piece: of one that is cut it would take some lines and want the others.
RequestReader::Step RequestReader::read_head(std::string_view bytes, std::size_t& taken) {
  if (bytes.empty()) return Step::kMore;
  if (!may_begin(bytes.front())) return failed(http::error::bad_method);
  const std::size_t end = end_of_head(bytes, parser_->searched);
  if (end == std::string_view::npos) {
    return bytes.size() > limits_.head_bytes ? failed(http::error::header_limit) : Step::kMore;
  }
  if (bytes[end - 2] == '\n') return failed(http::error::bad_line_ending);
  if (has_fold(bytes.substr(0, end))) return failed(http::error::bad_obs_fold);
  error_code code;
  taken = parser_->put(boost::asio::buffer(bytes.data(), end), code);
  if (code == http::error::need_more) {
    code = end > limits_.head_bytes ? http::error::header_limit : http::error::bad_line_ending;
  }
  if (code) return failed(code);
  auto framing = framing_of(parser_->request);
  if (auto* problem = std::get_if<Problem>(&framing)) {
    parser_->problem = std::move(*problem);
    return Step::kProblem;
  }
  parser_->framing = std::get<BodyFraming>(framing);
  return Step::kHead;
}

RequestReader::Step RequestReader::read(std::string_view bytes, std::size_t& taken) {
  Parser& parser = *parser_;
  taken = 0;
  if (parser.too_long) return failed(http::error::body_limit);
  if (parser.problem) return Step::kProblem;
  if (!parser.is_header_done()) return read_head(bytes, taken);
  if (parser.done) return Step::kDone;
  return parser.framing.chunked ? read_chunks(bytes, taken) : read_length(bytes, taken);
}

RequestReader::Step RequestReader::read_length(std::string_view bytes, std::size_t& taken) {
  std::string& body = parser_->request.body;
  taken = std::min<std::uint64_t>(bytes.size(), parser_->framing.length - body.size());
  body.append(bytes.substr(0, taken));
  parser_->done = body.size() == parser_->framing.length;
  return parser_->done ? Step::kDone : Step::kMore;
}

RequestReader::Step RequestReader::read_chunks(std::string_view bytes, std::size_t& taken) {
  switch (parser_->chunks.read(bytes, taken, parser_->request.body, parser_->wanted)) {
    case ChunkedBody::Step::kMore:
      return Step::kMore;
    case ChunkedBody::Step::kDone:
      parser_->done = true;
      return Step::kDone;
    case ChunkedBody::Step::kBad:
      return failed(http::error::bad_chunk);
    case ChunkedBody::Step::kTooLong:
      break;
  }
  return failed(http::error::body_limit);
}

void RequestReader::want_body(std::uint64_t limit) {
  Parser& parser = *parser_;
  parser.wanted = limit;
  parser.too_long = parser.framing.length > limit;
  if (parser.too_long) return;
  parser.request.body.reserve(std::min<std::uint64_t>(parser.framing.length, 64U << 10U));
}

void RequestReader::reset() {
  // The parser, the vector of fields and the body keep their memory from request to request.
  Request kept = std::move(parser_->request);
  kept.clear();
  *parser_ = Parser(limits_);
  parser_->request = std::move(kept);
}

Request& RequestReader::request() { return parser_->request; }

const Problem& RequestReader::problem() const {
  TERTULIA_CHECK(parser_->problem.has_value(), "there is no problem to ask for");
  return *parser_->problem;
}

bool RequestReader::keep_alive() const { return parser_->keep_alive(); }

std::uint64_t RequestReader::length() const { return parser_->framing.length; }

bool RequestReader::has_body() const { return parser_->framing.chunked || parser_->framing.length > 0; }

}  // namespace tertulia::server
