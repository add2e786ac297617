#include "tertulia/store/crc32c.h"

#include <string>

#include <gtest/gtest.h>

namespace tertulia {
namespace crc32c_test {

TEST(Crc32c, GivesTheSumsOfTheStandard) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(Crc32c, IsTheSameWithAndWithoutTheInstruction) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(crc32c(bytes), crc32c_portable(bytes)) << "length " << i;
    bytes += static_cast<char>(i * 37 + i / 7);
  }
}

TEST(Crc32c, CanBeTakenInPieces) {
  const std::string bytes = "a record that is long enough to be cut at many places";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(crc32c(bytes.substr(cut), crc32c(bytes.substr(0, cut))), crc32c(bytes));
  }
}

TEST(Crc32c, FindsEveryFlippedBit) {
  std::string bytes = "turn 17 of branch main";
  const std::uint32_t sum = crc32c(bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(crc32c(bytes), sum);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
}

TEST(Crc32c, ARecordAtAnotherPlaceHasAnotherSum) {
  EXPECT_NE(record_checksum("a", "bytes"), record_checksum("b", "bytes"));
  EXPECT_NE(record_checksum("a", "bc"), record_checksum("ab", "c"));
  EXPECT_EQ(record_checksum("a", "bytes"), record_checksum("a", "bytes"));
}

}  // namespace crc32c_test
}  // namespace tertulia
