#include "markdown.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <md4c.h>

#include "tertulia/base/printable.h"
#include "tertulia/base/utf8.h"

#include "live_screen.h"
#include "output.h"

namespace tertulia::cli {
namespace {

using Styles = unsigned;
constexpr Styles kBold = 1;
constexpr Styles kItalic = 2;
constexpr Styles kCode = 4;
constexpr Styles kStrike = 8;
constexpr Styles kLink = 16;
constexpr Styles kHeading = 32;
constexpr Styles kDimmed = 64;

std::string codes_of(Styles styles) {
  std::string codes;
  const auto add = [&](Styles style, const char* code) {
    if ((styles & style) != 0) codes += codes.empty() ? code : std::string(";") + code;
  };
  add(kBold, "1");
  add(kDimmed, "2");
  add(kItalic, "3");
  add(kLink, "4");
  add(kStrike, "9");
  add(kCode, "36");
  add(kHeading, "1;35");
  return codes;
}

std::string in_codes(Styles styles, std::string_view text) {
  const std::string codes = codes_of(styles);
  if (codes.empty() || text.empty()) return std::string(text);
  return "\x1b[" + codes + "m" + std::string(text) + "\x1b[0m";
}

// A piece of text in one style. A line break of the author's is a piece "\n".
struct Piece {
  Styles styles = 0;
  std::string text;
};

// What stands left of a block: on its first line, and on the others.
struct Margin {
  std::string first;
  std::string rest;
  std::size_t width = 0;
};

// Puts words behind one another until a line is full.
class Wrapper {
 public:
  Wrapper(std::size_t width, std::vector<std::string>& lines, Margin margin)
      : width_(width), lines_(lines), margin_(std::move(margin)) {}

  void add(const Piece& piece) {
    if (piece.text == "\n") return flush();
    std::string_view rest = piece.text;
    while (!rest.empty()) {
      const std::size_t spaces = std::min(rest.find_first_not_of(' '), rest.size());
      gap_ = gap_ || spaces > 0;
      if (spaces > 0) gap_styles_ = piece.styles;
      rest.remove_prefix(spaces);
      const std::size_t end = std::min(rest.find(' '), rest.size());
      if (end > 0) word(piece.styles, rest.substr(0, end));
      rest.remove_prefix(end);
    }
  }

  void flush() {
    lines_.push_back((any_ ? margin_.rest : margin_.first) + line_);
    any_ = true;
    line_.clear();
    used_ = 0;
    gap_ = false;
  }
  bool empty() const { return used_ == 0; }
  bool any() const { return any_; }

 private:
  std::size_t room() const {
    const std::size_t least = margin_.width > 0 ? 10 : 1;
    return width_ > margin_.width + least ? width_ - margin_.width : least;
  }

  void word(Styles styles, std::string_view text) {
    const std::size_t columns = display_width(text);
    const std::size_t gap = gap_ && used_ > 0 ? 1 : 0;
    if (used_ > 0 && used_ + gap + columns > room()) {
      flush();
    } else if (gap > 0) {
      // A gap within a link or a piece of code has its style.
      line_ += in_codes(gap_styles_ == styles ? styles : 0, " ");
      ++used_;
    }
    gap_ = false;
    while (display_width(text) > room()) {
      std::size_t bytes = std::min(text.size(), room() * 4);
      std::string_view kept = utf8_prefix(text, bytes);
      while (display_width(kept) > room()) kept = utf8_prefix(text, --bytes);
      if (kept.empty()) break;
      line_ += in_codes(styles, kept);
      text.remove_prefix(kept.size());
      flush();
    }
    line_ += in_codes(styles, text);
    used_ += display_width(text);
  }

  const std::size_t width_;
  std::vector<std::string>& lines_;
  const Margin margin_;
  std::string line_;
  std::size_t used_ = 0;
  bool gap_ = false;
  Styles gap_styles_ = 0;
  bool any_ = false;
};

std::string entity_text(std::string_view entity) {
  static const std::pair<std::string_view, std::string_view> kKnown[] = {
      {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&nbsp;", " "}, {"&apos;", "'"}};
  for (const auto& [name, text] : kKnown) {
    if (entity == name) return std::string(text);
  }
  return printable(entity);
}

// Follows the parser and draws each block when it ends.
class Drawing {
 public:
  explicit Drawing(std::size_t width) : width_(width) {}

  std::vector<std::string> draw(std::string_view text) {
    MD_PARSER parser{};
    parser.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_NOHTML;
    parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* self) {
      return static_cast<Drawing*>(self)->enter(type, detail), 0;
    };
    parser.leave_block = [](MD_BLOCKTYPE type, void*, void* self) {
      return static_cast<Drawing*>(self)->leave(type), 0;
    };
    parser.enter_span = [](MD_SPANTYPE type, void* detail, void* self) {
      return static_cast<Drawing*>(self)->enter_span(type, detail), 0;
    };
    parser.leave_span = [](MD_SPANTYPE type, void*, void* self) {
      return static_cast<Drawing*>(self)->leave_span(type), 0;
    };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* chars, MD_SIZE size, void* self) {
      return static_cast<Drawing*>(self)->text(type, {chars, size}), 0;
    };
    md_parse(text.data(), static_cast<MD_SIZE>(text.size()), &parser, this);
    end_leaf();
    return std::move(lines_);
  }

 private:
  struct Level {
    std::string first;
    std::string rest;
    std::size_t width = 0;
  };
  struct List {
    bool ordered = false;
    unsigned next = 1;
    bool tight = true;
  };

  void enter(MD_BLOCKTYPE type, void* detail) {
    switch (type) {
      case MD_BLOCK_QUOTE:
        begin_block();
        levels_.push_back({in_codes(kDimmed, "│ "), in_codes(kDimmed, "│ "), 2});
        break;
      case MD_BLOCK_UL:
        begin_list(
            {.ordered = false, .next = 1, .tight = static_cast<MD_BLOCK_UL_DETAIL*>(detail)->is_tight != 0});
        break;
      case MD_BLOCK_OL: {
        const auto* list = static_cast<MD_BLOCK_OL_DETAIL*>(detail);
        begin_list({.ordered = true, .next = list->start, .tight = list->is_tight != 0});
        break;
      }
      case MD_BLOCK_LI:
        begin_item(*static_cast<MD_BLOCK_LI_DETAIL*>(detail));
        break;
      case MD_BLOCK_H:
        begin_block();
        styles_ |= kHeading;
        break;
      case MD_BLOCK_CODE:
        begin_block();
        in_code_ = true;
        break;
      case MD_BLOCK_P:
        begin_block();
        break;
      case MD_BLOCK_TABLE:
        begin_block();
        rows_.clear();
        break;
      case MD_BLOCK_TR:
        rows_.emplace_back();
        break;
      case MD_BLOCK_TH:
        styles_ |= kBold;
        break;
      default:
        break;
    }
  }

  void leave(MD_BLOCKTYPE type) {
    switch (type) {
      case MD_BLOCK_QUOTE:
      case MD_BLOCK_LI:
        end_leaf();
        levels_.pop_back();
        break;
      case MD_BLOCK_UL:
      case MD_BLOCK_OL:
        lists_.pop_back();
        break;
      case MD_BLOCK_H:
        end_leaf();
        styles_ &= ~kHeading;
        break;
      case MD_BLOCK_CODE:
        end_code();
        break;
      case MD_BLOCK_P:
        end_leaf();
        break;
      case MD_BLOCK_HR:
        begin_block();
        pieces_.push_back({kDimmed, rule(std::min<std::size_t>(40, width_))});
        end_leaf();
        break;
      case MD_BLOCK_TH:
      case MD_BLOCK_TD:
        styles_ &= ~kBold;
        rows_.back().push_back(std::exchange(pieces_, {}));
        break;
      case MD_BLOCK_TABLE:
        draw_table();
        break;
      default:
        break;
    }
  }

  void enter_span(MD_SPANTYPE type, void* detail) {
    styles_ |= style_of(type);
    if (type == MD_SPAN_A) {
      const MD_ATTRIBUTE& address = static_cast<MD_SPAN_A_DETAIL*>(detail)->href;
      addresses_.emplace_back(address.text == nullptr ? "" : std::string(address.text, address.size));
      link_text_.clear();
    }
  }

  void leave_span(MD_SPANTYPE type) {
    styles_ &= ~style_of(type);
    if (type != MD_SPAN_A || addresses_.empty()) return;
    const std::string address = std::move(addresses_.back());
    addresses_.pop_back();
    if (!address.empty() && address != link_text_)
      pieces_.push_back({kDimmed, " (" + printable(address) + ")"});
  }

  static Styles style_of(MD_SPANTYPE type) {
    switch (type) {
      case MD_SPAN_EM:
        return kItalic;
      case MD_SPAN_STRONG:
        return kBold;
      case MD_SPAN_CODE:
        return kCode;
      case MD_SPAN_DEL:
        return kStrike;
      case MD_SPAN_A:
        return kLink;
      default:
        return 0;
    }
  }

  void text(MD_TEXTTYPE type, std::string_view chars) {
    if (in_code_) {
      code_ += chars;
      return;
    }
    if (type == MD_TEXT_BR) return pieces_.push_back({0, "\n"});
    if (type == MD_TEXT_SOFTBR) return pieces_.push_back({styles_, " "});
    if (type == MD_TEXT_NULLCHAR) return;
    link_text_ += chars;
    pieces_.push_back({styles_, type == MD_TEXT_ENTITY ? entity_text(chars) : printable(chars)});
  }

  // Blocks are parted by an empty line, except the items of a tight list and what follows a marker.
  void begin_block() {
    end_leaf();
    const bool after_marker = !levels_.empty() && !levels_.back().first.empty() && fresh_item_;
    const bool tight = !lists_.empty() && lists_.back().tight;
    if (!lines_.empty() && !after_marker && !tight) lines_.push_back(margin(false).rest);
    fresh_item_ = false;
  }

  void begin_list(List list) {
    end_leaf();
    if (lists_.empty() && !lines_.empty()) lines_.emplace_back();
    lists_.push_back(list);
  }

  void begin_item(const MD_BLOCK_LI_DETAIL& item) {
    end_leaf();
    List& list = lists_.back();
    std::string mark = list.ordered ? std::to_string(list.next++) + ". " : "• ";
    if (item.is_task != 0) mark = item.task_mark == ' ' ? "☐ " : "☑ ";
    const std::size_t columns = display_width(mark);
    levels_.push_back({in_codes(kDimmed, mark), std::string(columns, ' '), columns});
    fresh_item_ = true;
  }

  // The marks of the levels are used up by the first line that shows them.
  Margin margin(bool use) {
    Margin made;
    for (Level& level : levels_) {
      made.first += level.first;
      made.rest += level.rest;
      made.width += level.width;
      if (use) level.first = level.rest;
    }
    return made;
  }

  void end_leaf() {
    if (pieces_.empty()) return;
    Wrapper wrapper(width_, lines_, margin(true));
    for (const Piece& piece : std::exchange(pieces_, {})) wrapper.add(piece);
    if (!wrapper.empty() || !wrapper.any()) wrapper.flush();
  }

  void end_code() {
    in_code_ = false;
    Margin left = margin(true);
    std::string_view rest = code_;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      lines_.push_back(std::exchange(left.first, left.rest) + render_code_line(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    code_.clear();
  }

  static std::string rule(std::size_t columns) {
    std::string text;
    for (std::size_t i = 0; i < columns; ++i) text += "─";
    return text;
  }

  static std::size_t width_of(const std::vector<Piece>& cell) {
    std::size_t columns = 0;
    for (const Piece& piece : cell) columns += display_width(piece.text);
    return columns;
  }

  // Folded to so many columns, each line filled up.
  static std::vector<std::string> cell_lines(const std::vector<Piece>& cell, std::size_t columns) {
    std::vector<std::string> lines;
    Wrapper wrapper(columns, lines, {});
    for (const Piece& piece : cell) wrapper.add(piece);
    wrapper.flush();
    for (std::string& line : lines) line += std::string(columns - std::min(columns, shown_width(line)), ' ');
    return lines;
  }

  void draw_row(const std::vector<std::vector<Piece>>& row, const std::vector<std::size_t>& widths,
                const std::string& left) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      cells.push_back(cell_lines(i < row.size() ? row[i] : std::vector<Piece>{}, widths[i]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t l = 0; l < height; ++l) {
      std::string line = left;
      for (std::size_t i = 0; i < widths.size(); ++i) {
        line += (i == 0 ? "" : in_codes(kDimmed, " │ ")) +
                (l < cells[i].size() ? cells[i][l] : std::string(widths[i], ' '));
      }
      lines_.push_back(std::move(line));
    }
  }

  void draw_table() {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()), 1);
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
    }
    const Margin left = margin(true);
    const auto total = [&] {
      std::size_t sum = left.width;
      for (const std::size_t width : widths) sum += width + 3;
      return sum;
    };
    while (total() > width_ + 3) {
      std::size_t& widest = *std::max_element(widths.begin(), widths.end());
      if (widest <= 4) break;
      --widest;
    }
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      draw_row(rows_[r], widths, left.rest);
      if (r > 0) continue;
      std::string under;
      for (const std::size_t width : widths) under += (under.empty() ? "" : "─┼─") + rule(width);
      lines_.push_back(left.rest + in_codes(kDimmed, under));
    }
    rows_.clear();
  }

  const std::size_t width_;
  std::vector<std::string> lines_;
  std::vector<Level> levels_;
  std::vector<List> lists_;
  std::vector<Piece> pieces_;
  std::vector<std::vector<std::vector<Piece>>> rows_;
  std::vector<std::string> addresses_;
  std::string link_text_;
  std::string code_;
  Styles styles_ = 0;
  bool in_code_ = false;
  bool fresh_item_ = false;
};

}  // namespace

std::vector<std::string> render_markdown(std::string_view text, std::size_t width) {
  return Drawing(width).draw(text);
}

std::string render_code_line(std::string_view line) {
  std::string spaced;
  for (const char c : line) {
    if (c == '\t') {
      spaced += "    ";
    } else {
      spaced += c;
    }
  }
  return "    " + in_codes(kCode, printable(spaced));
}

}  // namespace tertulia::cli
