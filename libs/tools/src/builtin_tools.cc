#include "tertulia/tools/builtin_tools.h"

#include <array>
#include <chrono>
#include <cstdio>

#include "tertulia/base/printable.h"
#include "tertulia/base/utf8.h"
#include "tertulia/tools/calculator.h"

namespace tertulia {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

std::optional<int> two_digits(std::string_view text, std::size_t at) {
  if (at + 2 > text.size()) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(at, 2)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// "Z", "UTC", "+02:00", "-0530" or "+2".
std::optional<minutes> parse_offset(std::string_view text) {
  if (text.empty() || text == "Z" || text == "UTC") return minutes(0);
  const bool behind = text.front() == '-';
  if (!behind && text.front() != '+') return std::nullopt;
  text.remove_prefix(1);
  const std::string padded = (text.size() == 1 ? "0" : "") + std::string(text);
  const std::optional<int> hour = two_digits(padded, 0);
  const std::size_t minute_at = padded.size() > 2 && padded[2] == ':' ? 3 : 2;
  const std::optional<int> minute = padded.size() == 2 ? 0 : two_digits(padded, minute_at);
  if (!hour || !minute || (padded.size() > 2 && padded.size() != minute_at + 2)) return std::nullopt;
  const minutes offset = hours(*hour) + minutes(*minute);
  if (*minute > 59 || offset > hours(14)) return std::nullopt;
  return behind ? -offset : offset;
}

std::string offset_text(minutes offset) {
  if (offset == minutes(0)) return "Z";
  std::array<char, 24> text{};
  const auto size = std::abs(offset.count());
  std::snprintf(text.data(), text.size(), "%c%02d:%02d", offset.count() < 0 ? '-' : '+',
                static_cast<int>(size / 60), static_cast<int>(size % 60));
  return text.data();
}

Result<Json> tell_time(Time now, std::string_view offset_words) {
  static constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                            "Thursday", "Friday", "Saturday"};
  const std::optional<minutes> offset = parse_offset(offset_words);
  if (!offset) {
    return Error(ErrorCode::kBadArguments,
                 "/utc_offset: expected an offset such as \"+02:00\" or \"Z\", got " +
                     in_quotes(utf8_prefix(offset_words, 40)) + "; names of time zones are not known here");
  }
  const auto second = std::chrono::floor<seconds>(now);
  const auto local = second + *offset;
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(local - day);
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return Json(JsonObject{{"time", text.data() + offset_text(*offset)},
                         {"weekday", Json(kDays.at(std::chrono::weekday(day).c_encoding()))},
                         {"unix", std::int64_t{second.time_since_epoch().count()}}});
}

}  // namespace

ToolPtr calculator_tool() {
  return make_tool("calculator",
                   "Calculates an arithmetic expression and gives its exact value. Use it for every "
                   "calculation instead of "
                   "calculating yourself. Operators: + - * / ^ % ! and parentheses. Constants: pi, e, tau. "
                   "Functions: abs, ceil, "
                   "floor, round(x, digits), min, max, sum, gcd, lcm, factorial, sqrt, cbrt, exp, ln, log2, "
                   "log10, log(x, base), "
                   "sin, cos, tan, asin, acos, atan, atan2 (radians). Write numbers without separators: "
                   "1234.5, not 1,234.5.",
                   {{"expression", "For example: (10 + 20) * 5 / 3", {.min_length = 1, .max_length = 4'096}}},
                   [](std::string_view expression) { return calculate(expression); },
                   {.tool_class = ToolClass::kReadOnly});
}

ToolPtr clock_tool(Clock& clock) {
  return make_tool(
      "clock",
      "Tells the current date, time and weekday. Use it whenever the answer depends on today's date or "
      "on the time of day.",
      {{"utc_offset",
        "The local time zone as its offset from UTC, such as +02:00. Left out: UTC.",
        {.max_length = 6}}},
      [&clock](const std::optional<std::string>& utc_offset) {
        return tell_time(clock.now(), utc_offset.value_or("Z"));
      },
      {.tool_class = ToolClass::kReadOnly});
}

ToolPtr end_conversation_tool() {
  return make_tool(
      "end_conversation",
      "Ends the conversation after your answer to this message. Use it when the user says goodbye or asks "
      "to end the conversation, and never to avoid a question. Say goodbye in your answer.",
      {{"reason", "Why it ends, in a few words.", {.max_length = 500}}},
      [](const std::optional<std::string>&) {
        return ToolOutput{.text = "The conversation ends with your next answer.", .end_conversation = true};
      },
      {.tool_class = ToolClass::kIdempotent});
}

Toolkit builtin_tools(Clock& clock) {
  Toolkit kit("builtin");
  kit.add(calculator_tool()).add(clock_tool(clock)).add(end_conversation_tool());
  return kit;
}

}  // namespace tertulia
