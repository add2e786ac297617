#include "json_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tertulia/base/utf8.h"

#include "time_text.h"

namespace tertulia {

Error at(Error error, const std::string& step) {
  std::string path = step;
  const ErrorFact::Value* inner = error.fact("param");
  if (const std::string* text = inner == nullptr ? nullptr : std::get_if<std::string>(inner)) {
    if (!text->empty() && !text->starts_with('[')) path += '.';
    path += *text;
  }
  return std::move(error).in(step).with("param", std::move(path));
}

Error wrong_type(std::string_view expected, const Json& got) {
  return Error(ErrorCode::kWrongType,
               "must be " + std::string(expected) + ", not " + std::string(got.type_name()) + ".")
      .with("expected", std::string(expected))
      .with("got", std::string(got.type_name()));
}

Error no_such_name(const Json& json, std::span<const std::string_view> names) {
  if (json.as_string() == nullptr) return wrong_type("a string", json);
  std::string list;
  for (const std::string_view name : names) {
    if (!list.empty()) list += ", ";
    list += name;
  }
  return Error(ErrorCode::kOutOfRange, "must be one of: " + list + ".");
}

Result<std::uint64_t> read_count(const Json& json, std::uint64_t most) {
  const auto& variant = json.variant();
  if (const std::int64_t* small = json.as_int(); small != nullptr && *small >= 0) {
    if (static_cast<std::uint64_t>(*small) <= most) return static_cast<std::uint64_t>(*small);
  } else if (const auto* large = std::get_if<std::uint64_t>(&variant); large != nullptr && *large <= most) {
    return *large;
  } else if (small == nullptr && large == nullptr && !std::holds_alternative<double>(variant)) {
    return wrong_type("a whole number", json);
  }
  return Error(ErrorCode::kOutOfRange, "must be a whole number from 0 to " + std::to_string(most) + ".")
      .with("least", std::int64_t{0})
      .with("limit", static_cast<std::int64_t>(
                         std::min<std::uint64_t>(most, std::numeric_limits<std::int64_t>::max())));
}

void write_value(JsonWriter& out, const std::string& value) {
  if (is_utf8(value)) {
    out.string(value);
  } else {
    out.string(sanitize_utf8(value));
  }
}
void write_value(JsonWriter& out, bool value) { out.boolean(value); }
void write_value(JsonWriter& out, double value) { out.number(value); }
void write_value(JsonWriter& out, float value) { out.number(double{value}); }
void write_value(JsonWriter& out, Time value) { out.string(time_text(value)); }
void write_value(JsonWriter& out, Duration value) { out.number(std::int64_t{value.count()}); }
void write_value(JsonWriter& out, const JsonText& value) { out.raw(value.empty() ? "null" : value.text()); }
void write_value(JsonWriter& out, const JsonObject& value) { out.value(Json(value)); }

Result<void> read_value(const Json& json, std::string& value) {
  const std::string* text = json.as_string();
  if (text == nullptr) return wrong_type("a string", json);
  value = *text;
  return {};
}

Result<void> read_value(const Json& json, bool& value) {
  const bool* flag = json.as_bool();
  if (flag == nullptr) return wrong_type("true or false", json);
  value = *flag;
  return {};
}

Result<void> read_value(const Json& json, double& value) {
  if (const double* number = std::get_if<double>(&json.variant())) {
    value = *number;
  } else if (const std::int64_t* whole = json.as_int()) {
    value = static_cast<double>(*whole);
  } else {
    return wrong_type("a number", json);
  }
  return {};
}

Result<void> read_value(const Json& json, float& value) {
  double wide = 0;
  TERTULIA_TRY(read_value(json, wide));
  if (std::abs(wide) > double{std::numeric_limits<float>::max()}) {
    return Error(ErrorCode::kOutOfRange, "must fit a number of single precision.");
  }
  value = static_cast<float>(wide);
  return {};
}

Result<void> read_value(const Json& json, Time& value) {
  const std::string* text = json.as_string();
  if (text == nullptr) return wrong_type("a time as text", json);
  const std::optional<Time> time = parse_time(*text);
  if (!time) {
    return Error(ErrorCode::kOutOfRange,
                 "must be a time in UTC with microseconds, such as \"2026-11-15T22:25:14.000123Z\".");
  }
  value = *time;
  return {};
}

Result<void> read_value(const Json& json, Duration& value) {
  const std::int64_t* micros = json.as_int();
  if (micros != nullptr) {
    value = Duration(*micros);
    return {};
  }
  const bool is_number = json.type_name() == "number" || json.type_name() == "integer";
  if (!is_number) return wrong_type("a whole number of microseconds", json);
  return Error(ErrorCode::kOutOfRange, "must be a whole number of microseconds that fits 64 bits.");
}

Result<void> read_value(const Json& json, JsonText& value) {
  value = JsonText::of(json);
  return {};
}

Result<void> read_value(const Json& json, JsonObject& value) {
  const JsonObject* object = json.as_object();
  if (object == nullptr) return wrong_type("an object", json);
  value = *object;
  return {};
}

}  // namespace tertulia
