#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "tertulia/base/utf8.h"
#include "tertulia/tools/fetch_text.h"

#include "ascii.h"

namespace tertulia {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

bool same(std::string_view text, std::string_view lowered) {
  return std::ranges::equal(text, lowered, {}, [](char c) { return ascii::lower(c); });
}

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

// Elements whose content is not text of the page.
constexpr std::array<std::string_view, 9> kDropped = {"script", "style",  "template", "noscript", "svg",
                                                      "iframe", "object", "canvas",   "math"};
// Elements that begin and end a line.
constexpr std::array<std::string_view, 36> kBlocks = {
    "address", "article", "aside", "blockquote", "br",  "dd",    "details", "div",        "dl",
    "dt",      "footer",  "form",  "h1",         "h2",  "h3",    "h4",      "h5",         "h6",
    "header",  "hr",      "li",    "main",       "nav", "ol",    "option",  "p",          "pre",
    "section", "summary", "table", "tr",         "ul",  "title", "body",    "figcaption", "caption"};

struct Entity {
  std::string_view name;
  std::string_view text;
};
constexpr std::array kEntities = std::to_array<Entity>({
    {"amp", "&"},    {"lt", "<"},     {"gt", ">"},     {"quot", "\""},  {"apos", "'"},   {"nbsp", " "},
    {"copy", "©"},   {"reg", "®"},    {"trade", "™"},  {"hellip", "…"}, {"ndash", "–"},  {"mdash", "—"},
    {"lsquo", "‘"},  {"rsquo", "’"},  {"ldquo", "“"},  {"rdquo", "”"},  {"laquo", "«"},  {"raquo", "»"},
    {"bull", "•"},   {"middot", "·"}, {"euro", "€"},   {"pound", "£"},  {"yen", "¥"},    {"cent", "¢"},
    {"sect", "§"},   {"para", "¶"},   {"deg", "°"},    {"plusmn", "±"}, {"times", "×"},  {"divide", "÷"},
    {"frac12", "½"}, {"frac14", "¼"}, {"sup2", "²"},   {"sup3", "³"},   {"micro", "µ"},  {"agrave", "à"},
    {"aacute", "á"}, {"acirc", "â"},  {"atilde", "ã"}, {"auml", "ä"},   {"aring", "å"},  {"aelig", "æ"},
    {"ccedil", "ç"}, {"egrave", "è"}, {"eacute", "é"}, {"ecirc", "ê"},  {"euml", "ë"},   {"igrave", "ì"},
    {"iacute", "í"}, {"icirc", "î"},  {"iuml", "ï"},   {"ntilde", "ñ"}, {"ograve", "ò"}, {"oacute", "ó"},
    {"ocirc", "ô"},  {"otilde", "õ"}, {"ouml", "ö"},   {"oslash", "ø"}, {"ugrave", "ù"}, {"uacute", "ú"},
    {"ucirc", "û"},  {"uuml", "ü"},   {"szlig", "ß"},  {"Agrave", "À"}, {"Aacute", "Á"}, {"Auml", "Ä"},
    {"Aring", "Å"},  {"AElig", "Æ"},  {"Ccedil", "Ç"}, {"Eacute", "É"}, {"Ntilde", "Ñ"}, {"Oacute", "Ó"},
    {"Ouml", "Ö"},   {"Oslash", "Ø"}, {"Uacute", "Ú"}, {"Uuml", "Ü"},   {"iquest", "¿"}, {"iexcl", "¡"},
    {"ordf", "ª"},   {"ordm", "º"},   {"larr", "←"},   {"rarr", "→"},   {"uarr", "↑"},   {"darr", "↓"},
    {"harr", "↔"},   {"minus", "−"},  {"infin", "∞"},  {"ne", "≠"},     {"le", "≤"},     {"ge", "≥"},
    {"asymp", "≈"},  {"alpha", "α"},  {"beta", "β"},   {"gamma", "γ"},  {"delta", "δ"},  {"lambda", "λ"},
    {"mu", "μ"},     {"pi", "π"},     {"sigma", "σ"},  {"omega", "ω"},  {"shy", ""},     {"zwj", ""},
    {"zwnj", ""},    {"ensp", " "},   {"emsp", " "},   {"thinsp", " "},
});

std::string utf8_of(std::uint32_t point) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (point < 0x80) return {byte(point)};
  if (point < 0x800) return {byte(0xc0 | point >> 6), byte(0x80 | (point & 0x3f))};
  if (point < 0x10000)
    return {byte(0xe0 | point >> 12), byte(0x80 | (point >> 6 & 0x3f)), byte(0x80 | (point & 0x3f))};
  return {byte(0xf0 | point >> 18), byte(0x80 | (point >> 12 & 0x3f)), byte(0x80 | (point >> 6 & 0x3f)),
          byte(0x80 | (point & 0x3f))};
}

// Of "#65" or "#x41".
std::optional<std::string> numbered(std::string_view digits) {
  const bool hex = digits.size() > 1 && ascii::lower(digits[1]) == 'x';
  digits.remove_prefix(hex ? 2 : 1);
  std::uint32_t point = 0;
  if (digits.empty()) return std::nullopt;
  for (const char c : digits) {
    const bool letter = hex && ascii::lower(c) >= 'a' && ascii::lower(c) <= 'f';
    if (!ascii::is_digit(c) && !letter) return std::nullopt;
    point =
        point * (hex ? 16 : 10) + static_cast<std::uint32_t>(letter ? ascii::lower(c) - 'a' + 10 : c - '0');
    if (point > 0x10ffff) return "\xef\xbf\xbd";
  }
  if (point == 0 || (point >= 0xd800 && point < 0xe000)) return "\xef\xbf\xbd";
  return utf8_of(point);
}

// The reference at the start of `text`, which begins with '&', and its length.
std::pair<std::string, std::size_t> decoded(std::string_view text) {
  const std::size_t end = text.substr(0, 12).find(';');
  if (end == text.npos || end < 2) return {"&", 1};
  const std::string_view name = text.substr(1, end - 1);
  if (name.front() == '#') {
    if (std::optional<std::string> character = numbered(name)) return {*std::move(character), end + 1};
    return {"&", 1};
  }
  const auto* known = std::ranges::find(kEntities, name, &Entity::name);
  if (known == kEntities.end()) return {"&", 1};
  return {std::string(known->text), end + 1};
}

// The value of an attribute within a tag.
std::string_view attribute(std::string_view tag, std::string_view name) {
  for (std::size_t at = 0; at + name.size() < tag.size(); ++at) {
    if (!is_blank(tag[at]) || !same(tag.substr(at + 1, name.size()), name)) continue;
    std::string_view rest = tag.substr(at + 1 + name.size());
    while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
    if (rest.empty() || rest.front() != '=') continue;
    rest.remove_prefix(1);
    while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
    if (rest.empty()) return {};
    if (rest.front() == '"' || rest.front() == '\'') return rest.substr(1, rest.find(rest.front(), 1) - 1);
    return rest.substr(0, std::ranges::find_if(rest, is_blank) - rest.begin());
  }
  return {};
}

class Page {
 public:
  explicit Page(std::string_view html) : rest_(html) {}

  std::string text() {
    while (!rest_.empty()) {
      if (rest_.front() == '<') {
        take_markup();
      } else if (rest_.front() == '&') {
        auto [character, length] = decoded(rest_);
        // A blank from a reference is a blank like others.
        for (const char c : character) add(c);
        rest_.remove_prefix(length);
      } else {
        add(rest_.front());
        rest_.remove_prefix(1);
      }
    }
    while (!out_.empty() && is_blank(out_.back())) out_.pop_back();
    return std::move(out_);
  }

 private:
  void add(char c) {
    if (!preformatted_ && is_blank(c)) {
      blank_ = true;
      return;
    }
    if (blank_ && !out_.empty() && out_.back() != '\n') out_ += ' ';
    blank_ = false;
    out_ += c;
  }

  void end_line() {
    blank_ = false;
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
  }

  void take_markup() {
    if (rest_.starts_with("<!--")) {
      skip_behind("-->", 4);
    } else if (rest_.starts_with("<!") || rest_.starts_with("<?")) {
      skip_behind(">", 2);
    } else if (const std::size_t name = rest_.starts_with("</") ? 2 : 1;
               rest_.size() > name && ascii::is_letter(rest_[name])) {
      take_tag(name);
    } else {
      add('<');
      rest_.remove_prefix(1);
    }
  }

  void skip_behind(std::string_view end, std::size_t from) {
    const std::size_t at = rest_.find(end, from);
    rest_.remove_prefix(at == rest_.npos ? rest_.size() : at + end.size());
  }

  // The length of the tag at the front, a '>' in quotes not being its end.
  std::size_t tag_length() const {
    char quote = '\0';
    for (std::size_t at = 1; at < rest_.size(); ++at) {
      const char c = rest_[at];
      if (quote != '\0') {
        if (c == quote) quote = '\0';
      } else if ((c == '"' || c == '\'') && rest_[at - 1] == '=') {
        quote = c;
      } else if (c == '>') {
        return at + 1;
      }
    }
    return rest_.size();
  }

  void take_tag(std::size_t name_at) {
    const std::string_view tag = rest_.substr(0, tag_length());
    rest_.remove_prefix(tag.size());
    std::size_t end = name_at;
    while (end < tag.size() && (ascii::is_letter(tag[end]) || ascii::is_digit(tag[end]))) ++end;
    std::string name(tag.substr(name_at, std::min<std::size_t>(end - name_at, 16)));
    std::ranges::transform(name, name.begin(), [](char c) { return ascii::lower(c); });
    const bool closes = name_at == 2;
    if (!closes && is_one_of(name, kDropped) && !tag.ends_with("/>")) return skip_element(name);
    if (name == "pre") preformatted_ = !closes;
    if (name == "a") return closes ? end_link() : begin_link(attribute(tag, "href"));
    if (is_one_of(name, kBlocks)) end_line();
    if (name == "li" && !closes) out_ += "- ";
    if (name == "td" || name == "th") blank_ = true;
    if (name == "img" && !closes) {
      for (const char c : attribute(tag, "alt").substr(0, 200)) add(c);
    }
  }

  // Behind the end of an element whose content is dropped, or at the end of the page.
  void skip_element(std::string_view name) {
    for (std::size_t at = rest_.find("</"); at != rest_.npos; at = rest_.find("</", at + 2)) {
      if (!same(rest_.substr(at + 2, name.size()), name)) continue;
      rest_.remove_prefix(at);
      return rest_.remove_prefix(tag_length());
    }
    rest_ = {};
  }

  void begin_link(std::string_view href) {
    const bool web = href.starts_with("http://") || href.starts_with("https://") || href.starts_with('/');
    link_ = web && href.size() <= 500 ? href : std::string_view();
    link_at_ = out_.size();
  }

  void end_link() {
    if (!link_.empty() && out_.size() > link_at_) {
      std::string address;
      for (std::size_t at = 0; at < link_.size();) {
        auto [text, length] = link_[at] == '&' ? decoded(link_.substr(at))
                                               : std::pair(std::string(1, link_[at]), std::size_t{1});
        address += text;
        at += length;
      }
      out_ += " <" + address + ">";
    }
    link_ = {};
  }

  std::string_view rest_;
  std::string out_;
  bool blank_ = false;
  bool preformatted_ = false;
  std::string_view link_;
  std::size_t link_at_ = 0;
};

}  // namespace

std::string text_of_html(std::string_view html) { return sanitize_utf8(Page(html).text()); }

}  // namespace tertulia
