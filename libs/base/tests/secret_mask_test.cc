#include "tertulia/base/secret_mask.h"

#include <gtest/gtest.h>

#include "tertulia/base/base64.h"

namespace tertulia {
namespace secret_mask_test {

constexpr std::string_view kKey = "sk-live/9+\"x\\y=Z1";

TEST(SecretMask, FindsASecretInEveryFormItCanComeBackIn) {
  SecretMask mask;
  mask.add("Bearer " + std::string(kKey));
  for (const std::string& form : {
           std::string(kKey),
           "Bearer " + std::string(kKey),
           std::string(R"({"error":"bad key sk-live/9+\"x\\y=Z1"})"),
           std::string(R"({"error":"bad key sk-live\/9+\"x\\y=Z1"})"),
           std::string("/v1?key=sk-live%2F9%2B%22x%5Cy%3DZ1&x"),
           std::string("/v1?key=sk-live%2f9%2b%22x%5cy%3dZ1&x"),
           "b64 " + to_base64(kKey),
           "b64 " + to_base64(std::string(kKey) + " and more"),
       }) {
    const std::string masked = mask.whole("before " + form + " behind");
    EXPECT_NE(masked.find("[secret]"), std::string::npos) << form;
    EXPECT_EQ(masked.find("live"), std::string::npos) << masked;
    EXPECT_TRUE(masked.starts_with("before ") && masked.ends_with(" behind")) << masked;
  }
  EXPECT_EQ(mask.whole("nothing of it"), "nothing of it");
}

TEST(SecretMask, FindsItInAStreamThatIsCutAnywhere) {
  const std::string text = "a" + std::string(kKey) + std::string(kKey) + "sk-live, and sk-li";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    SecretMask mask;
    mask.add(kKey);
    std::string told;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      told += mask.next(std::string_view(text).substr(at, piece));
      ASSERT_EQ(told.find("live/9"), std::string::npos) << piece;
    }
    EXPECT_EQ(told + mask.rest(), "a[secret][secret]sk-live, and sk-li") << piece;
  }
}

TEST(SecretMask, KnowsThePasswordInABasicHeader) {
  SecretMask mask;
  mask.add("Basic " + to_base64("ana:correct horse"));
  EXPECT_EQ(mask.whole("user ana, password correct horse"), "user ana, password [secret]");
}

TEST(SecretMask, LeavesWhatIsTooShortToBeOne) {
  SecretMask mask;
  mask.add("test");
  EXPECT_TRUE(mask.empty());
  EXPECT_EQ(mask.next("a test"), "a test");
  EXPECT_TRUE(names_secret("X-Api-Key") && names_secret("GITHUB_TOKEN") && names_secret("authorization"));
  EXPECT_FALSE(names_secret("Accept") || names_secret("LANG"));
}

}  // namespace secret_mask_test
}  // namespace tertulia
