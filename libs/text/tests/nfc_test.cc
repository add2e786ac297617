#include "nfc.h"

#include <string>

#include <gtest/gtest.h>

namespace tertulia {
namespace nfc_test {

std::string normal(std::string_view text) {
  std::string storage;
  return std::string(nfc(text, storage));
}

TEST(Nfc, TextThatIsNormalIsNotCopied) {
  const std::string_view text = "Plain, caf\u00E9, \u4F60\u597D, \uAC01";
  std::string storage;
  EXPECT_EQ(nfc(text, storage).data(), text.data());
}

TEST(Nfc, LettersTakeTheirMarks) {
  EXPECT_EQ(normal("e\u0301"), "\u00E9");
  EXPECT_EQ(normal("xe\u0301e\u0301y"), "x\u00E9\u00E9y");
  EXPECT_EQ(normal("e\u0323\u0302"), "\u1EC7");
}

TEST(Nfc, MarksAreOrderedByTheirClassFirst) {
  EXPECT_EQ(normal("e\u0302\u0323"), "\u1EC7");
  EXPECT_EQ(normal("\u00E9\u0323"), "\u1EB9\u0301");
  EXPECT_EQ(normal("a\u0301\u0300"), "\u00E1\u0300");
}

TEST(Nfc, AMarkOfALowerClassDoesNotComeBetween) {
  // U+0338 is of class 1, U+0301 of class 230: the acute passes over it.
  EXPECT_EQ(normal("a\u0338\u0301"), "\u00E1\u0338");
  // Both of class 230: the second stays where it is.
  EXPECT_EQ(normal("a\u0315\u0300\u0301"), "\u00E0\u0301\u0315");
}

TEST(Nfc, SingletonsAndExclusionsFallApart) {
  EXPECT_EQ(normal("\u212B"), "\u00C5");
  EXPECT_EQ(normal("\u0958"), "\u0915\u093C");
  EXPECT_EQ(normal("\uF900"), "\u8C48");
  EXPECT_EQ(normal("\u0344"), "\u0308\u0301");
}

TEST(Nfc, HangulIsComposedByRule) {
  EXPECT_EQ(normal("\u1100\u1161\u11A8"), "\uAC01");
  EXPECT_EQ(normal("\uAC00\u11A8"), "\uAC01");
  EXPECT_EQ(normal("\u1100\u1161\u11A7"), "\uAC00\u11A7");
}

TEST(Nfc, BytesThatAreNotUtf8StayAndJoinNothing) { EXPECT_EQ(normal("e\xFF\u0301\xC3"), "e\xFF\u0301\xC3"); }

TEST(Nfc, TextIsSettledBeforeTheLastCharacterThatMayStillTakeMarks) {
  EXPECT_EQ(nfc_settled("abc"), 2U);
  EXPECT_EQ(nfc_settled("abe\u0301"), 2U);
  EXPECT_EQ(nfc_settled(""), 0U);
}

}  // namespace nfc_test
}  // namespace tertulia
