#include "tertulia/model/asset.h"

#include <gmock/gmock.h>

#include "tertulia/model/model_catalog.h"

#include "talk.h"

namespace tertulia {
namespace asset_test {

Part image(std::string_view type = "image/png") { return {.kind = PartKind::kImage, .name = type}; }
Part file(std::string_view type) { return {.kind = PartKind::kFile, .name = type, .call_id = "a"}; }

TEST(Asset, CostsAStatedEstimateUnlessItIsText) {
  const auto tokenizer = tokenizer_for_model("gpt-4o");
  EXPECT_EQ(tokens_of(Part::text_of("Hello"), 0, *tokenizer), 1U);
  EXPECT_EQ(tokens_of(image(), 3'000'000, *tokenizer), 1'600U);
  EXPECT_EQ(tokens_of(file("text/plain"), 400, *tokenizer), 101U);
  EXPECT_EQ(tokens_of(file("application/pdf"), 100, *tokenizer), 1'500U);
  EXPECT_EQ(tokens_of(file("application/pdf"), 2'000'000, *tokenizer), 40'000U);
}

TEST(Asset, InAnAddressIsNotCountedAsText) {
  const auto tokenizer = tokenizer_for_model("gpt-4o");
  const std::string address = "data:image/png;base64," + std::string(40'000, 'A');
  EXPECT_EQ(bytes_in_address(address), 30'000U);
  EXPECT_EQ(bytes_in_address("https://x/y.png"), 0U);
  Part part = image();
  part.text = address;
  EXPECT_EQ(tokens_of(part, 0, *tokenizer), 1'600U);
}

TEST(Asset, TooLargeOrOfAnotherTypeIsRefusedBeforeItIsSent) {
  EXPECT_TRUE(check_asset(image(), kImageBytes).ok());
  const Error large = check_asset(image(), kImageBytes + 1).error();
  EXPECT_EQ(large.code(), ErrorCode::kTooLarge);
  EXPECT_EQ(std::get<std::int64_t>(*large.fact("limit")), static_cast<std::int64_t>(kImageBytes));
  EXPECT_EQ(check_asset(file("application/pdf"), kFileBytes + 1).error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(check_asset(image("image/svg+xml"), 1).error().code(), ErrorCode::kUnsupportedParameter);
}

TEST(Asset, TypesThatAreTextAreKnown) {
  for (const char* type : {"text/plain", "text/markdown", "application/json", "application/ld+json"})
    EXPECT_TRUE(is_text_type(type)) << type;
  for (const char* type : {"application/pdf", "image/png", "application/octet-stream"})
    EXPECT_FALSE(is_text_type(type)) << type;
}

TEST(Asset, WhatModelsTakeIsKnownByTheirNames) {
  EXPECT_TRUE(known_model("gpt-4o").images && known_model("gpt-4o").files);
  EXPECT_TRUE(known_model("claude-sonnet-4-5").images && known_model("claude-sonnet-4-5").files);
  EXPECT_TRUE(known_model("gemma3").images);
  EXPECT_FALSE(known_model("gemma3").files);
  EXPECT_FALSE(known_model("gpt-3.5-turbo").images);
  EXPECT_FALSE(known_model("nobody-knows-it").images);
}

}  // namespace asset_test
}  // namespace tertulia
