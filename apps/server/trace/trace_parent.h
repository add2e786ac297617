// Where a request belongs in a trace of its client: the header `traceparent` of W3C Trace Context.
//
// The span of the request is a child of the client's, and the turn that it begins a child of the request's.
#pragma once

#include <optional>
#include <string_view>

#include "tertulia/base/random.h"

#include "trace/span.h"

namespace tertulia::server {

struct RequestTrace {
  TraceId trace{};
  // The client's span, and the request's own.
  SpanId parent{};
  SpanId own{};
};

// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", with an id for the request. Nothing if it is not
// well-formed: a client's mistake here never stands in the way of its request.
std::optional<RequestTrace> trace_parent_in(std::string_view header, Random& random);

// What this thread does belongs to a request. A handler begins its turn on the thread that it is called on.
class TraceScope {
 public:
  explicit TraceScope(const std::optional<RequestTrace>& trace);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  // Of the innermost scope; nothing outside of all.
  static const RequestTrace* current();

 private:
  const RequestTrace* const before_;
};

}  // namespace tertulia::server
