#include "tertulia/tools/json_schema.h"

#include <gtest/gtest.h>

namespace tertulia {
namespace json_schema_test {

JsonSchema compile(std::string_view schema) {
  return JsonSchema::compile(parse_json(schema).value()).value();
}

std::string check(const JsonSchema& schema, std::string_view value) {
  return text_of(schema.check(parse_json(value).value()));
}
std::string check(std::string_view schema, std::string_view value) { return check(compile(schema), value); }

std::string refusal(std::string_view schema) {
  const Result<JsonSchema> result = JsonSchema::compile(parse_json(schema).value());
  return result ? "" : std::string(name_of(result.error().code())) + ": " + result.error().message();
}

TEST(JsonSchema, SpeaksToAModel) {
  const JsonSchema schema =
      compile(R"({"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"},
      "unit":{"type":"string","enum":["c","f"]},"tags":{"type":"array","items":{"type":"string","maxLength":3}}},
      "required":["a","b"],"additionalProperties":false})");
  EXPECT_EQ(check(schema, R"({"a":1,"b":2})"), "");
  EXPECT_EQ(check(schema, R"({"a":1,"b":"x"})"), R"(/b: expected number, got string "x")");
  EXPECT_EQ(check(schema, R"({"a":1})"), "/b: is required");
  EXPECT_EQ(check(schema, R"({"a":1,"b":2,"unti":"c"})"),
            "/unti: is not a known field (did you mean 'unit'?)");
  EXPECT_EQ(check(schema, R"({"a":1,"b":2,"unit":"k"})"),
            R"(/unit: expected one of "c", "f", got string "k")");
  EXPECT_EQ(check(schema, R"({"a":1,"b":2,"tags":["ab","abcd"]})"),
            "/tags/1: expected at most 3 characters, got 4");
  EXPECT_EQ(check(schema, "[]"), "expected object, got array of 0");
  EXPECT_EQ(check(schema, R"({"a":"1","b":"2"})"),
            "/a: expected number, got string \"1\"\n/b: expected number, got string \"2\"");
}

TEST(JsonSchema, GivesNoMoreProblemsThanAskedFor) {
  const JsonSchema schema = compile(R"({"items":{"type":"string"}})");
  const Json value = parse_json("[1,2,3,4,5,6,7,8,9]").value();
  EXPECT_EQ(schema.check(value).size(), 5U);
  EXPECT_EQ(schema.check(value, 2).size(), 2U);
  EXPECT_EQ(schema.check(value, 100).size(), 9U);
}

TEST(JsonSchema, AWholeNumberWithAPointIsAnIntegerAndAStringIsNeverANumber) {
  EXPECT_EQ(check(R"({"type":"integer"})", "3.0"), "");
  EXPECT_EQ(check(R"({"type":"integer"})", "3.5"), "expected integer, got number 3.5");
  EXPECT_EQ(check(R"({"type":"integer"})", R"("3")"), R"(expected integer, got string "3")");
  EXPECT_EQ(check(R"({"enum":[1]})", "1.0"), "");
  EXPECT_EQ(check(R"({"const":{"a":1,"b":2}})", R"({"b":2.0,"a":1})"), "");
}

TEST(JsonSchema, LargeIntegersAreComparedExactly) {
  EXPECT_EQ(check(R"({"maximum":9007199254740992})", "9007199254740992"), "");
  EXPECT_NE(check(R"({"maximum":9007199254740992})", "9007199254740993"), "");
  EXPECT_NE(check(R"({"exclusiveMinimum":18446744073709551614})", "18446744073709551614"), "");
  EXPECT_EQ(check(R"({"exclusiveMinimum":18446744073709551614})", "18446744073709551615"), "");
}

TEST(JsonSchema, NullableAndOldExclusiveFlagsAreUnderstood) {
  EXPECT_EQ(check(R"({"type":"string","nullable":true})", "null"), "");
  EXPECT_EQ(check(R"({"nullable":true,"type":"string","enum":["a"]})", "null"), "");
  EXPECT_EQ(check(R"({"type":"string","nullable":false})", "null"), "expected string, got null");
  EXPECT_EQ(check(R"({"exclusiveMaximum":true,"maximum":3})", "3"), "expected less than 3, got integer 3");
  EXPECT_EQ(check(R"({"maximum":3,"exclusiveMaximum":false})", "3"), "");
}

TEST(JsonSchema, CombinationsSayWhatCameNearest) {
  const JsonSchema schema = compile(R"({"anyOf":[{"type":"null"},{"type":"object","properties":
      {"kind":{"const":"circle"},"radius":{"type":"number"}},"required":["kind","radius"]}]})");
  EXPECT_EQ(check(schema, "null"), "");
  EXPECT_EQ(check(schema, R"({"kind":"circle","radius":"1"})"),
            R"(/radius: expected number, got string "1" (none of the 2 allowed forms fits))");
  EXPECT_EQ(check(R"({"oneOf":[{"type":"number"},{"minimum":2}]})", "3"),
            "fits 2 of the forms of which only one may fit");
  EXPECT_EQ(check(R"({"not":{"type":"string"}})", R"("x")"), "is of a form that is not allowed");
}

TEST(JsonSchema, FollowsReferencesAlsoRecursiveOnes) {
  const JsonSchema tree = compile(R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":
      {"value":{"type":"integer"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},
      "required":["value"]}}})");
  EXPECT_EQ(check(tree, R"({"value":1,"children":[{"value":2},{"value":3,"children":[]}]})"), "");
  EXPECT_EQ(check(tree, R"({"value":1,"children":[{"value":2,"children":[{}]}]})"),
            "/children/0/children/0/value: is required");
  EXPECT_EQ(
      check(R"({"properties":{"a/b":{"type":"string"},"c":{"$ref":"#/properties/a~1b"}}})", R"({"c":1})"),
      "/c: expected string, got integer 1");
  EXPECT_EQ(check(R"({"properties":{"c":{"$ref":"#/$defs/%C3%A9"}},"$defs":{"é":{"type":"string"}}})",
                  R"({"c":1})"),
            "/c: expected string, got integer 1");
}

TEST(JsonSchema, RefusesWhatItCannotCheck) {
  EXPECT_EQ(refusal(R"({"type":"strin"})"),
            R"(bad_config: schema at /type: expected the name of a type, got string "strin")");
  EXPECT_EQ(refusal(R"({"properties":{"a":5}})"),
            "bad_config: schema at /properties/a: expected object or boolean, got integer 5");
  EXPECT_NE(refusal(R"({"$ref":"https://elsewhere.invalid/schema"})").find("leads out of the document"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"$ref":"#/$defs/none"})").find("is not there"), std::string::npos);
  EXPECT_NE(refusal(R"({"$ref":"#"})").find("leads back to itself"), std::string::npos);
  EXPECT_NE(
      refusal(
          R"({"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}})")
          .find("leads back to itself"),
      std::string::npos);
  EXPECT_NE(refusal(R"x({"pattern":"(?=x)"})x").find("look-around"), std::string::npos);
  EXPECT_NE(refusal(R"({"pattern":"(a)\\1"})").find("the pattern cannot be used"), std::string::npos);
  EXPECT_NE(refusal(R"({"pattern":"((a{1,100}){1,100}){1,100}"})"), "");
  EXPECT_NE(refusal(R"({"minLength":-1})"), "");
  EXPECT_NE(refusal(R"({"minLength":1.5})"), "");
  EXPECT_NE(refusal(R"({"multipleOf":0})"), "");
  EXPECT_NE(refusal(R"({"anyOf":[]})"), "");
  EXPECT_NE(refusal(R"({"required":[1]})"), "");
  EXPECT_NE(refusal("3"), "");
}

TEST(JsonSchema, APatternIsMatchedInLinearTimeAndAnywhereInTheText) {
  const JsonSchema schema = compile(R"({"pattern":"^(a+)+$"})");
  // Exponential for an engine that goes back.
  EXPECT_NE(schema.check(Json(std::string(50'000, 'a') + "b")).size(), 0U);
  EXPECT_EQ(check(R"({"pattern":"b"})", R"("abc")"), "");
  EXPECT_EQ(check(R"({"pattern":"^b$"})", "\"b\\n\""), R"(expected text that matches ^b$, got string "b\n")");
}

TEST(JsonSchema, ASchemaThatMultipliesItsWorkIsStopped) {
  // Each level asks the next one twice: 2^40 without a bound.
  JsonObject definitions;
  for (int i = 0; i < 40; ++i) {
    const Json next = JsonObject{{"$ref", "#/$defs/d" + std::to_string(i + 1)}};
    definitions.append("d" + std::to_string(i), JsonObject{{"allOf", JsonArray{next, next}}});
  }
  definitions.append("d40", JsonObject{{"type", "string"}});
  const Json schema = JsonObject{{"$ref", "#/$defs/d0"}, {"$defs", definitions}};
  const auto problems = JsonSchema::compile(schema).value().check(Json("x"));
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].text(), "is too large or too deep to be checked against the schema");
}

TEST(JsonSchema, AChainOfReferencesEndsAtTheDepthBound) {
  JsonObject definitions;
  for (int i = 0; i < 5'000; ++i) {
    definitions.append("d" + std::to_string(i), JsonObject{{"$ref", "#/$defs/d" + std::to_string(i + 1)}});
  }
  definitions.append("d5000", true);
  const Json schema = JsonObject{{"$ref", "#/$defs/d0"}, {"$defs", definitions}};
  EXPECT_EQ(JsonSchema::compile(schema).value().check(Json(1)).size(), 1U);
}

TEST(JsonSchema, ASchemaThatIsTooLargeOrTooDeepIsRefused) {
  JsonArray many;
  for (int i = 0; i < 10'001; ++i) many.push_back(true);
  EXPECT_EQ(JsonSchema::compile(JsonObject{{"anyOf", many}}).error().code(), ErrorCode::kTooLarge);
  Json deep = true;
  for (int i = 0; i < 70; ++i) deep = JsonObject{{"items", deep}};
  EXPECT_EQ(JsonSchema::compile(deep).error().code(), ErrorCode::kTooDeep);
}

TEST(JsonSchema, FillsInDefaults) {
  const JsonSchema schema = compile(R"({"properties":{"limit":{"type":"integer","default":10},
      "filter":{"properties":{"deep":{"default":true}}},
      "rows":{"items":{"properties":{"n":{"$ref":"#/$defs/n"}}}}},
      "allOf":[{"properties":{"also":{"default":null}}}],
      "anyOf":[{"properties":{"never":{"default":1}}}],"$defs":{"n":{"default":0}}})");
  Json value = parse_json(R"({"filter":{},"rows":[{},{"n":5}]})").value();
  schema.fill_defaults(value);
  EXPECT_EQ(value,
            parse_json(R"({"filter":{"deep":true},"rows":[{"n":0},{"n":5}],"also":null,"limit":10})").value())
      << to_text(value);
}

TEST(JsonSchema, DefaultsCannotGrowAValueWithoutBound) {
  JsonObject part{{"default", std::string(100'000, 'x')}};
  const JsonSchema schema =
      JsonSchema::compile(JsonObject{{"items", JsonObject{{"properties", JsonObject{{"a", part}}}}}}).value();
  Json value = JsonArray(50'000, Json(JsonObject{}));
  schema.fill_defaults(value);
  EXPECT_LT(to_text(value).size(), std::size_t{32} << 20U);
}

TEST(JsonSchema, TheEmptySchemaAcceptsEverything) {
  EXPECT_TRUE(JsonSchema().check(Json(1)).empty());
  EXPECT_TRUE(compile("{}").check(Json()).empty());
  EXPECT_EQ(check("false", "1"), "is not allowed");
  EXPECT_EQ(check(R"({"format":"date","title":7,"x-own":[]})", "1"), "");
}

}  // namespace json_schema_test
}  // namespace tertulia
