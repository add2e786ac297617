#include "tertulia/base/base64.h"

#include <gtest/gtest.h>

namespace tertulia {
namespace base64_test {

TEST(Base64, IsWhatTheStandardSays) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64("\xfb\xff"), "+/8=");
}

TEST(Base64, EveryLengthReadsBack) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    bytes.push_back(static_cast<char>(i * 7));
  }
  const std::string large((4U << 20U) + 1, 'x');
  EXPECT_EQ(from_base64(to_base64(large)), large);
}

TEST(Base64, WhatItNeverWritesIsRefused) {
  for (const char* text : {"Zg", "Zg=", "Zg===", "Z===", "====", "Zh==", "Zm9", "Zm9v\n", " Zm9v", "Zm9v    ",
                           "Zm9-", "Zm=v", "Zg==Zm9v", "Zm\n9vA="}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

}  // namespace base64_test
}  // namespace tertulia
