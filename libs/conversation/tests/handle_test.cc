#include "tertulia/conversation/handle.h"

#include <chrono>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace tertulia {
namespace handle_test {

const HandleKey kKey = [] {
  HandleKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  return key;
}();
const Time kNow = Time(std::chrono::seconds(1'800'000'000));

ConversationHandle sample() {
  return {.tenant = TenantId::parse("acme").value(),
          .session = SessionId::parse("user-123").value(),
          .branch = BranchId::parse("main").value(),
          .revision = Revision{17},
          .expires_at = kNow + std::chrono::hours(1)};
}

ErrorCode code_of(const std::string& text, const TenantId& tenant = sample().tenant, Time now = kNow,
                  const HandleKey& key = kKey) {
  const auto decoded = decode_handle(text, key, tenant, now);
  EXPECT_FALSE(decoded.ok()) << text;
  return decoded.ok() ? ErrorCode::kClosed : decoded.error().code();
}

TEST(Handle, ComesBackAsItWasGivenOut) {
  for (const auto& expiry :
       {std::optional<Time>(), std::optional<Time>(kNow + std::chrono::microseconds(1))}) {
    ConversationHandle handle = sample();
    handle.expires_at = expiry;
    handle.revision = Revision{std::numeric_limits<std::uint64_t>::max()};
    const std::string text = encode_handle(handle, kKey).value();
    EXPECT_EQ(decode_handle(text, kKey, handle.tenant, kNow).value(), handle);
  }
}

TEST(Handle, StandsInAnAddressAsItIs) {
  const std::string text = encode_handle(sample(), kKey).value();
  EXPECT_TRUE(text.starts_with("th1_"));
  EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"),
            std::string::npos);
}

TEST(Handle, OfAProgramWithOneTenantNamesNone) {
  ConversationHandle handle = sample();
  handle.tenant = {};
  const std::string text = encode_handle(handle, kKey).value();
  EXPECT_EQ(decode_handle(text, kKey, {}, kNow).value(), handle);
  EXPECT_EQ(code_of(text, sample().tenant), ErrorCode::kInvalidHandle);
}

TEST(Handle, WithAnyCharacterChangedIsInvalid) {
  const std::string text = encode_handle(sample(), kKey).value();
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'A', 'b', '7', '_', '-', '.', '=', '\0', '\xff'}) {
      if (text[i] == c) continue;
      std::string changed = text;
      changed[i] = c;
      EXPECT_EQ(code_of(changed), ErrorCode::kInvalidHandle) << i;
    }
  }
}

TEST(Handle, CutShortOrMadeLongerIsInvalid) {
  const std::string text = encode_handle(sample(), kKey).value();
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(code_of(text.substr(0, size)), ErrorCode::kInvalidHandle) << size;
  }
  EXPECT_EQ(code_of(text + "A"), ErrorCode::kInvalidHandle);
  EXPECT_EQ(code_of(text + "="), ErrorCode::kInvalidHandle);
  EXPECT_EQ(code_of(text + std::string(10'000'000, 'A')), ErrorCode::kInvalidHandle);
}

TEST(Handle, OfAnotherTenantOrKeyIsInvalidAndSaysNoMore) {
  const std::string text = encode_handle(sample(), kKey).value();
  const TenantId other = TenantId::parse("umbrella").value();
  HandleKey other_key = kKey;
  other_key[31] ^= 1U;
  EXPECT_EQ(code_of(text, other), ErrorCode::kInvalidHandle);
  EXPECT_EQ(code_of(text, sample().tenant, kNow, other_key), ErrorCode::kInvalidHandle);
  EXPECT_EQ(decode_handle(text, kKey, other, kNow).error().message(),
            decode_handle(text, other_key, sample().tenant, kNow).error().message());
}

TEST(Handle, IsInvalidFromItsExpiryOn) {
  const std::string text = encode_handle(sample(), kKey).value();
  EXPECT_TRUE(decode_handle(text, kKey, sample().tenant, *sample().expires_at - Duration(1)).ok());
  EXPECT_EQ(code_of(text, sample().tenant, *sample().expires_at), ErrorCode::kInvalidHandle);
  EXPECT_NE(
      decode_handle(text, kKey, sample().tenant, *sample().expires_at).error().message().find("expired"),
      std::string::npos);
}

TEST(Handle, OfNoConversationCannotBeGivenOut) {
  EXPECT_EQ(encode_handle({}, kKey).error().code(), ErrorCode::kInvalidHandle);
  ConversationHandle handle = sample();
  handle.branch = {};
  EXPECT_EQ(encode_handle(handle, kKey).error().code(), ErrorCode::kInvalidHandle);
}

// Computed by another implementation of HMAC-SHA-256 and base64url.
TEST(Handle, IsWrittenAsTheHeaderSays) {
  EXPECT_EQ(encode_handle(sample(), kKey).value(),
            "th1_l4bG1cMOVzn8KNe8GmAtr0NMeob2A_S0_BQXKGyDjGwxL2FjbWUvdXNlci0xMjMvbW"
            "Fpbi8xNy8xODAwMDAzNjAwMDAwMDAw");
}

}  // namespace handle_test
}  // namespace tertulia
