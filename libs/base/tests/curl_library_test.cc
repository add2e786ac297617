#include "tertulia/base/curl_library.h"

#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/http_client.h"

namespace tertulia {
namespace curl_library_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

bool curl_is_loaded() { return dlopen("libcurl.so.4", RTLD_NOW | RTLD_NOLOAD) != nullptr; }

TEST(CurlLibrary, AMissingOneIsNamedWithItsPackage) {
  const auto none = load_curl("libnowhere.so.4");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kBadConfig);
  EXPECT_THAT(none.error().message(), AllOf(HasSubstr("libnowhere.so.4"), HasSubstr("apt install libcurl4")));
}

TEST(CurlLibrary, ALibraryThatLacksAFunctionIsRefused) {
  const auto other = load_curl("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("curl_easy_cleanup"));
}

// In a process of its own, in which nobody has asked anything yet.
TEST(CurlLibraryDeathTest, AClientThatAsksNothingLoadsNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        if (curl_is_loaded()) std::_Exit(1);
        {
          const HttpClient idle;
        }
        if (curl_is_loaded()) std::_Exit(2);
        (void)curl();
        std::_Exit(curl_is_loaded() ? 0 : 3);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace curl_library_test
}  // namespace tertulia
