#include "tertulia/text/word_pieces.h"

#include <gmock/gmock.h>

namespace tertulia {
namespace word_pieces_test {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kLines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##afford\n##able\nhello\n##o\n,";

TEST(FoldedWords, AreLowerCaseWithoutAccents) {
  EXPECT_THAT(folded_words("Ünïcödé   CAFÉ\tÀ"), ElementsAre("unicode", "cafe", "a"));
}

TEST(FoldedWords, MarksAndIdeographsStandAlone) {
  EXPECT_THAT(folded_words("don't stop!"), ElementsAre("don", "'", "t", "stop", "!"));
  EXPECT_THAT(folded_words("日本 x"), ElementsAre("日", "本", "x"));
}

TEST(FoldedWords, ControlsAndBrokenBytesVanish) {
  EXPECT_THAT(folded_words("a\x01\x7f"
                           "b \xff c"),
              ElementsAre("ab", "c"));
  EXPECT_THAT(folded_words(""), IsEmpty());
}

TEST(FoldedWords, HangulFallsIntoItsLetters) {
  EXPECT_THAT(folded_words("한"), ElementsAre("\u1112\u1161\u11ab"));
}

TEST(WordPieces, TakesTheLongestPieceFromTheLeft) {
  const WordPieces pieces = WordPieces::from_lines(kLines).value();
  EXPECT_THAT(pieces.encode("Unaffordable, hello"), ElementsAre(4, 5, 6, 9, 7));
  EXPECT_THAT(pieces.encode("helloo"), ElementsAre(7, 8));
}

TEST(WordPieces, AWordWithAnUnknownPartIsOneUnknown) {
  const WordPieces pieces = WordPieces::from_lines(kLines).value();
  EXPECT_THAT(pieces.encode("unaffordablex hello"), ElementsAre(1, 7));
  EXPECT_THAT(pieces.encode(std::string(101, 'o')), ElementsAre(1));
}

TEST(WordPieces, StopsAtTheLimit) {
  const WordPieces pieces = WordPieces::from_lines(kLines).value();
  EXPECT_THAT(pieces.encode("hello hello hello", 2), ElementsAre(7, 7));
}

TEST(WordPieces, RefusesAVocabularyWithoutItsMarks) {
  EXPECT_EQ(WordPieces::from_lines("a\nb").error().code(), ErrorCode::kDamaged);
}

}  // namespace word_pieces_test
}  // namespace tertulia
