#include "markdown_stream.h"

#include <algorithm>
#include <utility>

namespace tertulia::cli {
namespace {

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

// "```" or more of it, or "~~~"; empty if the line opens no code.
std::string fence_of(std::string_view line) {
  line.remove_prefix(indent_of(line));
  const char mark = line.empty() ? ' ' : line.front();
  if (mark != '`' && mark != '~') return "";
  const std::size_t size = std::min(line.find_first_not_of(mark), line.size());
  return size >= 3 ? std::string(size, mark) : "";
}

bool closes(std::string_view line, const std::string& fence) {
  line.remove_prefix(indent_of(line));
  return line.starts_with(fence) &&
         is_blank(line.substr(std::min(line.find_first_not_of(fence[0]), line.size())));
}

bool is_heading(std::string_view line) {
  const std::size_t marks = std::min(line.find_first_not_of('#'), line.size());
  return marks >= 1 && marks <= 6 && (marks == line.size() || line[marks] == ' ');
}

// '-', '*', '+', or '.' for a number; 0 if the line begins no item of a list.
char item_mark(std::string_view line) {
  if (indent_of(line) > 1) return 0;
  line.remove_prefix(indent_of(line));
  if (line.size() > 1 && (line[0] == '-' || line[0] == '*' || line[0] == '+') && line[1] == ' ')
    return line[0];
  const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  const bool numbered = digits > 0 && digits < 10 && digits + 1 < line.size() &&
                        (line[digits] == '.' || line[digits] == ')') && line[digits + 1] == ' ';
  return numbered ? '.' : '\0';
}

}  // namespace

void MarkdownStream::add(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    partial_ += text.substr(0, end);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
    line(std::exchange(partial_, {}));
  }
}

void MarkdownStream::finish() {
  if (!partial_.empty()) line(std::exchange(partial_, {}));
  if (kind_ != Kind::kCode) close();
  kind_ = Kind::kNone;
}

void MarkdownStream::line(std::string text) {
  if (kind_ == Kind::kCode) {
    if (closes(text, fence_)) {
      kind_ = Kind::kNone;
      return;
    }
    closed_.push_back({std::move(text), true, std::exchange(joined_, true)});
    return;
  }
  if (kind_ == Kind::kList && !fence_.empty()) {
    if (closes(text, fence_)) fence_.clear();
    block_ += text + "\n";
    return;
  }
  if (is_blank(text)) {
    if (kind_ == Kind::kList) {
      blank_in_list_ = true;
      block_ += "\n";
    } else {
      close();
    }
    return;
  }
  const char mark = item_mark(text);
  // What is not indented ends an item after an empty line; the next item ends it anyhow.
  if (kind_ == Kind::kList && (mark != 0 || (blank_in_list_ && indent_of(text) < 2))) close();
  blank_in_list_ = false;
  const std::string fence = fence_of(text);
  if (!fence.empty() && (kind_ != Kind::kList || indent_of(text) < 2)) {
    close();
    begin(Kind::kCode, false);
    fence_ = fence;
    return;
  }
  if (is_heading(text)) {
    close();
    begin(Kind::kText, false);
    block_ = std::move(text);
    return close();
  }
  if (mark != 0 && kind_ != Kind::kList) {
    const bool joined = kind_ == Kind::kText || last_mark_ == mark;
    close();
    begin(Kind::kList, joined);
    last_mark_ = mark;
  }
  if (kind_ == Kind::kNone) begin(Kind::kText, false);
  if (kind_ == Kind::kList) fence_ = fence;
  block_ += text + "\n";
}

void MarkdownStream::begin(Kind kind, bool joined) {
  kind_ = kind;
  joined_ = joined;
  if (kind != Kind::kList) last_mark_ = 0;
  fence_.clear();
}

void MarkdownStream::close() {
  if (!block_.empty()) closed_.push_back({std::exchange(block_, {}), false, joined_});
  kind_ = Kind::kNone;
  fence_.clear();
}

std::vector<MarkdownBlock> MarkdownStream::take_closed() { return std::exchange(closed_, {}); }

std::optional<MarkdownBlock> MarkdownStream::open() const {
  if (block_.empty() && partial_.empty()) return std::nullopt;
  if (kind_ == Kind::kCode) return MarkdownBlock{partial_, true, joined_};
  // A line that looks like the next item is drawn with the one before until it ends.
  const bool joined = kind_ == Kind::kNone ? last_mark_ != 0 && item_mark(partial_) == last_mark_ : joined_;
  return MarkdownBlock{block_ + partial_, false, joined};
}

}  // namespace tertulia::cli
