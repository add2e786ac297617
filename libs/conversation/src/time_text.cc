#include "time_text.h"

#include <cstdint>

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

// Events, messages and journals are full of times, and printf would take longer than all else of writing one.
void put_digits(std::string& out, std::uint64_t value, std::size_t count, char before) {
  out += before;
  const std::size_t start = out.size();
  out.resize(start + count);
  for (std::size_t i = count; i-- > 0; value /= 10) out[start + i] = static_cast<char>('0' + value % 10);
}

// Four digits; six with a sign where four are not enough.
void put_year(std::string& out, std::int64_t year) {
  const bool plain = year >= 0 && year <= 9999;
  put_digits(out, static_cast<std::uint64_t>(year < 0 ? -year : year), plain ? 4 : 6, year < 0 ? '-' : '+');
  if (plain) out.erase(0, 1);
}

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

  std::string text;
  text.reserve(32);
  put_year(text, year);
  put_digits(text, static_cast<unsigned>(date.month()), 2, '-');
  put_digits(text, static_cast<unsigned>(date.day()), 2, '-');
  put_digits(text, static_cast<std::uint64_t>(clock.hours().count()), 2, 'T');
  put_digits(text, static_cast<std::uint64_t>(clock.minutes().count()), 2, ':');
  put_digits(text, static_cast<std::uint64_t>(clock.seconds().count()), 2, ':');
  put_digits(text, static_cast<std::uint64_t>(clock.subseconds().count()), 6, '.');
  text += 'Z';
  return text;
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
