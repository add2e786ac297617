#include "html_text.h"

#include <memory>

#include <gumbo.h>

namespace tertulia {
namespace {

constexpr int kDeepest = 400;

bool is_hidden(GumboTag tag) {
  switch (tag) {
    case GUMBO_TAG_SCRIPT:
    case GUMBO_TAG_STYLE:
    case GUMBO_TAG_NOSCRIPT:
    case GUMBO_TAG_TEMPLATE:
    case GUMBO_TAG_NAV:
    case GUMBO_TAG_HEAD:
    case GUMBO_TAG_IFRAME:
    case GUMBO_TAG_SVG:
    case GUMBO_TAG_FORM:
    case GUMBO_TAG_BUTTON:
      return true;
    default:
      return false;
  }
}

bool is_block(GumboTag tag) {
  switch (tag) {
    case GUMBO_TAG_P:
    case GUMBO_TAG_DIV:
    case GUMBO_TAG_SECTION:
    case GUMBO_TAG_ARTICLE:
    case GUMBO_TAG_HEADER:
    case GUMBO_TAG_FOOTER:
    case GUMBO_TAG_MAIN:
    case GUMBO_TAG_ASIDE:
    case GUMBO_TAG_UL:
    case GUMBO_TAG_OL:
    case GUMBO_TAG_TABLE:
    case GUMBO_TAG_BLOCKQUOTE:
    case GUMBO_TAG_FIGURE:
    case GUMBO_TAG_DL:
    case GUMBO_TAG_HR:
      return true;
    default:
      return false;
  }
}

int heading_level(GumboTag tag) {
  return tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6
             ? static_cast<int>(tag) - static_cast<int>(GUMBO_TAG_H1) + 1
             : 0;
}

class Reader {
 public:
  Result<void> read(const GumboNode& node, int depth) {
    if (depth > kDeepest) {
      return Error(ErrorCode::kTooDeep,
                   "the elements of this page nest deeper than 400; save it as text first");
    }
    switch (node.type) {
      case GUMBO_NODE_TEXT:
      case GUMBO_NODE_CDATA:
        add_text(node.v.text.text);
        return {};
      case GUMBO_NODE_WHITESPACE:
        space_ = true;
        return {};
      case GUMBO_NODE_ELEMENT:
        return read_element(node.v.element, depth);
      default:
        return {};
    }
  }

  std::string take() {
    while (!text_.empty() && (text_.back() == '\n' || text_.back() == ' ')) text_.pop_back();
    if (!text_.empty()) text_ += '\n';
    return std::move(text_);
  }

 private:
  Result<void> read_element(const GumboElement& element, int depth) {
    const GumboTag tag = element.tag;
    if (is_hidden(tag)) return {};
    if (tag == GUMBO_TAG_BR) {
      end_line(1);
      return {};
    }
    const int level = heading_level(tag);
    const bool is_code = tag == GUMBO_TAG_PRE;
    if (level > 0 || is_block(tag) || is_code) end_line(2);
    if (tag == GUMBO_TAG_LI || tag == GUMBO_TAG_TR || tag == GUMBO_TAG_DT || tag == GUMBO_TAG_DD) end_line(1);
    if (level > 0) text_ += std::string(static_cast<std::size_t>(level), '#') + " ";
    if (tag == GUMBO_TAG_LI) text_ += "- ";
    if (is_code) text_ += "```\n";
    if (is_code) ++verbatim_;
    for (unsigned i = 0; i < element.children.length; ++i) {
      TERTULIA_TRY(read(*static_cast<const GumboNode*>(element.children.data[i]), depth + 1));
    }
    if (is_code) --verbatim_;
    if (is_code) {
      end_line(1);
      text_ += "```";
    }
    if (tag == GUMBO_TAG_TD || tag == GUMBO_TAG_TH) text_ += " |";
    if (level > 0 || is_block(tag) || is_code) end_line(2);
    return {};
  }

  void add_text(std::string_view text) {
    if (verbatim_ > 0) {
      text_ += text;
      return;
    }
    for (const char c : text) {
      if (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f') {
        space_ = true;
        continue;
      }
      if (space_ && !text_.empty() && text_.back() != '\n' && text_.back() != ' ') text_ += ' ';
      space_ = false;
      text_ += c;
    }
  }

  // The text ends with this many line breaks, or is empty.
  void end_line(std::size_t breaks) {
    space_ = false;
    while (!text_.empty() && text_.back() == ' ') text_.pop_back();
    if (text_.empty()) return;
    std::size_t there = 0;
    while (there < text_.size() && text_[text_.size() - 1 - there] == '\n') ++there;
    if (there < breaks) text_.append(breaks - there, '\n');
  }

  std::string text_;
  bool space_ = false;
  int verbatim_ = 0;
};

}  // namespace

Result<std::string> html_text(std::string_view html) {
  const auto free_tree = [](GumboOutput* output) { gumbo_destroy_output(&kGumboDefaultOptions, output); };
  const std::unique_ptr<GumboOutput, decltype(free_tree)> tree(
      gumbo_parse_with_options(&kGumboDefaultOptions, html.data(), html.size()), free_tree);
  Reader reader;
  TERTULIA_TRY(reader.read(*tree->root, 0));
  return reader.take();
}

}  // namespace tertulia
