#include "trace/trace_parent.h"

#include <algorithm>
#include <charconv>

#include "trace/tracing.h"

namespace tertulia::server {
namespace {

thread_local const RequestTrace* current_trace = nullptr;

// Lower-case hex, as the standard has it; all zero is no id.
template <class Id>
bool read_id(std::string_view text, Id& id) {
  for (std::size_t i = 0; i < id.size(); ++i) {
    const std::string_view digits = text.substr(2 * i, 2);
    if (digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) return false;
    std::from_chars(digits.data(), digits.data() + digits.size(), id[i], 16);
  }
  return std::ranges::any_of(id, [](std::uint8_t byte) { return byte != 0; });
}

}  // namespace

std::optional<RequestTrace> trace_parent_in(std::string_view header, Random& random) {
  constexpr std::size_t kLength = 55;
  std::array<std::uint8_t, 1> version{};
  std::array<std::uint8_t, 1> flags{};
  if (header.size() < kLength || header[2] != '-' || header[35] != '-' || header[52] != '-')
    return std::nullopt;
  // A later version may have more behind what is known.
  const bool first = header.starts_with("00");
  if (first ? header.size() != kLength : !read_id(header, version) || version[0] == 0xff) return std::nullopt;
  if (header.size() > kLength && header[kLength] != '-') return std::nullopt;
  RequestTrace trace;
  if (!read_id(header.substr(3), trace.trace) || !read_id(header.substr(36), trace.parent))
    return std::nullopt;
  const std::string_view set = header.substr(53, 2);
  if (set != "00" && !read_id(set, flags)) return std::nullopt;
  trace.own = new_span_id(random);
  return trace;
}

TraceScope::TraceScope(const std::optional<RequestTrace>& trace) : before_(current_trace) {
  current_trace = trace ? &*trace : nullptr;
}

TraceScope::~TraceScope() { current_trace = before_; }

const RequestTrace* TraceScope::current() { return current_trace; }

}  // namespace tertulia::server
