#include "live_screen.h"

#include <algorithm>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

namespace tertulia::cli {
namespace {

constexpr std::size_t kReadable = 100;

}  // namespace

ScreenSize screen_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {std::max<std::size_t>(20, size.ws_col), std::max<std::size_t>(4, size.ws_row)};
}

std::size_t shown_width(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      plain += line[i];
      continue;
    }
    i = std::min(line.find('m', i), line.size());
  }
  return display_width(plain);
}

std::vector<std::string> fold_words(std::string_view text, std::size_t columns, std::size_t indent) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    // A word with the spaces before it.
    const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const bool fits = shown_width(line) + shown_width(text.substr(0, end)) <= columns;
    if (!fits && !line.empty()) {
      lines.push_back(std::exchange(line, std::string(indent, ' ')));
      line += text.substr(begin, end - begin);
    } else {
      line += text.substr(0, end);
    }
    text.remove_prefix(end);
  }
  lines.push_back(std::move(line));
  return lines;
}

// A line that fills the last column leaves the cursor in a place that terminals do not agree on.
std::size_t LiveScreen::width() const { return std::min(kReadable, screen_size().columns - 1); }

std::size_t LiveScreen::rows_below(std::size_t line, std::size_t columns) const {
  std::size_t rows = 0;
  for (std::size_t i = line; i < shown_.size(); ++i) {
    rows += std::max<std::size_t>(1, (shown_width(shown_[i]) + columns - 1) / columns);
  }
  return rows == 0 ? 0 : rows - 1;
}

void LiveScreen::show(std::vector<std::string> lines) {
  const ScreenSize size = screen_size();
  std::size_t first = 0;
  const bool resized = columns_ != 0 && columns_ != size.columns;
  while (!resized && first < lines.size() && first < shown_.size() && lines[first] == shown_[first]) ++first;
  columns_ = size.columns;
  if (first == lines.size() && first == shown_.size()) return;
  // The rows above the screen cannot be reached.
  while (first < shown_.size() && rows_below(first, size.columns) + 1 > size.rows) ++first;
  std::string text;
  const bool extends =
      first + 1 == shown_.size() && first < lines.size() && lines[first].starts_with(shown_[first]);
  if (extends && !resized) {
    text = lines[first].substr(shown_[first].size());
    ++first;
    if (first < lines.size()) text += "\n";
  } else if (first < shown_.size()) {
    const std::size_t up = rows_below(first, size.columns);
    text = "\r" + (up > 0 ? "\x1b[" + std::to_string(up) + "A" : std::string()) + "\x1b[J";
    // What is above stays, and the cursor must stand at the end of a line.
    if (first >= lines.size() && !lines.empty()) {
      const std::size_t end = shown_width(lines.back()) % size.columns;
      text += "\x1b[A\r" + (end > 0 ? "\x1b[" + std::to_string(end) + "C" : std::string());
    }
  } else if (first > 0) {
    text = "\n";
  }
  for (std::size_t i = first; i < lines.size(); ++i) text += lines[i] + (i + 1 < lines.size() ? "\n" : "");
  shown_ = std::move(lines);
  out_.print(text);
}

void LiveScreen::keep() {
  if (shown_.empty()) return;
  shown_.clear();
  out_.print("\n");
}

void LiveScreen::keep(std::vector<std::string> lines) {
  show(std::move(lines));
  keep();
}

}  // namespace tertulia::cli
