#include "tertulia/tools/address_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tertulia/base/env.h"

namespace tertulia {
namespace address_judge_test {

using testing::HasSubstr;

class AddressJudgeTest : public testing::Test {
 protected:
  AddressJudge judge_for(std::vector<HostAddress> addresses, EgressRules rules = {}) {
    return {policy_for_parts(std::move(rules)).value(), real_env().clock(),
            [this, addresses = std::move(addresses)](const std::string& host) {
              asked.push_back(host);
              return addresses;
            }};
  }

  std::vector<std::string> asked;
};

TEST_F(AddressJudgeTest, ANameThatLeadsToThisMachineOrANetworkOfOnesOwnIsRefused) {
  const HostAddress open = {93, 184, 215, 14};
  const std::vector<HostAddress> closed = {{127, 0, 0, 1},
                                           {10, 1, 2, 3},
                                           {192, 168, 0, 9},
                                           {169, 254, 169, 254},
                                           {0, 0, 0, 0},
                                           {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
                                           {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
                                           {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};
  for (const HostAddress& address : closed) {
    // Also where it is one of several.
    AddressJudge judge = judge_for({open, address});
    const Result<void> judged = judge.check("https://pictures.example.com/a.png?token=secret");
    ASSERT_FALSE(judged.ok());
    EXPECT_EQ(judged.error().code(), ErrorCode::kUrlNotAllowed);
    EXPECT_THAT(judged.error().message(), HasSubstr("pictures.example.com"));
    EXPECT_THAT(judged.error().message(), HasSubstr("as an asset"));
    EXPECT_THAT(judged.error().message(), Not(HasSubstr("secret")));
  }
  EXPECT_TRUE(judge_for({open}).check("https://pictures.example.com/a.png"));
}

TEST_F(AddressJudgeTest, WhatCannotBeLookedUpIsLetThroughAndWhatIsMisspelledIsNotLookedUp) {
  EXPECT_TRUE(judge_for({}).check("https://nowhere.example.com/a.png"));
  asked.clear();
  for (const char* url :
       {"http://localhost/a.png", "http://127.1/a.png", "file:///etc/passwd", "http://a@b.example/"}) {
    EXPECT_FALSE(judge_for({}).check(url).ok()) << url;
  }
  EXPECT_TRUE(asked.empty());
}

TEST_F(AddressJudgeTest, ANetworkThatIsAllowedIsReachedAndAHostIsLookedUpOnce) {
  AddressJudge judge = judge_for({{10, 1, 2, 3}}, {.allow_networks = {"10.1.0.0/16"}});
  EXPECT_TRUE(judge.check("https://pictures.example.com/a.png"));
  EXPECT_TRUE(judge.check("https://pictures.example.com/b.png"));
  EXPECT_EQ(asked.size(), 1U);
}

TEST_F(AddressJudgeTest, TheSystemIsAskedWhereNobodyElseIs) {
  // Numbers are no name: the system gives them back.
  AddressJudge judge(policy_for_parts().value(), real_env().clock());
  EXPECT_TRUE(judge.check("http://93.184.215.14/a.png"));
  EXPECT_FALSE(judge.check("http://127.0.0.1/a.png").ok());
}

}  // namespace address_judge_test
}  // namespace tertulia
