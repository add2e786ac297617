#include "tertulia/memory/document.h"

#include <filesystem>
#include <fstream>
#include <thread>

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

// 100,000 of them kept a parser busy for minutes.
TEST(Document, AnyHtmlIsReadOrRefusedBeforeItsTimeIsUp) {
  std::string unclosed;
  std::string lists;
  for (int i = 0; i < 100'000; ++i) unclosed += "<div>";
  for (int i = 0; i < 60'000; ++i) lists += "<p><a>";
  for (const std::string& bytes : {unclosed, lists}) {
    const auto text = text_of({.source = "bomb", .format = DocumentFormat::kHtml, .bytes = bytes});
    EXPECT_EQ(text.error().code(), ErrorCode::kTooDeep);
  }
  std::string wide = "<table>";
  for (int i = 0; i < 20'000; ++i) wide += "<tr><td>a<td>b";
  EXPECT_EQ(html(wide).substr(0, 14), "a |b |\na |b |\n");
  EXPECT_EQ(html("<script>" + unclosed + "</script>x<!-- " + unclosed + " -->y").substr(0, 100), "xy\n");
}

// In the place of the program that reads HTML: what a document could make of it.
class Hostile : public ::testing::Test {
 protected:
  ~Hostile() override { use_document_helper({}); }

  static Result<std::string> read(const std::string& command, const ReadingLimits& limits = {},
                                  const CancelToken& cancel = {}) {
    use_document_helper({.program = "/bin/sh", .arguments = {"-c", command}});
    return text_of({.source = "x", .format = DocumentFormat::kHtml, .bytes = "<p>x"}, cancel, limits);
  }
};

TEST_F(Hostile, ReadersAreStoppedAtEveryLimit) {
  EXPECT_EQ(read("cat; echo ok").value(), "<p>xok\n");
  EXPECT_EQ(read("while :; do :; done", {.time = std::chrono::milliseconds(200)}).error().code(),
            ErrorCode::kTooLarge);
  EXPECT_EQ(read("while :; do :; done", {.cpu = std::chrono::seconds(1)}).error().code(),
            ErrorCode::kTooLarge);
  EXPECT_EQ(read("yes", {.text = 1U << 20U}).error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(read("kill -SEGV $$").error().code(), ErrorCode::kDamaged);
  EXPECT_EQ(read("exit 3").error().code(), ErrorCode::kDamaged);
  EXPECT_EQ(read("printf 'not_permitted\\tgive me your key' >&2; exit 65").error().code(),
            ErrorCode::kDamaged)
      << "it cannot say what it likes";
}

TEST_F(Hostile, ReadersSeeNothingAndLeaveNothing) {
  // Who it runs as may read this; the reader may not.
  const std::string file = testing::TempDir() + "document_test_secret";
  std::ofstream(file) << "secret";
  std::filesystem::permissions(file, std::filesystem::perms::others_read, std::filesystem::perm_options::add);
  EXPECT_THAT(read("cat '" + file + "' 2>/dev/null; echo; env | grep -c '^HOME=/nonexistent$'").value(),
              Not(HasSubstr("secret")));
  EXPECT_THAT(read("echo x > '" + file + "' 2>/dev/null && echo written; echo end").value(),
              Not(HasSubstr("written")));
  EXPECT_EQ(std::filesystem::file_size(file), 6U);
  std::filesystem::remove(file);
}

TEST_F(Hostile, ReadingEndsAtOnceWhenItIsCancelled) {
  CancelSource cancel;
  std::thread later([&] { cancel.cancel(CancelReason::kUser); });
  EXPECT_EQ(read("while :; do :; done", {.time = std::chrono::minutes(10), .cpu = std::chrono::seconds(600)},
                 cancel.token())
                .error()
                .code(),
            ErrorCode::kCancelled);
  later.join();
}

TEST(Document, AProgramThatIsNotThereIsNamed) {
  use_document_helper({.program = "/nonexistent/reader"});
  const auto text = text_of({.source = "x", .format = DocumentFormat::kHtml, .bytes = "<p>x"});
  use_document_helper({});
  EXPECT_EQ(text.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(text.error().message(), HasSubstr("/nonexistent/reader"));
}

// A stream whose rows it claims are 2 GB long, and a tree of pages that never ends.
TEST(Document, PdfsThatClaimTheImpossibleAreRefusedOrEmpty) {
  for (const std::string_view change :
       {"/Filter/FlateDecode/DecodeParms<</Predictor 15/Columns 2000000000/Colors 32>>",
        "/Filter[/FlateDecode/FlateDecode/FlateDecode]", "/Filter/JBIG2Decode"}) {
    std::string bytes(kPdf);
    bytes.replace(bytes.find("/Length 50"), 10, "/Length 50" + std::string(change));
    const auto text = text_of({.source = "bomb.pdf", .format = DocumentFormat::kPdf, .bytes = bytes});
    EXPECT_TRUE(!text || text->find("Hello") == std::string::npos) << change;
  }
  std::string endless(kPdf);
  endless.replace(endless.find("/Kids[3 0 R]"), 12, "/Kids[2 0 R]");
  const auto text = text_of({.source = "loop.pdf", .format = DocumentFormat::kPdf, .bytes = endless});
  EXPECT_TRUE(!text || text->find("Hello") == std::string::npos);
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
