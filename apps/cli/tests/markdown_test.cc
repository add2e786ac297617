#include "chat/markdown.h"

#include <clocale>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chat/live_screen.h"
#include "chat/markdown_stream.h"
#include "chat/plan_lines.h"
#include "chat/tool_line.h"

namespace tertulia::cli {
namespace markdown_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kText =
    "# Title\n\nA paragraph of **bold** words\nand `code`.\n- one\n- two\n\n  more of two\n\n3. three\n4. "
    "four\n"
    "\n```cpp\nint x = 1;\n\n- no item\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\nThe end";

std::string plain(const std::string& line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      i = line.find('m', i);
    } else {
      text += line[i];
    }
  }
  return text;
}

std::vector<std::string> plain_lines(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  for (const std::string& line : render_markdown(text, width)) lines.push_back(plain(line));
  return lines;
}

class Markdown : public testing::Test {
 protected:
  static void SetUpTestSuite() { std::setlocale(LC_CTYPE, "C.UTF-8"); }
};

TEST_F(Markdown, ParagraphsAreWrappedAtTheWidth) {
  EXPECT_THAT(plain_lines("one two three four", 10), ElementsAre("one two", "three four"));
  EXPECT_THAT(plain_lines("äöü äöü äöü äöü", 11), ElementsAre("äöü äöü äöü", "äöü"));
}

TEST_F(Markdown, NoLineIsWiderThanTheScreen) {
  for (const std::size_t width : {20U, 33U, 80U}) {
    for (const std::string& line : render_markdown(kText, width)) EXPECT_LE(shown_width(line), width) << line;
    for (const std::string& line :
         render_markdown(std::string(500, 'x') + " 日本語" + std::string(90, 'y'), width)) {
      EXPECT_LE(shown_width(line), width) << line;
    }
  }
}

TEST_F(Markdown, ListsNestAndKeepTheirNumbers) {
  EXPECT_THAT(plain_lines("- one\n  - deep\n- two", 40), ElementsAre("• one", "  • deep", "• two"));
  EXPECT_THAT(plain_lines("7. seven\n8. eight and more words", 16),
              ElementsAre("7. seven", "8. eight and", "   more words"));
  EXPECT_THAT(plain_lines("- [x] done\n- [ ] open", 40), ElementsAre("☑ done", "☐ open"));
}

TEST_F(Markdown, ATableKeepsItsColumns) {
  EXPECT_THAT(plain_lines("| a | bb |\n|---|---|\n| ccc | d |", 40),
              ElementsAre("a   │ bb", "────┼───", "ccc │ d "));
  // What does not fit is folded, not cut.
  EXPECT_THAT(plain_lines("| a | b |\n|---|---|\n| 1 | two **words** and unbreakable |\n| 2 | x |", 15),
              ElementsAre("a │ b          ", "──┼────────────", "1 │ two words  ", "  │ and        ",
                          "  │ unbreakable", "2 │ x          "));
}

TEST_F(Markdown, WhatCouldSteerTheTerminalIsEscaped) {
  for (const char* text :
       {"a \x1b[2J b", "`\x1b]0;title\x07`", "```\n\x1b[31m\n```", "[x](http://a/\x1b[1m)"}) {
    for (const std::string& line : render_markdown(text, 60)) {
      EXPECT_THAT(plain(line), Not(HasSubstr("\x1b"))) << text;
      EXPECT_THAT(line, Not(HasSubstr("\x1b[2J")));
      EXPECT_THAT(line, Not(HasSubstr("\x1b]")));
      EXPECT_THAT(line, Not(HasSubstr("\x1b[31m")));
    }
  }
}

std::vector<MarkdownBlock> blocks_of(std::string_view text, const std::function<std::size_t()>& piece) {
  MarkdownStream stream;
  std::vector<MarkdownBlock> blocks;
  while (!text.empty()) {
    const std::size_t size = std::min(piece(), text.size());
    stream.add(text.substr(0, size));
    text.remove_prefix(size);
    for (MarkdownBlock& block : stream.take_closed()) blocks.push_back(std::move(block));
    (void)stream.open();
  }
  stream.finish();
  for (MarkdownBlock& block : stream.take_closed()) blocks.push_back(std::move(block));
  EXPECT_FALSE(stream.open().has_value());
  return blocks;
}

TEST_F(Markdown, HoweverItArrivesTheBlocksAreTheSame) {
  const auto whole = blocks_of(kText, [] { return std::size_t{1'000}; });
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::minstd_rand random(seed + 1);
    EXPECT_EQ(blocks_of(kText, [&] { return random() % 9 + 1; }), whole);
  }
}

TEST_F(Markdown, BlocksAreClosedAsSoonAsTheyCanBe) {
  MarkdownStream stream;
  stream.add("# Title\nfirst");
  EXPECT_THAT(stream.take_closed(), ElementsAre(MarkdownBlock{"# Title"}));
  EXPECT_EQ(stream.open()->text, "first");
  stream.add(" line\n\n- one\n- two");
  EXPECT_THAT(stream.take_closed(), ElementsAre(MarkdownBlock{"first line\n"}));
  stream.add("\n- three\n");
  EXPECT_THAT(stream.take_closed(),
              ElementsAre(MarkdownBlock{"- one\n"}, MarkdownBlock{"- two\n", false, true}));
  stream.add("```\ncode\nmo");
  EXPECT_THAT(stream.take_closed(),
              ElementsAre(MarkdownBlock{"- three\n", false, true}, MarkdownBlock{"code", true, false}));
  EXPECT_EQ(*stream.open(), (MarkdownBlock{"mo", true, true}));
}

TEST_F(Markdown, AToolIsOneLineThatFits) {
  const Output out;
  const std::string line =
      tool_line(out, 60, "✓", "ok", "write_file", std::string(200, 'a'), std::string(200, 'b'), "12 ms");
  EXPECT_LE(shown_width(line), 60U);
  EXPECT_THAT(line, testing::EndsWith("· 12 ms"));
  EXPECT_EQ(arguments_text(R"({"expression":"1+1"})"), "1+1");
  EXPECT_EQ(arguments_text(R"({"path":"a","text":"b\nc"})"), "path: a, text: b c");
  EXPECT_EQ(arguments_text(R"({"path":"a)"), R"({"path":"a)");
}

TEST_F(Markdown, SentencesAreFoldedBetweenWords) {
  EXPECT_THAT(fold_words("  ? May it run?  No.", 11, 4), ElementsAre("  ? May it", "    run?", "    No."));
  EXPECT_THAT(fold_words("\x1b[1my\x1b[0m yes  unbreakable", 6),
              ElementsAre("\x1b[1my\x1b[0m yes", "unbreakable"));
  EXPECT_THAT(fold_words("", 6), ElementsAre(""));
}

TEST_F(Markdown, APlanIsAListOfSteps) {
  const Json state = parse_json(R"({"version":1,"value":{"steps":[{"text":"look","status":"done"},)"
                                R"({"text":"think","status":"doing"},{"text":"write"}]}})")
                         .value();
  EXPECT_THAT(plan_lines(state, 40, Output{}), ElementsAre("  ✓ look", "  ▸ think", "  ○ write"));
  EXPECT_THAT(plan_lines(Json("odd"), 40, Output{}), ElementsAre("\"odd\""));
}

TEST_F(Markdown, DurationsAreReadByPeople) {
  EXPECT_EQ(duration_words(std::chrono::milliseconds(12)), "12 ms");
  EXPECT_EQ(duration_words(std::chrono::milliseconds(1'240)), "1.2 s");
  EXPECT_EQ(duration_words(std::chrono::seconds(125)), "2 min 5 s");
  EXPECT_EQ(duration_words(std::chrono::seconds(-5)), "0 ms");
}

}  // namespace markdown_test
}  // namespace tertulia::cli
