// What holds for every value of every form, tried on random ones. A failure names its seed.
#include <string>

#include <gtest/gtest.h>

#include "tertulia/conversation/json_forms.h"

#include "random_values.h"

namespace tertulia {
namespace json_forms_property_test {

template <class T>
class JsonForms : public testing::Test {};

using Forms = testing::Types<Message, Transcript, Branch, BranchInfo, Session, ThreadBinding,
                             ConversationPolicy, ConversationSnapshot, Episode, ToolCallRecord, JournalEntry,
                             TurnJournal, Receipt, AgentSpec, Event>;
TYPED_TEST_SUITE(JsonForms, Forms);

constexpr std::uint64_t kSeeds = 400;

// The forms that have nowhere to keep a field they do not know.
template <class T>
constexpr bool kClosed = std::is_same_v<T, Transcript> || std::is_same_v<T, BranchInfo>;

template <class T>
T random_value(std::uint64_t seed) {
  T value{};
  RandomValues(seed).make(value);
  return value;
}

TYPED_TEST(JsonForms, ReadBackAsTheSameValueAndTheSameText) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TypeParam value = random_value<TypeParam>(seed);
    const std::string text = to_json(value);
    const auto again = parse_form<TypeParam>(text);
    ASSERT_TRUE(again.ok()) << again.error().message() << "\n" << text;
    if constexpr (requires { value == value; }) {
      ASSERT_TRUE(*again == value) << text;
    }
    ASSERT_EQ(to_json(*again), text);
  }
}

TYPED_TEST(JsonForms, AreCanonicalJson) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string text = to_json(random_value<TypeParam>(seed));
    ASSERT_EQ(to_text(parse_json(text, kFormLimits).value()), text) << "seed " << seed;
  }
}

// Removes, in turn, each field of the form, and gives each field a value of another type: an error that names
// the field, or a form that can be read; never a crash, never a silent change of another field.
TYPED_TEST(JsonForms, WithAFieldTakenAwayOrSpoiledAreReadOrRefusedByName) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Json whole = parse_json(to_json(random_value<TypeParam>(seed)), kFormLimits).value();
    for (const auto& [key, kept] : *whole.as_object()) {
      for (const Json& spoiled : {Json(), Json(true), Json(-1), Json(0.5), Json("\n"),
                                  Json(JsonArray{JsonArray{}}), Json(JsonObject{{"?", 1}})}) {
        Json form = whole;
        form.as_object()->set(key, spoiled);
        const auto read = from_json<TypeParam>(form);
        if (read.ok()) continue;
        EXPECT_NE(read.error().message().find(key), std::string::npos)
            << "seed " << seed << ": " << read.error().message();
      }
    }
  }
}

TYPED_TEST(JsonForms, OfANewerMajorVersionAreRefused) {
  Json form = parse_json(to_json(random_value<TypeParam>(3)), kFormLimits).value();
  form.as_object()->set("v", "2.0");
  const auto read = from_json<TypeParam>(form);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), ErrorCode::kNeedsVersion);
  EXPECT_NE(read.error().message().find("2.0"), std::string::npos) << read.error().message();
  EXPECT_NE(read.error().message().find("version 1"), std::string::npos) << read.error().message();
}

TYPED_TEST(JsonForms, SayTheirVersion) {
  const Json form = parse_json(to_json(random_value<TypeParam>(3)), kFormLimits).value();
  EXPECT_EQ(form.as_object()->begin()->first, "v");
  Json without = form;
  without.as_object()->erase("v");
  EXPECT_EQ(from_json<TypeParam>(without).error().code(), ErrorCode::kMissingField);
}

TYPED_TEST(JsonForms, AreObjects) {
  for (const Json& other : {Json(), Json(1), Json("{}"), Json(JsonArray{})}) {
    EXPECT_EQ(from_json<TypeParam>(other).error().code(), ErrorCode::kWrongType);
  }
}

// A field added by a newer minor version stays where it was, and so does the version that brought it.
TYPED_TEST(JsonForms, OfANewerMinorVersionKeepWhatTheyAdded) {
  if constexpr (!kClosed<TypeParam>) {
    Json form = parse_json(to_json(random_value<TypeParam>(3)), kFormLimits).value();
    form.as_object()->set("v", "1.99");
    form.as_object()->set("added_later", JsonObject{{"a", JsonArray{1, nullptr}}});
    const auto read = from_json<TypeParam>(form);
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(parse_json(to_json(*read), kFormLimits).value(), form);
  } else {
    Json form = parse_json(to_json(random_value<TypeParam>(3)), kFormLimits).value();
    form.as_object()->set("added_later", 1);
    EXPECT_EQ(from_json<TypeParam>(form).error().code(), ErrorCode::kUnknownField)
        << "what cannot be kept is not dropped in silence";
  }
}

}  // namespace json_forms_property_test
}  // namespace tertulia
