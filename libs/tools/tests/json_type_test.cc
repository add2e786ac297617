#include "tertulia/tools/json_type.h"

#include <limits>

#include <gtest/gtest.h>

namespace city {

// In a namespace of its own: the descriptions are found beside the types.
enum class Unit : std::uint8_t { kCelsius, kFahrenheit };
TERTULIA_ENUM(Unit, {kCelsius, "celsius"}, {kFahrenheit, "fahrenheit"})

struct Place {
  double latitude;
  double longitude;
};
TERTULIA_FIELDS(Place, latitude, longitude)

struct Forecast {
  Place place;
  int days = 3;
  Unit unit = Unit::kFahrenheit;
  std::optional<std::string> language;
  std::vector<std::string> tags;
  std::map<std::string, bool> flags;
  tertulia::Json extra;
  bool hourly = false;
};
TERTULIA_FIELDS(Forecast, place, (days, "How many days.", {.minimum = 1, .maximum = 14}), unit,
                (language, "The language of the text."), (tags, "", {.max_items = 4, .has_default = true}),
                (flags, "", {.has_default = true}), (extra, "Anything.", {.has_default = true}),
                (hourly, "Every hour.", {.has_default = true}))

}  // namespace city

namespace tertulia {
namespace json_type_test {

template <class T>
std::string problem_of(std::string_view json, T& out) {
  const auto problem = JsonType<T>::read(parse_json(json).value(), out);
  return problem ? problem->text() : "";
}

template <class T>
std::string problem_of(std::string_view json) {
  T out{};
  return problem_of(json, out);
}

TEST(JsonType, DerivesTheSchemaOfAStruct) {
  EXPECT_EQ(
      to_text(JsonType<city::Forecast>::schema()),
      R"({"type":"object","properties":{)"
      R"("place":{"type":"object","properties":{"latitude":{"type":"number"},"longitude":{"type":"number"}},)"
      R"("required":["latitude","longitude"],"additionalProperties":false},)"
      R"("days":{"type":"integer","minimum":1,"maximum":14,"description":"How many days.","default":3},)"
      R"("unit":{"type":"string","enum":["celsius","fahrenheit"],"default":"fahrenheit"},)"
      R"("language":{"type":["string","null"],"description":"The language of the text."},)"
      R"("tags":{"type":"array","items":{"type":"string"},"maxItems":4,"default":[]},)"
      R"("flags":{"type":"object","additionalProperties":{"type":"boolean"},"default":{}},)"
      R"("extra":{"description":"Anything.","default":null},)"
      R"("hourly":{"type":"boolean","description":"Every hour.","default":false}},)"
      R"("required":["place"],"additionalProperties":false})");
}

TEST(JsonType, ReadsAStructAndKeepsTheDefaultsOfWhatIsLeftOut) {
  city::Forecast out;
  out.days = 99;
  EXPECT_EQ(problem_of(R"({"place":{"latitude":1,"longitude":2.5},"tags":["a","b"],"flags":{"x":true},)"
                       R"("extra":[1,{"y":null}],"unit":"celsius"})",
                       out),
            "");
  EXPECT_EQ(out.place.latitude, 1);
  EXPECT_EQ(out.place.longitude, 2.5);
  EXPECT_EQ(out.days, 3);
  EXPECT_EQ(out.unit, city::Unit::kCelsius);
  EXPECT_FALSE(out.language);
  EXPECT_EQ(out.tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(out.flags.at("x"));
  EXPECT_EQ(to_text(out.extra), R"([1,{"y":null}])");
}

TEST(JsonType, WritesWhatItReads) {
  const std::string text =
      R"({"place":{"latitude":1.5,"longitude":2.5},"days":7,"unit":"celsius","language":"ca","tags":["a"],)"
      R"("flags":{"x":true},"extra":{"k":1},"hourly":true})";
  city::Forecast out;
  ASSERT_EQ(problem_of(text, out), "");
  EXPECT_EQ(to_text(JsonType<city::Forecast>::write(out)), text);
}

TEST(JsonType, SaysWhereTheProblemIs) {
  using city::Forecast;
  EXPECT_EQ(problem_of<Forecast>(R"([])"), "expected object, got array of 0");
  EXPECT_EQ(problem_of<Forecast>(R"({})"), "/place: is required");
  EXPECT_EQ(problem_of<Forecast>(R"({"place":{"latitude":"x","longitude":1}})"),
            R"(/place/latitude: expected number, got string "x")");
  EXPECT_EQ(problem_of<Forecast>(R"({"place":{"latitude":1,"longitude":1},"tags":["a",2]})"),
            "/tags/1: expected string, got integer 2");
  EXPECT_EQ(problem_of<Forecast>(R"({"place":{"latitude":1,"longitude":1},"flags":{"a/b":0}})"),
            "/flags/a~1b: expected boolean, got integer 0");
  EXPECT_EQ(problem_of<Forecast>(R"({"place":{"latitude":1,"longitude":1},"unit":"kelvin"})"),
            R"(/unit: expected one of "celsius", "fahrenheit", got string "kelvin")");
  EXPECT_EQ(problem_of<Forecast>(R"({"place":{"latitude":1,"longitude":1},"dais":2})"),
            "/dais: is not a known field (did you mean 'days'?)");
}

TEST(JsonType, AnIntegerThatDoesNotFitItsTypeIsRefused) {
  EXPECT_EQ(problem_of<std::int8_t>("-128"), "");
  EXPECT_EQ(problem_of<std::int8_t>("128"), "expected integer from -128 to 127, got integer 128");
  EXPECT_EQ(problem_of<std::uint16_t>("-1"), "expected integer from 0 to 65535, got integer -1");
  EXPECT_EQ(problem_of<std::int64_t>("9223372036854775807"), "");
  EXPECT_NE(problem_of<std::int64_t>("9223372036854775808"), "");
  EXPECT_NE(problem_of<std::uint64_t>("1.8446744073709552e19"), "");
  EXPECT_NE(problem_of<std::int64_t>("1e300"), "");
  EXPECT_NE(problem_of<std::int64_t>("-1e300"), "");
  EXPECT_NE(problem_of<int>("3.5"), "");
  EXPECT_NE(problem_of<int>("\"3\""), "");
  EXPECT_NE(problem_of<float>("1e39"), "");
  std::uint64_t largest = 0;
  EXPECT_EQ(problem_of("18446744073709551615", largest), "");
  EXPECT_EQ(largest, std::numeric_limits<std::uint64_t>::max());
  std::int64_t least = 0;
  EXPECT_EQ(problem_of("-9223372036854775808", least), "");
  EXPECT_EQ(least, std::numeric_limits<std::int64_t>::min());
}

TEST(JsonType, AWholeNumberWithAPointIsAnInteger) {
  int three = 0;
  EXPECT_EQ(problem_of("3.0", three), "");
  EXPECT_EQ(three, 3);
  EXPECT_EQ(problem_of("-3.0", three), "");
  EXPECT_EQ(three, -3);
}

TEST(JsonType, NullIsAnOptionalLeftOut) {
  std::optional<int> out = 5;
  EXPECT_EQ(problem_of("null", out), "");
  EXPECT_FALSE(out);
  EXPECT_EQ(to_text(JsonType<std::optional<city::Unit>>::schema()),
            R"({"type":["string","null"],"enum":["celsius","fahrenheit",null]})");
}

TEST(JsonType, WritesNothingThatIsNotJson) {
  EXPECT_EQ(to_text(JsonType<std::string>::write("a\xff")), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(to_text(JsonType<double>::write(std::numeric_limits<double>::infinity())), "null");
  EXPECT_EQ(to_text(JsonType<city::Unit>::write(static_cast<city::Unit>(9))), "null");
}

}  // namespace json_type_test
}  // namespace tertulia
