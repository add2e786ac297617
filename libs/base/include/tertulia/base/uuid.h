// A UUID of version 7 (RFC 9562): 48 bits of milliseconds, then a counter and randomness.
//
// Its text is 26 characters of [0-9a-hjkmnp-tv-z], Crockford's base 32 in lower case: it can be selected with
// a double click, stands in a URL as it is, and sorts as the time it was made. The 36-character form with
// dashes is understood too.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "tertulia/base/clock.h"
#include "tertulia/base/random.h"
#include "tertulia/base/result.h"

namespace tertulia {

class Uuid {
 public:
  static constexpr std::size_t kTextSize = 26;

  // All zero: no id.
  constexpr Uuid() = default;
  explicit constexpr Uuid(const std::array<std::uint8_t, 16>& bytes) : bytes_(bytes) {}

  // Reads either text form. kBadId if it is neither.
  static Result<Uuid> parse(std::string_view text);

  std::string text() const;
  // The 36-character form with dashes.
  std::string dashed() const;

  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  bool is_nil() const { return bytes_ == std::array<std::uint8_t, 16>{}; }
  // When a version 7 id was made. Meaningless for other versions.
  Time made_at() const;

  constexpr auto operator<=>(const Uuid&) const = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

// Makes version 7 ids that strictly rise within this maker, also when the clock stands still or goes back.
//
// Concurrency: any thread.
class UuidMaker {
 public:
  // Keeps references: both must outlive the maker.
  UuidMaker(Clock& clock, Random& random) : clock_(clock), random_(random) {}

  Uuid make();

 private:
  Clock& clock_;
  Random& random_;
  std::mutex mutex_;
  std::uint64_t last_ms_ = 0;
  std::uint64_t last_a_ = 0;  // the 12 bits after the time
  std::uint64_t last_b_ = 0;  // the 62 bits after the variant
};

}  // namespace tertulia

template <>
struct std::hash<tertulia::Uuid> {
  std::size_t operator()(const tertulia::Uuid& id) const noexcept;
};
