#include "time_text.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace tertulia {
namespace {

namespace chrono = std::chrono;

constexpr std::int64_t kDayMicros = 86'400'000'000;

// The calendar repeats after 400 years. Years are counted within such a cycle, because chrono::year ends at
// 32767 and a Time does not.
constexpr std::int64_t kCycleYears = 400;
constexpr std::int64_t kCycleDays = 146'097;
constexpr chrono::sys_days kCycleStart = chrono::year(2000) / 1 / 1;

struct Digits {
  std::string_view text;
  bool ok = true;

  int take(std::size_t count) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (i >= text.size() || text[i] < '0' || text[i] > '9') {
        ok = false;
        return 0;
      }
      value = value * 10 + (text[i] - '0');
    }
    text.remove_prefix(count);
    return value;
  }

  void expect(char c) {
    if (!ok || !text.starts_with(c)) {
      ok = false;
      return;
    }
    text.remove_prefix(1);
  }
};

std::int64_t take_year(Digits& digits) {
  const bool negative = digits.text.starts_with('-');
  if (!negative && !digits.text.starts_with('+')) return digits.take(4);
  digits.text.remove_prefix(1);
  const std::int64_t year = digits.take(6);
  return negative ? -year : year;
}

}  // namespace

std::string time_text(Time time) {
  // Not chrono::floor, which overflows on the very first day.
  std::int64_t days = time.time_since_epoch().count() / kDayMicros;
  std::int64_t in_day = time.time_since_epoch().count() % kDayMicros;
  if (in_day < 0) {
    in_day += kDayMicros;
    --days;
  }
  days -= kCycleStart.time_since_epoch().count();
  std::int64_t cycle = days / kCycleDays;
  if (days % kCycleDays < 0) --cycle;
  days -= cycle * kCycleDays;
  const chrono::year_month_day date(kCycleStart + chrono::days(days));
  const std::int64_t year = static_cast<int>(date.year()) + cycle * kCycleYears;
  const chrono::hh_mm_ss<Duration> clock{Duration(in_day)};

  std::array<char, 48> text;
  const int size = std::snprintf(
      text.data(), text.size(),
      year >= 0 && year <= 9999 ? "%04lld-%02u-%02uT%02d:%02d:%02d.%06dZ"
                                : "%+07lld-%02u-%02uT%02d:%02d:%02d.%06dZ",
      static_cast<long long>(year), static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return std::string(text.data(), static_cast<std::size_t>(size));
}

std::optional<Time> parse_time(std::string_view text) {
  Digits digits{text};
  const std::int64_t year = take_year(digits);
  digits.expect('-');
  const int month = digits.take(2);
  digits.expect('-');
  const int day = digits.take(2);
  digits.expect('T');
  const int hour = digits.take(2);
  digits.expect(':');
  const int minute = digits.take(2);
  digits.expect(':');
  const int second = digits.take(2);
  digits.expect('.');
  const int micros = digits.take(6);
  digits.expect('Z');
  if (!digits.ok || !digits.text.empty() || hour > 23 || minute > 59 || second > 59) return std::nullopt;

  std::int64_t cycle = (year - 2000) / kCycleYears;
  if ((year - 2000) % kCycleYears < 0) --cycle;
  const chrono::year_month_day date(chrono::year(static_cast<int>(year - cycle * kCycleYears)),
                                    chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day)));
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = chrono::sys_days(date).time_since_epoch().count() + cycle * kCycleDays;
  const std::int64_t in_day = ((hour * 60LL + minute) * 60 + second) * 1'000'000 + micros;
  std::int64_t total = 0;
  // A negative day and its time of day may only fit together.
  const bool before = days < 0;
  if (__builtin_mul_overflow(days + (before ? 1 : 0), kDayMicros, &total) ||
      __builtin_add_overflow(total, before ? in_day - kDayMicros : in_day, &total)) {
    return std::nullopt;
  }
  const Time time{Duration(total)};
  // One text for one time: "+002026-…" and "-000000-…" are other spellings.
  if (time_text(time) != text) return std::nullopt;
  return time;
}

}  // namespace tertulia
