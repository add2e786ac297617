#include "packed_vocabulary.h"

#include <string>

#include <gtest/gtest.h>

namespace tertulia {
namespace packed_vocabulary_test {

TEST(PackedVocabulary, HoldsBothVocabulariesInLessThanTwoAndAHalfMegabytes) {
  EXPECT_LE(embedded_vocabularies().size(), 2'500'000U);
  EXPECT_EQ(read_vocabulary(embedded_vocabularies(), "o200k_base").value().size(), 199'998U);
  EXPECT_EQ(read_vocabulary(embedded_vocabularies(), "cl100k_base").value().size(), 100'256U);
}

TEST(PackedVocabulary, AChangedByteIsNoticed) {
  std::string file(embedded_vocabularies());
  file[1000] = static_cast<char>(file[1000] ^ 1);
  EXPECT_EQ(read_vocabulary(file, "o200k_base").error().code(), ErrorCode::kDamaged);
  EXPECT_TRUE(read_vocabulary(file, "cl100k_base").ok());
}

TEST(PackedVocabulary, ACutOffFileIsNoticedWhereverItEnds) {
  const std::string_view file = embedded_vocabularies();
  for (std::size_t size :
       {std::size_t{0}, std::size_t{7}, std::size_t{15}, std::size_t{60}, std::size_t{96}, file.size() / 2}) {
    EXPECT_EQ(read_vocabulary(file.substr(0, size), "o200k_base").error().code(), ErrorCode::kDamaged)
        << size;
  }
}

TEST(PackedVocabulary, AnotherNameIsNotKnown) {
  EXPECT_EQ(read_vocabulary(embedded_vocabularies(), "p50k_base").error().code(),
            ErrorCode::kUnknownTokenizer);
}

}  // namespace packed_vocabulary_test
}  // namespace tertulia
