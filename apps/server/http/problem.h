// A Problem: why a request is refused, as the client is told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/error.h"

namespace tertulia::server {

// What is wrong with a request as HTTP, before it means anything. Beside these a client can be told every
// ErrorCode. The names are part of the wire format.
//
// X(enumerator, wire name, status)
#define TERTULIA_HTTP_PROBLEMS(X)                         \
  X(kBadRequestLine, "bad_request_line", 400)             \
  X(kBadHeader, "bad_header", 400)                        \
  X(kAmbiguousLength, "ambiguous_length", 400)            \
  X(kBadChunk, "bad_chunk", 400)                          \
  X(kBadTarget, "bad_target", 400)                        \
  X(kBadEventId, "bad_event_id", 400)                     \
  X(kBadKey, "bad_key", 401)                              \
  X(kBadVisitorToken, "bad_visitor_token", 401)           \
  X(kOriginNotAllowed, "origin_not_allowed", 403)         \
  X(kNoRoute, "no_route", 404)                            \
  X(kMethodNotAllowed, "method_not_allowed", 405)         \
  X(kNotAcceptable, "not_acceptable", 406)                \
  X(kSlowRequest, "slow_request", 408)                    \
  X(kBodyTooLarge, "body_too_large", 413)                 \
  X(kUnsupportedMediaType, "unsupported_media_type", 415) \
  X(kBadExpectation, "bad_expectation", 417)              \
  X(kUpgradeRequired, "upgrade_required", 426)            \
  X(kHeadersTooLarge, "headers_too_large", 431)           \
  X(kInternal, "internal", 500)                           \
  X(kTooManyBytes, "too_many_bytes", 503)                 \
  X(kTooManyStreams, "too_many_streams", 503)             \
  X(kShuttingDown, "shutting_down", 503)                  \
  X(kUnsupportedVersion, "unsupported_version", 505)

enum class HttpProblem : std::uint8_t {
#define TERTULIA_X(enumerator, name, status) enumerator,
  TERTULIA_HTTP_PROBLEMS(TERTULIA_X)
#undef TERTULIA_X
};

std::string_view name_of(HttpProblem problem);
int status_of(HttpProblem problem);
// The one place that says which status an error has.
int status_of(ErrorCode code);

struct Problem {
  int status = 500;
  std::string_view code;
  std::string message;
  std::vector<ErrorFact> facts;

  static Problem of(const Error& error);
  static Problem of(HttpProblem problem, std::string sentence, std::vector<ErrorFact> facts = {});
};

// {"error":{"code":…,"message":…,…,"request":…}}
std::string native_body(const Problem& problem, std::string_view request_id);

}  // namespace tertulia::server
