#include "tertulia/base/utf8.h"

#include <gtest/gtest.h>

namespace tertulia {
namespace utf8_test {

TEST(Utf8, AcceptsEveryCharacterAndNoSurrogate) {
  for (unsigned point = 0; point <= 0x10FFFF; ++point) {
    std::string text = "padding ";
    if (point < 0x80) {
      text.push_back(static_cast<char>(point));
    } else if (point < 0x800) {
      text.push_back(static_cast<char>(0xC0 | point >> 6));
      text.push_back(static_cast<char>(0x80 | (point & 0x3F)));
    } else if (point < 0x10000) {
      text.push_back(static_cast<char>(0xE0 | point >> 12));
      text.push_back(static_cast<char>(0x80 | (point >> 6 & 0x3F)));
      text.push_back(static_cast<char>(0x80 | (point & 0x3F)));
    } else {
      text.push_back(static_cast<char>(0xF0 | point >> 18));
      text.push_back(static_cast<char>(0x80 | (point >> 12 & 0x3F)));
      text.push_back(static_cast<char>(0x80 | (point >> 6 & 0x3F)));
      text.push_back(static_cast<char>(0x80 | (point & 0x3F)));
    }
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    ASSERT_EQ(is_utf8(text), !surrogate) << std::hex << point;
    if (surrogate) ASSERT_EQ(find_bad_utf8(text), 8U);
  }
}

TEST(Utf8, NamesTheFirstBadByte) {
  EXPECT_EQ(find_bad_utf8("plain ascii, more than eight bytes \xC3\xA9"), std::nullopt);
  EXPECT_EQ(find_bad_utf8("ab\xC0\xAF"), 2U) << "overlong";
  EXPECT_EQ(find_bad_utf8("\xE0\x80\x80"), 0U) << "overlong";
  EXPECT_EQ(find_bad_utf8("\xF4\x90\x80\x80"), 0U) << "beyond U+10FFFF";
  EXPECT_EQ(find_bad_utf8("x\x80"), 1U) << "a continuation without a lead";
  EXPECT_EQ(find_bad_utf8("12345678\xE2\x82"), 8U) << "cut short at the end";
}

TEST(Utf8, SanitizeReplacesEachBrokenRunAsBrowsersDo) {
  EXPECT_EQ(sanitize_utf8("a\xE2\x82\x62"), "a\xEF\xBF\xBD\x62");
  EXPECT_EQ(sanitize_utf8("\xF0\x80\x80\x41"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\x41");
  EXPECT_EQ(sanitize_utf8("ok \xF0\x9F\x98\x80"), "ok \xF0\x9F\x98\x80");
  EXPECT_EQ(sanitize_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Utf8, PrefixDoesNotCutACharacter) {
  EXPECT_EQ(utf8_prefix("a\xE2\x82\xAC", 3), "a");
  EXPECT_EQ(utf8_prefix("a\xE2\x82\xAC", 4), "a\xE2\x82\xAC");
  EXPECT_EQ(utf8_prefix("abc", 99), "abc");
}

}  // namespace utf8_test
}  // namespace tertulia
