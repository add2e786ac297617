#include "markdown_blocks.h"

#include <algorithm>
#include <utility>

namespace tertulia {
namespace {

std::string_view trimmed(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r\n") - first + 1);
}

// The ``` or ~~~ that a line opens code with, or nothing.
std::string_view fence_of(std::string_view line) {
  const std::string_view content = trimmed(line);
  if (content.empty() || (content[0] != '`' && content[0] != '~')) return {};
  const std::size_t length = std::min(content.find_first_not_of(content[0]), content.size());
  return length >= 3 ? content.substr(0, length) : std::string_view();
}

bool closes_fence(std::string_view line, std::string_view fence) {
  const std::string_view content = trimmed(line);
  return content.size() >= fence.size() && content.find_first_not_of(fence[0]) == std::string_view::npos;
}

unsigned heading_level(std::string_view line) {
  const std::size_t level = line.find_first_not_of('#');
  if (level == 0 || level > 6 || level == std::string_view::npos) return 0;
  return line[level] == ' ' || line[level] == '\t' || line[level] == '\r' || line[level] == '\n'
             ? static_cast<unsigned>(level)
             : 0;
}

std::string title_of(std::string_view line) {
  std::string_view title = trimmed(line);
  title.remove_prefix(std::min(title.find_first_not_of('#'), title.size()));
  title = trimmed(title);
  const std::size_t closing = title.find_last_not_of('#');
  // "Title ##" closes; "C#" is a title.
  if (closing != std::string_view::npos && closing + 1 < title.size() && title[closing] == ' ') {
    title = trimmed(title.substr(0, closing));
  }
  return std::string(title);
}

bool is_item(std::string_view line) {
  const std::string_view content = trimmed(line);
  if (content.size() < 2) return false;
  if (content[0] == '-' || content[0] == '*' || content[0] == '+') return content[1] == ' ';
  const std::size_t digits = std::min(content.find_first_not_of("0123456789"), content.size());
  return digits > 0 && digits < 10 && digits + 1 < content.size() &&
         (content[digits] == '.' || content[digits] == ')') && content[digits + 1] == ' ';
}

bool is_row(std::string_view line) { return trimmed(line).starts_with('|'); }

class BlockReader {
 public:
  BlockReader(std::string_view text, bool markdown) : text_(text), markdown_(markdown) {}

  std::vector<Block> read() {
    while (at_ < text_.size()) read_line();
    return std::move(blocks_);
  }

 private:
  std::string_view next_line() const {
    const std::size_t newline = text_.find('\n', at_);
    return text_.substr(at_, newline == std::string_view::npos ? newline : newline - at_ + 1);
  }

  void begin(BlockKind kind, std::size_t end) {
    blocks_.push_back({.kind = kind, .start = at_, .end = end});
    after_gap_ = false;
  }
  void extend(std::size_t end) { blocks_.back().end = end; }

  void read_line() {
    const std::string_view line = next_line();
    const std::size_t end = at_ + line.size();
    if (trimmed(line).empty()) {
      if (blocks_.empty()) begin(BlockKind::kParagraph, end);
      extend(end);
      after_gap_ = true;
    } else if (const std::string_view fence = markdown_ ? fence_of(line) : std::string_view();
               !fence.empty()) {
      return read_code(fence);
    } else if (const unsigned level = markdown_ ? heading_level(line) : 0; level != 0) {
      begin(BlockKind::kHeading, end);
      blocks_.back().level = level;
      blocks_.back().title = title_of(line);
    } else {
      const BlockKind kind = !markdown_      ? BlockKind::kParagraph
                             : is_item(line) ? BlockKind::kItem
                             : is_row(line)  ? BlockKind::kRow
                                             : BlockKind::kParagraph;
      if (kind == BlockKind::kParagraph && continues(line)) {
        extend(end);
      } else {
        begin(kind, end);
      }
    }
    at_ = end;
  }

  // A plain line goes on with the paragraph or item above it; an indented one also across an empty line of a
  // list.
  bool continues(std::string_view line) const {
    if (blocks_.empty()) return false;
    const bool indented = line.starts_with("  ") || line.starts_with('\t');
    if (blocks_.back().kind == BlockKind::kItem) return !after_gap_ || indented;
    return blocks_.back().kind == BlockKind::kParagraph && !after_gap_;
  }

  void read_code(std::string_view fence) {
    std::size_t end = at_ + next_line().size();
    begin(BlockKind::kCode, end);
    for (at_ = end; at_ < text_.size();) {
      const std::string_view line = next_line();
      at_ += line.size();
      if (closes_fence(line, fence)) break;
    }
    extend(at_);
  }

  std::string_view text_;
  bool markdown_;
  std::size_t at_ = 0;
  bool after_gap_ = false;
  std::vector<Block> blocks_;
};

}  // namespace

std::vector<Block> blocks_of(std::string_view text, bool markdown) {
  return BlockReader(text, markdown).read();
}

}  // namespace tertulia
