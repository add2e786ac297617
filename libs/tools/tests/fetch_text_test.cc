#include "tertulia/tools/fetch_text.h"

#include <gtest/gtest.h>

#include "tertulia/base/utf8.h"

namespace tertulia {
namespace fetch_text_test {

TEST(FetchText, GivesTheTextOfAPageWithItsLinks) {
  const std::string html =
      "<!DOCTYPE html><html><head><title>A  page</title><style>p{color:red}</style>\n"
      "<script>if (a<b) document.write('</p>')</script></head><body><h1>Head</h1><!-- <p>no</p> -->"
      "<p>One &amp; two&nbsp;&#8364;&#x41;<br>three</p><ul><li>x<li>y</ul>"
      "<p>See <a class=q href=\"https://example.com/?a=1&amp;b=2\">the <b>manual</b></a> now, not "
      "<a href='javascript:alert(1)'>this</a>.</p><pre>a\n  b</pre><img alt=\"a > b\" src=x></body></html>";
  EXPECT_EQ(text_of_html(html),
            "A page\nHead\nOne & two €A\nthree\n- x\n- y\n"
            "See the manual <https://example.com/?a=1&b=2> now, not this.\na\n  b\na > b");
}

TEST(FetchText, EndsWithWhateverAPageLeavesOpen) {
  for (const char* html : {"a<script>b", "a<!-- b", "a<b", "a<style>b</style", "a<p title=\"b>c", "a<!b"})
    EXPECT_EQ(text_of_html(html), "a") << html;
  EXPECT_EQ(text_of_html("a < b && c &; &nosuch; &#xd800; &#99999999; &#"),
            "a < b && c &; &nosuch; \xef\xbf\xbd \xef\xbf\xbd &#");
  EXPECT_EQ(text_of_html(""), "");
  EXPECT_TRUE(is_utf8(text_of_html("\xff<p>\xc3")));
}

TEST(FetchText, TakesLinearTimeForHostilePages) {
  // A quadratic reader would need hours for these.
  for (const char* piece : {"<script>", "<a href=\"", "</", "<!--", "&", "<p x='", "<svg></sv"}) {
    std::string html;
    while (html.size() < (std::size_t{4} << 20)) html += piece;
    EXPECT_LE(text_of_html(html).size(), html.size() + 100) << piece;
  }
}

TEST(FetchText, ReadsTheContentType) {
  const MediaType html = parse_media_type("Text/HTML; q=1; Charset=\"ISO-8859-1\"; x");
  EXPECT_EQ(html.type, "text/html");
  EXPECT_EQ(html.charset, "iso-8859-1");
  EXPECT_TRUE(html.is_html() && html.is_text());
  EXPECT_TRUE(parse_media_type("application/problem+json").is_text());
  EXPECT_FALSE(parse_media_type("image/png").is_text());
  EXPECT_EQ(parse_media_type("").type, "");
  EXPECT_EQ(charset_of_page("<html><meta http-equiv=x content='text/html; charset=windows-1251'>"),
            "windows-1251");
  EXPECT_EQ(charset_of_page("<meta charset=\"koi8-r\"/>"), "koi8-r");
  EXPECT_EQ(charset_of_page("<html>"), "");
}

TEST(FetchText, KnowsTheEncodingsOfTheWebAndNoOthers) {
  EXPECT_EQ(to_utf8("caf\xe9 \x80", "iso-8859-1"), "café €");
  EXPECT_EQ(to_utf8("\xcf\xf0\xe8", "windows-1251"), "При");
  EXPECT_EQ(to_utf8("\x93\xfa\x96\x7b", "shift_jis"), "日本");
  EXPECT_EQ(to_utf8(std::string_view("a\0b\0", 4), "utf-16le"), "ab");
  EXPECT_EQ(to_utf8("\xef\xbb\xbfx", "koi8-r"), "x");
  EXPECT_EQ(to_utf8("a\xff", ""), "a\xef\xbf\xbd");
  EXPECT_EQ(to_utf8("a\x81\x20z", "shift_jis").value().front(), 'a');
  EXPECT_EQ(to_utf8("\xe6", "gb18030"), "");
  for (const char* name : {"iso-2022-cn-ext", "utf-7", "hex", "//translit", "../x"})
    EXPECT_EQ(to_utf8("x", name), std::nullopt) << name;
}

}  // namespace fetch_text_test
}  // namespace tertulia
