#include "tertulia/memory/document.h"

#include <gmock/gmock.h>

namespace tertulia {
namespace document_test {

using testing::HasSubstr;
using testing::Not;

// One page that says "Hello from a page".
constexpr std::string_view kPdf =
    "%PDF-1.4\n"
    "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R"
    "/Resources<</Font<</F1 5 0 R>>>>>>endobj\n"
    "4 0 obj<</Length 50>>stream\n"
    "BT /F1 12 Tf 20 100 Td (Hello from a page) Tj ET  \n"
    "endstream endobj\n"
    "5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n"
    "trailer<</Root 1 0 R>>\n"
    "%%EOF\n";

std::string html(std::string_view bytes) {
  return text_of({.source = "page", .format = DocumentFormat::kHtml, .bytes = std::string(bytes)}).value();
}

TEST(Document, HtmlBecomesWhatAReaderSees) {
  const std::string text = html(
      "<html><head><title>T</title><style>p{}</style></head><body><nav>Menu</nav><h2>Opening\n hours</h2>"
      "<p>We are <b>open</b> on <i>Sunday</i>.</p><ul><li>one<li>two</ul><script>steal()</script>"
      "<pre>a  b\n  c</pre></body>");
  EXPECT_EQ(text, "## Opening hours\n\nWe are open on Sunday.\n\n- one\n- two\n\n```\na  b\n  c\n```\n");
}

TEST(Document, BrokenHtmlIsReadAsBrowsersDo) {
  EXPECT_EQ(html("<p>one<p>two<b>bold</p></div>tail"), "one\n\ntwobold\n\ntail\n");
  EXPECT_EQ(html(""), "");
}

TEST(Document, HtmlThatNestsWithoutEndIsRefused) {
  std::string deep;
  for (int i = 0; i < 2'000; ++i) deep += "<div>";
  const auto text = text_of({.source = "deep", .format = DocumentFormat::kHtml, .bytes = deep});
  EXPECT_EQ(text.error().code(), ErrorCode::kTooDeep);
}

TEST(Document, APdfBecomesTheTextOfItsPages) {
  const std::string text =
      text_of({.source = "a.pdf", .format = DocumentFormat::kPdf, .bytes = std::string(kPdf)}).value();
  EXPECT_THAT(text, HasSubstr("Hello from a page"));
}

TEST(Document, WhatIsNoPdfIsRefused) {
  const auto text = text_of({.source = "a.pdf", .format = DocumentFormat::kPdf, .bytes = "not a pdf"});
  EXPECT_EQ(text.error().code(), ErrorCode::kDamaged);
}

TEST(Document, TextMustBeUnicode) {
  EXPECT_EQ(text_of({.source = "a", .bytes = "\xff\xfe"}).error().code(), ErrorCode::kBadUnicode);
}

TEST(Document, FormatsAreKnownByTheirEndings) {
  EXPECT_EQ(format_of("a/b.MD"), DocumentFormat::kMarkdown);
  EXPECT_EQ(format_of("page.htm"), DocumentFormat::kHtml);
  EXPECT_EQ(format_of("paper.pdf"), DocumentFormat::kPdf);
  EXPECT_EQ(format_of("notes"), DocumentFormat::kText);
}

}  // namespace document_test
}  // namespace tertulia
