#include "tertulia/base/json.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace tertulia {
namespace json_test {

ErrorCode code_of(std::string_view text, const JsonLimits& limits = {}) {
  const auto parsed = parse_json(text, limits);
  return parsed ? ErrorCode::kClosed : parsed.error().code();
}

std::int64_t fact(const Error& error, std::string_view name) {
  return std::get<std::int64_t>(*error.fact(name));
}

TEST(Json, ReadsAndWritesTheSameText) {
  for (std::string_view text :
       {"null", "true", "[]", "{}", "-12", "9223372036854775807", "18446744073709551615", "0.7", "1e+100",
        "-0.0", "1.0", R"("é😀\u0000\n\"\\")", R"({"b":1,"a":[{"c":null},2.5]})", R"(["\u007f"])"}) {
    EXPECT_EQ(to_text(parse_json(text).value()), text);
  }
}

TEST(Json, ReadsEveryDoubleExactly) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const Json back = parse_json(to_text(Json(value))).value();
    ASSERT_EQ(std::bit_cast<std::uint64_t>(std::get<double>(back.variant())),
              std::bit_cast<std::uint64_t>(value));
  }
}

TEST(Json, KeepsTheOrderOfKeys) {
  const Json value = parse_json(R"({"z":1,"a":2,"m":3})").value();
  EXPECT_EQ(to_text(value), R"({"z":1,"a":2,"m":3})");
  EXPECT_EQ(to_canonical_text(value), R"({"a":2,"m":3,"z":1})");
}

TEST(Json, CanonicalTextIsTheSameForTheSameValue) {
  EXPECT_EQ(to_canonical_text(parse_json(R"({"n":1.0,"k":[1e2]})").value()),
            to_canonical_text(parse_json(R"({ "k" : [100], "n": 1 })").value()));
}

TEST(Json, PrettyTextIsIndented) {
  EXPECT_EQ(to_pretty_text(parse_json(R"({"a":[1,{}],"b":[]})").value()),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
}

TEST(Json, PassesOverAByteOrderMark) { EXPECT_EQ(to_text(parse_json("\xEF\xBB\xBF 1 ").value()), "1"); }

TEST(Json, RefusesWhatIsEmpty) {
  EXPECT_EQ(code_of(""), ErrorCode::kEmptyBody);
  EXPECT_EQ(code_of(" \n\t"), ErrorCode::kEmptyBody);
}

TEST(Json, NamesLineAndColumnOfASyntaxError) {
  const auto parsed = parse_json("{\n  \"a\": 1,\n  \"b\": oops\n}");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code(), ErrorCode::kBadJson);
  EXPECT_EQ(fact(parsed.error(), "line"), 3);
  EXPECT_EQ(fact(parsed.error(), "column"), 8);
}

TEST(Json, RefusesWhatIsNotJson) {
  for (std::string_view text : {"{", "[1,]", "{\"a\":1,}", "{a:1}", "'a'", "01", "1 2", "[1] x", "\"\t\"",
                                "+1", ".5", "1.", "tru", "\"\\x\"", "/* c */ 1", "\"abc"}) {
    EXPECT_EQ(code_of(text), ErrorCode::kBadJson) << text;
  }
}

TEST(Json, StopsAtTheDepthLimitWhileParsing) {
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']')).ok());
  const auto parsed = parse_json(std::string(65, '[') + std::string(65, ']'));
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code(), ErrorCode::kTooDeep);
  EXPECT_EQ(fact(parsed.error(), "limit"), 64);
  EXPECT_EQ(code_of(std::string(1'000'000, '[')), ErrorCode::kTooDeep);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(code_of(objects), ErrorCode::kTooDeep);
}

TEST(Json, StopsAtTheLimitOfValues) {
  EXPECT_TRUE(parse_json("[1,2,3]", {.values = 4}).ok());
  EXPECT_EQ(code_of("[1,2,3,4]", {.values = 4}), ErrorCode::kTooLarge);
}

TEST(Json, RefusesAKeyThatStandsTwice) {
  const auto parsed = parse_json(R"({"a":{"x":1,"y":2,"x":3}})");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code(), ErrorCode::kDuplicateKey);
  EXPECT_EQ(std::get<std::string>(*parsed.error().fact("param")), "x");
  EXPECT_EQ(code_of(R"({"a":1,"\u0061":2})"), ErrorCode::kDuplicateKey)
      << "also when one is written as an escape";
  std::string many = "{";
  for (int i = 0; i < 5000; ++i) many += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(parse_json(many + "\"end\":0}").ok());
  EXPECT_EQ(code_of(many + "\"k77\":0}"), ErrorCode::kDuplicateKey);
}

TEST(Json, RefusesNumbersThatWouldBeReadWrongly) {
  for (std::string_view text : {"1e999", "-1e999", "18446744073709551616", "-9223372036854775809",
                                "123456789012345678901234567890", "NaN", "Infinity", "-Infinity", "[NaN]"}) {
    EXPECT_EQ(code_of(text), ErrorCode::kBadNumber) << text;
  }
}

TEST(Json, RefusesTextThatIsNotUnicode) {
  EXPECT_EQ(code_of("\"\xFF\""), ErrorCode::kBadUnicode);
  EXPECT_EQ(code_of("\"\xED\xA0\x80\""), ErrorCode::kBadUnicode);
  EXPECT_EQ(code_of(R"("\ud800")"), ErrorCode::kBadUnicode);
  EXPECT_EQ(code_of(R"("\ud800x")"), ErrorCode::kBadUnicode);
  EXPECT_EQ(code_of(R"("\udc00")"), ErrorCode::kBadUnicode);
  EXPECT_EQ(code_of(R"("\ud800\ud800")"), ErrorCode::kBadUnicode);
  const auto parsed = parse_json("[\"ab\xC3\"]");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(fact(parsed.error(), "offset"), 4);
}

TEST(JsonObject, SetsReplacesAndErases) {
  JsonObject object{{"a", 1}, {"b", 2}};
  object.set("a", 3);
  object.set("c", "x");
  EXPECT_TRUE(object.erase("b"));
  EXPECT_FALSE(object.erase("b"));
  EXPECT_EQ(to_text(Json(object)), R"({"a":3,"c":"x"})");
}

TEST(JsonWriter, WritesWhatParseReads) {
  std::string text;
  JsonWriter out(text);
  out.begin_object().key("a").begin_array().number(1).string("x\ny").boolean(true).null().end_array();
  out.key("b")
      .value(JsonObject{{"c", 0.5}})
      .key("d")
      .raw("[1,2]")
      .key("e")
      .begin_object()
      .end_object()
      .end_object();
  EXPECT_EQ(text, R"({"a":[1,"x\ny",true,null],"b":{"c":0.5},"d":[1,2],"e":{}})");
  EXPECT_EQ(to_text(parse_json(text).value()), text);
}

TEST(JsonReader, KeepsTheFirstProblemAndNamesTheField) {
  const Json value = parse_json(R"({"name":7,"count":-1,"more":true})").value();
  JsonReader in(value, "agent");
  in.required_string("name");
  in.int_or("count", 0, 0, 10);
  const auto result = in.finish();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::kWrongType);
  EXPECT_EQ(result.error().message(), "agent: the field 'name' must be a string, not integer.");
}

TEST(JsonReader, ChecksRangesOfNumbers) {
  for (std::string_view text : {"-1", "11", "1.5", "1e300", "18446744073709551615"}) {
    const Json value = parse_json("{\"n\":" + std::string(text) + "}").value();
    JsonReader in(value, "x");
    in.required_int("n", 0, 10);
    EXPECT_EQ(in.finish().error().code(), ErrorCode::kOutOfRange) << text;
  }
}

TEST(JsonReader, ReportsMissingAndUnknownFields) {
  const Json value = parse_json(R"({"a":null,"b":1,"c":[2]})").value();
  JsonReader in(value, "x");
  EXPECT_EQ(in.string_or("a", "none"), "none");
  EXPECT_EQ(to_text(Json(in.rest())), R"({"b":1,"c":[2]})");
  EXPECT_TRUE(in.finish().ok());
  EXPECT_EQ(in.finish_strict().error().code(), ErrorCode::kUnknownField);
  in.required_string("a");
  EXPECT_EQ(in.finish().error().code(), ErrorCode::kMissingField);
}

TEST(JsonReader, RefusesWhatIsNoObject) {
  const Json value = parse_json("[1]").value();
  JsonReader in(value, "session");
  EXPECT_EQ(in.string_or("a", "b"), "b");
  EXPECT_EQ(in.finish().error().message(), "session: expected an object, got array.");
}

TEST(Json, WritesANumberThatIsNotFiniteAsNull) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double value : {infinite, -infinite, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(Json(value).is_null());
    EXPECT_EQ(to_text(Json(JsonArray{Json(value)})), "[null]");
  }
}

}  // namespace json_test
}  // namespace tertulia
