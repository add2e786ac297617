#include "tertulia/base/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>

#include "tertulia/base/printable.h"

namespace tertulia {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

// Largest first.
constexpr std::array kDurations = {
    Unit{"d", 86'400'000'000}, Unit{"h", 3'600'000'000}, Unit{"m", 60'000'000},
    Unit{"s", 1'000'000},      Unit{"ms", 1'000},        Unit{"us", 1},
};
constexpr std::array kDecimalSizes = {Unit{"TB", 1'000'000'000'000}, Unit{"GB", 1'000'000'000},
                                      Unit{"MB", 1'000'000}, Unit{"kB", 1'000}};
constexpr std::array kSizes = {
    Unit{"TiB", 1LL << 40U},
    Unit{"GiB", 1LL << 30U},
    Unit{"MiB", 1LL << 20U},
    Unit{"KiB", 1LL << 10U},
    Unit{"B", 1},
};

const Unit* unit_named(std::span<const Unit> units, std::string_view name) {
  const auto found = std::ranges::find(units, name, &Unit::name);
  return found == units.end() ? nullptr : &*found;
}

struct Number {
  std::int64_t value = 0;
  std::string_view unit;
};

Result<Number> split(std::string_view text, std::string_view example) {
  Number number;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  const std::string shown = "'" + printable(text, 40) + "'";
  if (problem == std::errc::result_out_of_range)
    return Error(ErrorCode::kOutOfRange, shown + " is too large");
  if (problem != std::errc() || text.starts_with('-')) {
    return Error(ErrorCode::kWrongType,
                 shown + " is not a number with a unit, such as " + std::string(example));
  }
  number.unit = std::string_view(rest, text.data() + text.size());
  return number;
}

Result<std::int64_t> scaled(const Number& number, const Unit* unit, std::string_view text,
                            std::string_view units) {
  const std::string shown = "'" + printable(text, 40) + "'";
  if (unit == nullptr) {
    return Error(ErrorCode::kWrongType, shown + " needs one of the units " + std::string(units));
  }
  if (number.value > std::numeric_limits<std::int64_t>::max() / unit->factor) {
    return Error(ErrorCode::kOutOfRange, shown + " is too large");
  }
  return number.value * unit->factor;
}

std::string in_largest_unit(std::int64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0)
      return std::to_string(value / unit.factor) + std::string(unit.name);
  }
  return "0" + std::string(units.back().name);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  TERTULIA_TRY_AS(Number number, split(text, "30s"));
  TERTULIA_TRY_AS(std::int64_t value,
                  scaled(number, unit_named(kDurations, number.unit), text, "us, ms, s, m, h, d"));
  return Duration(value);
}

Result<std::int64_t> parse_size(std::string_view text) {
  TERTULIA_TRY_AS(Number number, split(text, "4MiB"));
  const Unit* unit = unit_named(kSizes, number.unit.empty() ? "B" : number.unit);
  if (unit == nullptr) unit = unit_named(kDecimalSizes, number.unit);
  return scaled(number, unit, text, "B, KiB, MiB, GiB, TiB, kB, MB, GB, TB");
}

std::string duration_text(Duration duration) { return in_largest_unit(duration.count(), kDurations); }
std::string size_text(std::int64_t bytes) { return in_largest_unit(bytes, kSizes); }

}  // namespace tertulia
