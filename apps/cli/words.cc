#include "words.h"

#include <array>
#include <cstdio>

#include "tertulia/base/printable.h"

namespace tertulia::cli {
namespace {

namespace chrono = std::chrono;

std::string span_text(Duration span) {
  const auto minutes = chrono::duration_cast<chrono::minutes>(span).count();
  if (minutes < 60) return std::to_string(minutes) + " min";
  if (minutes < 48 * 60) return std::to_string(minutes / 60) + " h";
  return std::to_string(minutes / (24 * 60)) + " days";
}

}  // namespace

std::string ago(Time time, Time now) {
  if (time == Time{}) return "–";
  const Duration span = now >= time ? now - time : time - now;
  if (span < chrono::minutes(1)) return "just now";
  if (span >= chrono::days(60)) return iso_time(time).substr(0, 10);
  return now >= time ? span_text(span) + " ago" : "in " + span_text(span);
}

std::string iso_time(Time time) {
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss clock(chrono::floor<chrono::seconds>(time - day));
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text.data();
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  if (count == 1) return "1 " + std::string(one);
  return digits + " " + (many.empty() ? std::string(one) + "s" : std::string(many));
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string one_line(std::string_view text) {
  std::string line(text.substr(0, 4096));
  for (char& c : line) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  return printable(line);
}

std::string printable_lines(std::string_view text) {
  std::string shown;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != '\n' && text[i] != '\t') continue;
    shown += printable(text.substr(begin, i - begin));
    if (i < text.size()) shown += text[i];
    begin = i + 1;
  }
  return shown;
}

}  // namespace tertulia::cli
