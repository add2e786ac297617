#include "html_guard.h"

#include <algorithm>
#include <array>
#include <string>

namespace tertulia {
namespace {

// Those that have no end, or may leave it out: many of them beside each other are no depth.
constexpr std::array<std::string_view, 37> kNoEnd = {
    "area",   "base",  "body",  "br",        "caption", "col",    "colgroup", "dd",   "dt",     "embed",
    "head",   "hr",    "html",  "img",       "input",   "keygen", "li",       "link", "meta",   "optgroup",
    "option", "p",     "param", "plaintext", "rb",      "rp",     "rt",       "rtc",  "source", "tbody",
    "td",     "tfoot", "th",    "thead",     "tr",      "track",  "wbr"};
// What is in them is no markup.
constexpr std::array<std::string_view, 7> kRaw = {"iframe", "noembed",  "noframes", "script",
                                                  "style",  "textarea", "title"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
bool ends_name(char c) {
  return c == '>' || c == '/' || c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

template <class Names>
bool is_one_of(std::string_view name, const Names& names) {
  return std::ranges::find(names, name) != names.end();
}

class Scan {
 public:
  explicit Scan(std::string_view html) : html_(html) {}

  Result<void> run() {
    while (at_ < html_.size()) {
      const std::size_t tag = html_.find('<', at_);
      if (tag == std::string_view::npos) return {};
      at_ = tag + 1;
      if (html_.substr(at_).starts_with("!--")) {
        skip_behind("-->");
      } else if (at_ < html_.size() && html_[at_] == '/') {
        ++at_;
        if (!is_one_of(name(), kNoEnd) && open_ > 0) --open_;
        skip_tag();
      } else if (at_ < html_.size() && is_letter(html_[at_])) {
        TERTULIA_TRY(begin_element());
      }
    }
    return {};
  }

 private:
  Result<void> begin_element() {
    const std::string tag = name();
    const bool closed = skip_tag();
    if (is_one_of(tag, kRaw)) return skip_raw(tag);
    // "<div/>" is no closed element in HTML; in foreign content it is.
    (void)closed;
    if (is_one_of(tag, kNoEnd)) return {};
    if (++open_ <= kMaxOpenElements) return {};
    return Error(ErrorCode::kTooDeep, "the elements of this page nest deeper than " +
                                          std::to_string(kMaxOpenElements) + "; save it as text first");
  }

  std::string name() {
    std::string text;
    while (at_ < html_.size() && !ends_name(html_[at_]) && text.size() < 64) text += lower(html_[at_++]);
    return text;
  }

  // Behind the '>' of a tag, whose values may hold one in quotes. True if it ended with "/>".
  bool skip_tag() {
    char quote = 0;
    char before = 0;
    for (; at_ < html_.size(); ++at_) {
      const char c = html_[at_];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if ((c == '"' || c == '\'') && before == '=') {
        quote = c;
      } else if (c == '>') {
        ++at_;
        return before == '/';
      }
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f') before = c;
    }
    return false;
  }

  void skip_behind(std::string_view end) {
    const std::size_t found = html_.find(end, at_);
    at_ = found == std::string_view::npos ? html_.size() : found + end.size();
  }

  Result<void> skip_raw(const std::string& tag) {
    while (at_ < html_.size()) {
      skip_behind("</");
      const std::size_t begin = at_;
      if (name() == tag) {
        skip_tag();
        return {};
      }
      at_ = std::max(begin, at_);
    }
    return {};
  }

  const std::string_view html_;
  std::size_t at_ = 0;
  std::size_t open_ = 0;
};

}  // namespace

Result<void> check_html(std::string_view html) { return Scan(html).run(); }

}  // namespace tertulia
