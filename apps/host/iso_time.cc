#include "iso_time.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>

namespace tertulia {

std::string iso_time(Time time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t whole = seconds.time_since_epoch().count();
  std::tm utc{};
  ::gmtime_r(&whole, &utc);
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ",
                                 utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                                 utc.tm_sec, static_cast<int>((time - seconds).count()));
  return {text.data(), static_cast<std::size_t>(size)};
}

namespace {

// Reads a number of exactly `digits` digits off the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  int value = 0;
  if (text.size() < digits) return std::nullopt;
  const char* begin = text.data();
  const auto [end, error] = std::from_chars(begin, begin + digits, value);
  if (error != std::errc() || end != begin + digits || text.front() == '-') return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<Time> parse_iso_time(std::string_view text) {
  namespace chrono = std::chrono;
  const auto year_number = take_number(text, 4);
  if (!year_number || !take(text, '-')) return std::nullopt;
  const auto month_number = take_number(text, 2);
  if (!month_number || !take(text, '-')) return std::nullopt;
  const auto day_number = take_number(text, 2);
  if (!day_number || !take(text, 'T')) return std::nullopt;
  const auto hour = take_number(text, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || *minute > 59 || !take(text, ':')) return std::nullopt;
  const auto second = take_number(text, 2);
  if (!second || *second > 59) return std::nullopt;
  int micros = 0;
  if (take(text, '.')) {
    int place = 100'000;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
      micros += (text.front() - '0') * place;
      place /= 10;
      text.remove_prefix(1);
    }
  }
  if (text != "Z") return std::nullopt;
  const chrono::year_month_day date{chrono::year(*year_number),
                                    chrono::month(static_cast<unsigned>(*month_number)),
                                    chrono::day(static_cast<unsigned>(*day_number))};
  if (!date.ok()) return std::nullopt;
  return Time(chrono::sys_days(date)) + chrono::hours(*hour) + chrono::minutes(*minute) +
         chrono::seconds(*second) + chrono::microseconds(micros);
}

}  // namespace tertulia
