#include "core/router.h"

#include <set>

#include <gtest/gtest.h>

#include "server.h"

namespace tertulia::server {
namespace router_test {

TEST(Router, FindsTheRouteAndDecodesItsParameters) {
  Router router;
  add_all_routes(router);
  const Match match = router.find(Method::kGet, "/api/v1/sessions/a%7Eb/turns/t1/events");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.route->pattern, "/api/v1/sessions/{session}/turns/{turn}/events");
  ASSERT_EQ(match.parameters.size(), 2U);
  EXPECT_EQ(match.parameters[0], (std::pair<std::string_view, std::string>("session", "a~b")));
  EXPECT_EQ(match.parameters[1].second, "t1");
}

TEST(Router, TellsAnUnknownPathFromAnUnknownMethod) {
  Router router;
  add_all_routes(router);
  EXPECT_TRUE(router.find(Method::kGet, "/api/v1/nothing").allowed.empty());
  EXPECT_TRUE(router.find(Method::kGet, "/api/v1/sessions/").allowed.empty());
  EXPECT_TRUE(router.find(Method::kGet, "*").allowed.empty());
  const Match match = router.find(Method::kPut, "/api/v1/sessions");
  EXPECT_EQ(match.route, nullptr);
  EXPECT_EQ(match.allowed, "POST, GET");
}

TEST(Router, AnswersHeadWithWhatAnswersGet) {
  Router router;
  add_all_routes(router);
  EXPECT_EQ(router.find(Method::kHead, "/health").route, router.find(Method::kGet, "/health").route);
  EXPECT_EQ(router.find(Method::kHead, "/api/v1/turns").route, nullptr);
}

TEST(Problem, HasAStatusForEveryCode) {
  for (const ErrorCode code : all_error_codes()) {
    EXPECT_GE(status_of(code), 400) << name_of(code);
    EXPECT_NE(reason_of(status_of(code)), "Status") << name_of(code);
  }
}

TEST(Problem, NamesOfHttpAndOfTheEngineDoNotMeet) {
#define TERTULIA_X(enumerator, name, status) EXPECT_FALSE(error_code_named(name)) << name;
  TERTULIA_HTTP_PROBLEMS(TERTULIA_X)
#undef TERTULIA_X
}

}  // namespace router_test
}  // namespace tertulia::server
