#include "piece_scanner.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "piece_machine.h"

namespace tertulia {
namespace piece_scanner_test {

using Pieces = std::vector<std::string>;

template <Pattern pattern>
Pieces pieces(std::string_view text) {
  const PieceScanner<pattern> scanner(CharClasses::get());
  Pieces out;
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const char* next = scanner.next(at, end);
    out.emplace_back(at, next);
    at = next;
  }
  return out;
}

template <Pattern pattern>
Pieces machine_pieces(std::string_view text) {
  PieceMachine machine(pattern);
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i <= text.size(); ++i) {
    if (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80) continue;
    machine.read(text.substr(0, i), ends);
  }
  ends.push_back(machine.end_if_last());
  ends.push_back(text.size());
  Pieces out;
  std::size_t start = 0;
  for (std::size_t end : ends) {
    if (end > start) out.emplace_back(text.substr(start, end - start));
    start = end;
  }
  return out;
}

constexpr auto kO = Pattern::kO200k;
constexpr auto kC = Pattern::kCl100k;

TEST(PieceScanner, AWordTakesTheSpaceBeforeIt) {
  EXPECT_EQ(pieces<kO>("Good evening, all."), (Pieces{"Good", " evening", ",", " all", "."}));
  EXPECT_EQ(pieces<kC>("Good  evening"), (Pieces{"Good", " ", " evening"}));
}

TEST(PieceScanner, ContractionsEndAWordInO200kAndStandAloneInCl100k) {
  EXPECT_EQ(pieces<kO>("don't WE'LL it'x"), (Pieces{"don't", " WE'LL", " it", "'x"}));
  EXPECT_EQ(pieces<kC>("don't WE'LL it'x"), (Pieces{"don", "'t", " WE", "'LL", " it", "'x"}));
}

TEST(PieceScanner, TheLongSIsAnS) {
  EXPECT_EQ(pieces<kC>("it'\u017F ok"), (Pieces{"it", "'\u017F", " ok"}));
  EXPECT_EQ(pieces<kO>("it'\u017F ok"), (Pieces{"it'\u017F", " ok"}));
}

TEST(PieceScanner, DigitsComeInThreesOrOneByOne) {
  EXPECT_EQ(pieces<kO>("1234567"), (Pieces{"123", "456", "7"}));
  EXPECT_EQ(pieces<Pattern::kQwen>("1234"), (Pieces{"1", "2", "3", "4"}));
}

TEST(PieceScanner, O200kCutsWordsWhereCapitalsBeginAgain) {
  EXPECT_EQ(pieces<kO>("getElementById"), (Pieces{"get", "Element", "By", "Id"}));
  EXPECT_EQ(pieces<kO>("HTTPServer"), (Pieces{"HTTPServer"}));
}

TEST(PieceScanner, O200kTakesBackWhatBelongsToBothCases) {
  EXPECT_EQ(pieces<kO>("AB\u4E2DCD"), (Pieces{"AB\u4E2D", "CD"}));
  EXPECT_EQ(pieces<kO>("AB\u4E2DCDx"), (Pieces{"AB\u4E2DCDx"}));
  EXPECT_EQ(pieces<kO>("\u0301A"), (Pieces{"\u0301", "A"}));
}

TEST(PieceScanner, SpacesRunThroughTheLastNewline) {
  EXPECT_EQ(pieces<kO>("a \n \n  b"), (Pieces{"a", " \n \n", " ", " b"}));
  EXPECT_EQ(pieces<kO>("a\n   "), (Pieces{"a", "\n", "   "}));
  EXPECT_EQ(pieces<kC>("x\u0085\u3000y"), (Pieces{"x", "\u0085", "\u3000y"}));
}

TEST(PieceScanner, MarksTakeNewlinesAndInO200kSlashes) {
  EXPECT_EQ(pieces<kO>("a};\n/b"), (Pieces{"a", "};\n/", "b"}));
  EXPECT_EQ(pieces<kC>("a};\n/b"), (Pieces{"a", "};\n", "/b"}));
}

TEST(PieceScanner, BytesThatAreNotUtf8AreMarksOfTheirOwn) {
  EXPECT_EQ(pieces<kO>("a\xFF\xE4\xB8z"), (Pieces{"a", "\xFF\xE4\xB8", "z"}));
  EXPECT_EQ(pieces<kO>("\xED\xA0\x80"), (Pieces{"\xED\xA0\x80"}));
}

// All strings of up to five of these characters, one of each class that the patterns tell apart.
TEST(PieceMachine, FindsThePiecesOfTheScannerOneCharacterAtATime) {
  const std::vector<std::string> letters = {"a", "B",  "\u4E2D", "\u0301", "'", "s", "l",
                                            " ", "\n", "\t",     "/",      "!", "7"};
  const auto check = [&](std::string_view text) {
    ASSERT_EQ(machine_pieces<kO>(text), pieces<kO>(text)) << text;
    ASSERT_EQ(machine_pieces<kC>(text), pieces<kC>(text)) << text;
    ASSERT_EQ(machine_pieces<Pattern::kQwen>(text), pieces<Pattern::kQwen>(text)) << text;
  };
  std::vector<std::string> texts = {""};
  for (int length = 1; length <= 5; ++length) {
    std::vector<std::string> longer;
    for (const std::string& text : texts) {
      for (const std::string& letter : letters) longer.push_back(text + letter);
    }
    texts = std::move(longer);
    if (length == 5) {
      for (std::size_t i = 0; i < texts.size(); i += 3) check(texts[i]);
    } else {
      for (const std::string& text : texts) check(text);
    }
    if (HasFatalFailure()) return;
  }
}

}  // namespace piece_scanner_test
}  // namespace tertulia
