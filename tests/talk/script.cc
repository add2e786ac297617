#include "script.h"

#include <charconv>
#include <fstream>
#include <utility>

namespace tertulia {
namespace {

std::string spelled_out(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    // <500 x "word ">
    const std::size_t times = text.starts_with('<') ? text.find(" x \"") : std::string_view::npos;
    const std::size_t end = times == std::string_view::npos ? times : text.find("\">", times);
    std::size_t count = 0;
    if (end != std::string_view::npos) {
      const std::string_view digits = text.substr(1, times - 1);
      const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), count);
      if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) count = 0;
    }
    if (count > 0) {
      for (; count > 0; --count) out += text.substr(times + 4, end - times - 4);
      text.remove_prefix(end + 2);
    } else if (text.starts_with("\\n")) {
      out += '\n';
      text.remove_prefix(2);
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

std::vector<Line> read_script(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw StoryFailure(0, "the file cannot be read");
  std::vector<Line> lines;
  std::string text;
  for (std::size_t number = 1; std::getline(in, text); ++number) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string::npos || text[first] == '#') continue;
    const std::size_t last = text.find_last_not_of(' ');
    Line line{number, text.substr(first, last + 1 - first), {}};
    if (first == 0) {
      lines.push_back(std::move(line));
    } else if (first == 2 && !lines.empty()) {
      lines.back().block.push_back(std::move(line));
    } else {
      throw StoryFailure(number, "a line is indented by two blanks or not at all");
    }
  }
  return lines;
}

void Words::skip_blanks() {
  while (rest_.starts_with(' ')) rest_.remove_prefix(1);
}

std::string Words::word() {
  const std::size_t end = std::min(rest_.find_first_of(" ,:()"), rest_.size());
  if (end == 0) fail("a word is missing");
  std::string word(rest_.substr(0, end));
  rest_.remove_prefix(end);
  skip_blanks();
  return word;
}

bool Words::take(std::string_view words) {
  if (!rest_.starts_with(words)) return false;
  const std::string_view after = rest_.substr(words.size());
  if (!after.empty() && std::string_view(" ,:()").find(after.front()) == std::string_view::npos) return false;
  rest_ = after;
  skip_blanks();
  return true;
}

std::optional<std::size_t> Words::number() {
  std::size_t value = 0;
  const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (read.ec != std::errc()) return std::nullopt;
  rest_.remove_prefix(static_cast<std::size_t>(read.ptr - rest_.data()));
  skip_blanks();
  return value;
}

std::size_t Words::required_number() {
  const std::optional<std::size_t> value = number();
  if (!value) fail("a number is missing");
  return *value;
}

std::string Words::parenthesised() {
  if (!rest_.starts_with('(')) return {};
  const std::size_t end = rest_.find(')');
  if (end == std::string_view::npos) fail("a parenthesis is not closed");
  std::string inside(rest_.substr(1, end - 1));
  rest_.remove_prefix(end + 1);
  skip_blanks();
  return inside;
}

std::string Words::raw_rest() {
  if (rest_.starts_with(':')) rest_.remove_prefix(1);
  skip_blanks();
  return std::string(std::exchange(rest_, {}));
}

std::string Words::rest() { return spelled_out(raw_rest()); }

std::vector<std::string> Words::pieces() {
  std::vector<std::string> pieces;
  if (!rest_.starts_with('"')) {
    pieces.push_back(rest());
    return pieces;
  }
  while (!rest_.empty()) {
    const std::size_t end = rest_.find('"', 1);
    if (!rest_.starts_with('"') || end == std::string_view::npos) fail("a quotation is not closed");
    pieces.push_back(spelled_out(rest_.substr(1, end - 1)));
    rest_.remove_prefix(end + 1);
    skip_blanks();
  }
  return pieces;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool matches(std::string_view pattern, std::string_view text) {
  constexpr std::string_view kAnything = "…";
  const std::size_t gap = pattern.find(kAnything);
  if (gap == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, gap))) return false;
  const std::string_view after = pattern.substr(gap + kAnything.size());
  for (std::size_t at = gap; at <= text.size(); ++at) {
    if (matches(after, text.substr(at))) return true;
  }
  return false;
}

}  // namespace tertulia
