#include "tertulia/text/chunker.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "markdown_blocks.h"
#include "sentences.h"

namespace tertulia {
namespace chunker_test {

const Tokenizer& tokenizer() {
  static const auto o200k = tokenizer_named("o200k_base").value();
  return *o200k;
}

std::vector<std::string> sentences(std::string_view text) {
  std::vector<std::string> out;
  std::size_t start = 0;
  for (std::size_t end : sentence_ends(text)) {
    out.emplace_back(text.substr(start, end - start));
    start = end;
  }
  return out;
}

std::vector<std::string> texts_of(std::string_view text, const std::vector<Chunk>& chunks) {
  std::vector<std::string> out;
  for (const Chunk& chunk : chunks) out.emplace_back(text.substr(chunk.offset, chunk.length));
  return out;
}

void expect_promises(std::string_view text, const ChunkOptions& options) {
  const std::vector<Chunk> chunks = chunk_text(text, options, tokenizer()).value();
  std::size_t covered = 0;
  for (const Chunk& chunk : chunks) {
    ASSERT_LE(chunk.offset, covered);
    ASSERT_GT(chunk.offset + chunk.length, covered);
    covered = chunk.offset + chunk.length;
    const std::string_view content = text.substr(chunk.offset, chunk.length);
    ASSERT_EQ(chunk.tokens, tokenizer().count(content));
    ASSERT_LE(chunk.tokens, options.size);
    if (options.size >= 8) {
      ASSERT_NE(static_cast<unsigned char>(content[0]) & 0xC0U, 0x80U);
      ASSERT_TRUE(covered == text.size() || (static_cast<unsigned char>(text[covered]) & 0xC0U) != 0x80);
    }
  }
  ASSERT_EQ(covered, text.size());
}

TEST(Sentences, EndAtMarksBeforeSpacesAndAnywhereInChinese) {
  EXPECT_EQ(sentences("One. Two! \"Three?\" Four"),
            (std::vector<std::string>{"One. ", "Two! ", "\"Three?\" ", "Four"}));
  EXPECT_EQ(sentences("\u4F60\u597D\u3002\u518D\u89C1\uFF01"),
            (std::vector<std::string>{"\u4F60\u597D\u3002", "\u518D\u89C1\uFF01"}));
}

TEST(Sentences, DoNotEndAfterAbbreviationsInitialsOrNumbers) {
  EXPECT_EQ(sentences("Dr. Ada B. Lovelace paid 3.50 euros, e.g. for tea. Then left.").size(), 2U);
  EXPECT_EQ(sentences("It ended ... or so it seemed.").size(), 1U);
}

TEST(MarkdownBlocks, AreToldApart) {
  const std::vector<Block> blocks =
      blocks_of("# One #\n\ntext\nmore\n- a\n  b\n- c\n\n| x | y |\n```c\n# no heading\n```\nend", true);
  std::vector<BlockKind> kinds;
  for (const Block& block : blocks) kinds.push_back(block.kind);
  EXPECT_EQ(kinds, (std::vector<BlockKind>{BlockKind::kHeading, BlockKind::kParagraph, BlockKind::kItem,
                                           BlockKind::kItem, BlockKind::kRow, BlockKind::kCode,
                                           BlockKind::kParagraph}));
  EXPECT_EQ(blocks[0].title, "One");
}

TEST(Chunker, AShortTextIsOneChunk) {
  const std::vector<Chunk> chunks = chunk_text("Good evening.", {}, tokenizer()).value();
  ASSERT_EQ(chunks.size(), 1U);
  EXPECT_EQ(chunks[0].length, 13U);
  EXPECT_TRUE(chunk_text("", {}, tokenizer()).value().empty());
}

TEST(Chunker, EndsBeforeAHeadingAndSaysUnderWhichItStands) {
  const std::string text =
      "# A\nOne two three four. Five six seven eight.\n## B\nNine ten eleven twelve. Thirteen fourteen.\n";
  const std::vector<Chunk> chunks = chunk_text(text, {.size = 20, .overlap = 0}, tokenizer()).value();
  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_EQ(chunks[0].heading_path, (std::vector<std::string>{"A"}));
  EXPECT_EQ(chunks[1].heading_path, (std::vector<std::string>{"A", "B"}));
  EXPECT_TRUE(texts_of(text, chunks)[1].starts_with("## B"));
}

TEST(Chunker, OverlapsByWholeSentences) {
  const std::string text =
      "Alpha beta gamma. Delta epsilon zeta. Eta theta iota. Kappa lambda mu. Nu xi omicron.";
  const std::vector<Chunk> chunks = chunk_text(text, {.size = 24, .overlap = 10}, tokenizer()).value();
  ASSERT_GE(chunks.size(), 2U);
  for (std::size_t i = 1; i < chunks.size(); ++i) {
    EXPECT_LT(chunks[i].offset, chunks[i - 1].offset + chunks[i - 1].length);
    EXPECT_EQ(text[chunks[i].offset - 1], ' ');
    EXPECT_EQ(text[chunks[i].offset - 2], '.');
  }
}

TEST(Chunker, KeepsCodeWholeWhereItFits) {
  const std::string code = "```\nint main() {\n  return 0;\n}\n```\n";
  const std::string text =
      "Some words come before it. And some more words still.\n\n" + code + "Words come after it too.\n";
  bool whole = false;
  for (const std::string& chunk :
       texts_of(text, chunk_text(text, {.size = 24, .overlap = 0}, tokenizer()).value())) {
    if (chunk.find(code) != std::string::npos) whole = true;
  }
  EXPECT_TRUE(whole);
}

TEST(Chunker, KeepsItsPromisesOnAnyText) {
  std::mt19937 random(9);
  const std::vector<std::string> parts = {"# H\n",
                                          "Word ",
                                          "end. ",
                                          "\n\n",
                                          "- item\n",
                                          "| a | b |\n",
                                          "```\ncode();\n```\n",
                                          "\u4F60\u597D\u3002",
                                          "\U0001F469\u200D\U0001F680",
                                          std::string(300, 'x'),
                                          "12345 ",
                                          std::string(40, ' '),
                                          "```\nopen\n"};
  for (int round = 0; round < 400; ++round) {
    std::string text;
    for (std::size_t i = random() % 60; i > 0; --i) text += parts[random() % parts.size()];
    const std::size_t size = 1 + random() % 60;
    expect_promises(text, {.size = size, .overlap = random() % size, .markdown = random() % 2 == 0});
    if (HasFatalFailure()) FAIL() << text;
  }
}

TEST(Chunker, RefusesAnOverlapThatIsNotBelowTheSize) {
  EXPECT_EQ(chunk_text("x", {.size = 0, .overlap = 0}, tokenizer()).error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(chunk_text("x", {.size = 8, .overlap = 8}, tokenizer()).error().code(), ErrorCode::kOutOfRange);
}

}  // namespace chunker_test
}  // namespace tertulia
