#include "tool_line.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "tertulia/base/printable.h"

#include "words.h"

namespace tertulia::cli {
namespace {

std::string value_text(const Json& value) {
  if (const std::string* text = value.as_string()) return one_line(*text);
  return one_line(to_text(value));
}

// With its line ends, for a person who must see all of it.
std::string full_text(const Json& value) {
  if (const std::string* text = value.as_string()) return *text;
  return to_text(value);
}

struct Folded {
  std::vector<std::string> lines;
  // How many bytes are not in them.
  std::size_t missing = 0;
};

// The text in at most so many lines.
Folded fold(std::string_view text, std::size_t columns, std::size_t most) {
  Folded folded;
  std::string line;
  std::size_t used = 0;
  const auto end_line = [&] {
    folded.lines.push_back(std::exchange(line, {}));
    used = 0;
    return folded.lines.size() == most;
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
    const bool ends_here = text[at] == '\n';
    const std::string shown = ends_here ? "" : text[at] == '\t' ? "  " : printable(text.substr(at, end - at));
    const std::size_t width = display_width(shown);
    const bool full = used > 0 && used + width > columns;
    if ((ends_here || full) && end_line()) {
      folded.missing = text.size() - (ends_here ? end : at);
      return folded;
    }
    line += shown;
    used += width;
    at = end;
  }
  if (!line.empty() || folded.lines.empty()) end_line();
  return folded;
}

Style style_of(std::string_view outcome) {
  if (outcome == "ok") return Style::kGood;
  return outcome.empty() ? Style::kAccent : Style::kBad;
}

}  // namespace

std::string duration_words(Duration duration) {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  const auto ms = std::max<std::int64_t>(0, duration_cast<milliseconds>(duration).count());
  if (ms < 1'000) return std::to_string(ms) + " ms";
  if (ms >= 60'000) return std::to_string(ms / 60'000) + " min " + std::to_string(ms / 1'000 % 60) + " s";
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), "%.1f s", static_cast<double>(ms) / 1'000);
  return text.data();
}

std::string arguments_text(std::string_view arguments) {
  const Result<Json> parsed = parse_json(arguments);
  const JsonObject* object = parsed ? parsed->as_object() : nullptr;
  if (object == nullptr) return one_line(arguments);
  if (object->size() == 1) return value_text(object->begin()->second);
  std::string text;
  for (const auto& [name, value] : *object) {
    text += (text.empty() ? "" : ", ") + one_line(name) + ": " + value_text(value);
  }
  return text;
}

std::vector<std::string> argument_lines(const Json& arguments, std::size_t width, std::size_t most,
                                        const Output& out) {
  std::vector<std::string> all;
  const JsonObject* object = arguments.as_object();
  const JsonObject unnamed{{"", arguments}};
  if (object == nullptr) object = &unnamed;
  std::size_t widest = 0;
  for (const auto& [name, value] : *object) widest = std::max(widest, display_width(one_line(name)));
  widest = std::min<std::size_t>(widest, 20);
  const std::size_t columns = std::max<std::size_t>(width > widest + 8 ? width - widest - 8 : 0, 8);
  std::size_t left = object->size();
  for (const auto& [name, value] : *object) {
    // Each of those that follow has a line at least.
    --left;
    const std::size_t used = all.size() + left;
    const Folded folded = fold(full_text(value), columns, most > used + 1 ? most - used : 1);
    std::string label = fit(one_line(name), widest);
    for (const std::string& line : folded.lines) {
      label.append(widest - display_width(label) + 2, ' ');
      all.push_back("      " + out.styled(Style::kDim, label) + line);
      label.clear();
    }
    if (folded.missing == 0) continue;
    all.push_back(std::string(widest + 8, ' ') +
                  out.styled(Style::kDim, "… and " + bytes_text(folded.missing) + " more: v shows all"));
  }
  return all;
}

std::string_view mark_of(std::string_view outcome) {
  if (outcome == "ok") return "✓";
  if (outcome == "denied") return "⊘";
  if (outcome == "unknown") return "?";
  return "✗";
}

std::string tool_line(const Output& out, std::size_t width, std::string_view mark, std::string_view outcome,
                      const std::string& tool, const std::string& arguments, const std::string& result,
                      const std::string& took) {
  std::size_t left = width > 24 ? width - 4 : 20;
  const auto take = [&left](const std::string& text, std::size_t most) {
    const std::string shown = fit(text, std::max<std::size_t>(1, std::min(left, most)));
    left -= std::min(left, display_width(shown));
    return shown;
  };
  // The same for every duration that is short, so that the line does not jump.
  left -= std::min(left, std::max<std::size_t>(display_width(took), 6) + 3);
  std::string line =
      "  " + out.styled(style_of(outcome), mark) + " " + out.styled(Style::kBold, take(one_line(tool), 40));
  if (!arguments.empty() && left > 4) {
    left -= 2;
    line += "  " + take(arguments, result.empty() ? left : left / 2);
  }
  if (!result.empty() && left > 6) {
    left -= 3;
    line += out.styled(Style::kDim, " → ") + take(one_line(result), left);
  }
  return line + out.styled(Style::kDim, " · " + took);
}

}  // namespace tertulia::cli
