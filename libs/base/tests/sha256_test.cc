#include "tertulia/base/sha256.h"

#include <gtest/gtest.h>

namespace tertulia {
namespace sha256_test {

// The examples of FIPS 180-2.
constexpr std::string_view kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view kOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Sha256, IsWhatTheStandardSays) {
  EXPECT_EQ(sha256_hex("abc"), kOfAbc);
  EXPECT_EQ(sha256_hex(""), kOfNothing);
  EXPECT_EQ(sha256_bytes("abc").substr(0, 3), "\xba\x78\x16");
}

TEST(Sha256, PiecesGiveWhatTheWholeGives) {
  const std::string text(1'000, 'x');
  for (std::size_t cut = 0; cut <= text.size(); cut += 37) {
    Sha256 hash;
    hash.add(text.substr(0, cut));
    hash.add(text.substr(cut));
    EXPECT_EQ(hash.hex(), sha256_hex(text));
  }
}

TEST(Sha256, ACopyGoesOnByItself) {
  Sha256 one;
  one.add("ab");
  EXPECT_EQ(one.hex(), sha256_hex("ab"));
  Sha256 other = one;
  other.add("c");
  one.add("d");
  EXPECT_EQ(other.hex(), kOfAbc);
  EXPECT_EQ(one.hex(), sha256_hex("abd"));
  one = other;
  EXPECT_EQ(one.hex(), kOfAbc);
}

}  // namespace sha256_test
}  // namespace tertulia
