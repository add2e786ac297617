// What a server sent, as text that a model can read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tertulia {

struct MediaType {
  // "text/html", in lower case; empty if the header is.
  std::string type;
  // In lower case; empty if it is not said.
  std::string charset;

  bool is_html() const { return type == "text/html" || type == "application/xhtml+xml"; }
  // Text, as far as its name says.
  bool is_text() const;
};

// Of a Content-Type header.
MediaType parse_media_type(std::string_view header);

// The encoding that a page names within its first kilobyte; empty if it names none.
std::string charset_of_page(std::string_view html);

// As UTF-8, with U+FFFD for what is ill-formed. A byte order mark wins over `charset`; no charset is UTF-8.
// Nothing: the encoding is not one of the known ones. A character that is cut at the end is dropped.
std::optional<std::string> to_utf8(std::string_view bytes, std::string_view charset);

// The text of a page: title first, a line for each block, links as "text <address>", without scripts, styles
// and comments. In time linear in its length, whatever it holds; the result is not longer than the page by
// more than a few lines.
std::string text_of_html(std::string_view html);

}  // namespace tertulia
