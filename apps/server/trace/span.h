// A Span: something that took time, as OpenTelemetry tells it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tertulia/base/clock.h"

namespace tertulia::server {

using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

enum class SpanKind : std::uint8_t { kInternal = 1, kServer = 2, kClient = 3 };

struct Span {
  using Value = std::variant<std::string, std::int64_t>;

  TraceId trace{};
  SpanId id{};
  // All zero: none.
  SpanId parent{};
  std::string name{};
  SpanKind kind = SpanKind::kInternal;
  Time begun{};
  Duration took{};
  std::vector<std::pair<std::string_view, Value>> attributes{};
  // Why it failed; empty if it did not.
  std::string failed{};
};

// Where spans go. Concurrency: any thread; it never blocks.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void add(Span span) = 0;
};

}  // namespace tertulia::server
