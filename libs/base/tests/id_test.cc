#include "tertulia/base/id.h"

#include <unordered_set>

#include <gtest/gtest.h>

namespace tertulia {
namespace id_test {

ErrorCode code_for(std::string_view id) {
  const auto parsed = SessionId::parse(id);
  return parsed ? ErrorCode::kClosed : parsed.error().code();
}

TEST(Id, TakesTheNamesThatClientsMayChoose) {
  for (std::string_view text : {"user-123", "a", "A.b_c~d-e", "0", "x..y", "CONSOLE", "COM0"}) {
    EXPECT_EQ(SessionId::parse(text).value().text(), text);
  }
  EXPECT_TRUE(SessionId::parse(std::string(128, 'a')).ok());
}

TEST(Id, RefusesWhatLooksLikeAPathOrHidesSomething) {
  using namespace std::string_view_literals;
  for (std::string_view text :
       {""sv,         "."sv,    ".."sv,   ".hidden"sv, "a/b"sv,    "../etc/passwd"sv, "/etc"sv, "a\\b"sv,
        "%2f"sv,      "a b"sv,  "a\0b"sv, "a\n"sv,     "sesión"sv, "\xFF"sv,          "CON"sv,  "nul"sv,
        "Com1.txt"sv, "lpt9"sv, "a:b"sv,  "a@b"sv}) {
    EXPECT_EQ(code_for(text), ErrorCode::kBadId) << text;
  }
}

TEST(Id, SaysHowLongItMayBe) {
  const auto parsed = BranchId::parse(std::string(129, 'a'));
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(std::get<std::int64_t>(*parsed.error().fact("limit")), 128);
  EXPECT_EQ(std::get<std::int64_t>(*parsed.error().fact("actual")), 129);
  EXPECT_NE(parsed.error().message().find("a branch"), std::string::npos);
}

template <class A, class B>
concept Comparable = requires(A a, B b) { a == b; };

TEST(Id, KindsCannotBeConfused) {
  static_assert(!Comparable<SessionId, BranchId>);
  static_assert(!std::is_convertible_v<SessionId, BranchId>);
  static_assert(!std::is_convertible_v<std::string, SessionId>);
  static_assert(!Comparable<MessageId, TurnId>);
}

TEST(Id, NamesWorkAsKeysOfHashedSets) {
  std::unordered_set<SessionId> set{SessionId::parse("a").value(), SessionId::parse("b").value()};
  EXPECT_TRUE(set.contains(SessionId::parse("a").value()));
  EXPECT_FALSE(set.contains(SessionId::parse("c").value()));
}

}  // namespace id_test
}  // namespace tertulia
