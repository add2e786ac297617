#include "tertulia/base/secret.h"

#include <algorithm>
#include <concepts>
#include <ostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tertulia/base/json.h"
#include "tertulia/base/log.h"

namespace tertulia {
namespace secret_test {

// The misuses that must not compile.
template <class T>
concept Streamable = requires(std::ostream& out, const T& value) { out << value; };
template <class T>
concept Equatable = requires(const T& value) { value == value; };

static_assert(Streamable<std::string> && !Streamable<Secret>);
static_assert(fmt::is_formattable<std::string>::value && !fmt::is_formattable<Secret>::value);
static_assert(std::constructible_from<LogField, const char*, std::string> &&
              !std::constructible_from<LogField, const char*, Secret> &&
              !std::constructible_from<LogField, const char*, const Secret&>);
static_assert(std::constructible_from<Json, std::string> && !std::constructible_from<Json, Secret>);
static_assert(!std::convertible_to<Secret, std::string> && !std::convertible_to<Secret, std::string_view> &&
              !std::constructible_from<std::string, Secret>);
static_assert(!std::convertible_to<std::string, Secret>, "making one is a decision");
static_assert(!Equatable<Secret>, "== would stop at the first difference");
static_assert(!std::copy_constructible<Secret>, "a copy is a decision");

TEST(Secret, IsReadOnlyByRevealingIt) {
  const Secret secret("key-123");
  EXPECT_EQ(secret.reveal(), "key-123");
  EXPECT_FALSE(secret.empty());
  EXPECT_EQ(secret.copy().reveal(), "key-123");
}

TEST(Secret, MatchesTheSameTextOnly) {
  const Secret secret("key-123");
  EXPECT_TRUE(secret.matches("key-123"));
  EXPECT_TRUE(secret.matches(Secret("key-123")));
  EXPECT_FALSE(secret.matches("key-124"));
  EXPECT_FALSE(secret.matches("key-12"));
  EXPECT_FALSE(secret.matches("key-1234"));
  EXPECT_FALSE(secret.matches("key-123key-123"));
  EXPECT_FALSE(secret.matches(""));
}

TEST(Secret, AnEmptyOneMatchesNothing) {
  EXPECT_FALSE(Secret().matches(""));
  EXPECT_FALSE(Secret("").matches(""));
  EXPECT_FALSE(Secret().matches(Secret()));
}

TEST(Secret, MovingEmptiesTheSource) {
  Secret from("key");
  Secret to(std::move(from));
  EXPECT_EQ(to.reveal(), "key");
  EXPECT_TRUE(from.empty());
  Secret assigned("old");
  assigned = std::move(to);
  EXPECT_EQ(assigned.reveal(), "key");
  EXPECT_TRUE(to.empty());
}

TEST(Secret, TakingWipesWhatTheCallerHad) {
  std::string text = "a key that is too long for the small buffer of a string";
  const char* bytes = text.data();
  const std::size_t size = text.size();
  const Secret secret = Secret::take(std::move(text));
  EXPECT_TRUE(text.empty());
  ASSERT_EQ(text.data(), bytes);
  EXPECT_EQ(secret.reveal().size(), size);
  // The string still owns its memory, and all of it is zero.
  EXPECT_TRUE(std::all_of(bytes, bytes + size, [](char byte) { return byte == 0; }));
}

}  // namespace secret_test
}  // namespace tertulia
