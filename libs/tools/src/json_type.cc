#include "tertulia/tools/json_type.h"

#include "tertulia/base/nearest.h"
#include "tertulia/base/printable.h"
#include "tertulia/base/utf8.h"

namespace tertulia {
namespace {

// A limit that is a whole number is written as one.
Json number_of(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return Json(static_cast<std::int64_t>(value));
  return write_double(value);
}

Json count_of(std::size_t value) { return Json(static_cast<std::uint64_t>(value)); }

void limit(JsonObject& schema, const FieldLimits& limits) {
  if (limits.minimum) schema.set("minimum", number_of(*limits.minimum));
  if (limits.maximum) schema.set("maximum", number_of(*limits.maximum));
  if (limits.min_length) schema.set("minLength", count_of(*limits.min_length));
  if (limits.max_length) schema.set("maxLength", count_of(*limits.max_length));
  if (limits.min_items) schema.set("minItems", count_of(*limits.min_items));
  if (limits.max_items) schema.set("maxItems", count_of(*limits.max_items));
  if (!limits.pattern.empty()) schema.set("pattern", Json(limits.pattern));
}

}  // namespace

void ObjectSchema::add(std::string_view name, Json schema, std::string_view description,
                       const FieldLimits& limits, bool needed, const std::optional<Json>& preset) {
  if (JsonObject* object = schema.as_object()) {
    if (!description.empty()) object->set("description", Json(description));
    limit(*object, limits);
    if (preset) object->set("default", *preset);
  }
  properties.set(std::string(name), std::move(schema));
  if (needed) required.push_back(Json(name));
}

Json ObjectSchema::finish() && {
  JsonObject schema{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema.append("required", std::move(required));
  schema.append("additionalProperties", false);
  return schema;
}

Json integer_schema(std::optional<Json> least, std::optional<Json> most) {
  JsonObject schema{{"type", "integer"}};
  if (least) schema.append("minimum", *std::move(least));
  if (most) schema.append("maximum", *std::move(most));
  return schema;
}

Json nullable_schema(Json schema) {
  JsonObject* object = schema.as_object();
  if (object == nullptr || object->empty()) return schema;
  Json* type = object->find("type");
  if (type == nullptr || type->as_string() == nullptr) {
    return JsonObject{{"anyOf", JsonArray{std::move(schema), Json(JsonObject{{"type", "null"}})}}};
  }
  *type = JsonArray{*type, Json("null")};
  if (Json* words = object->find("enum"); words != nullptr && words->as_array() != nullptr) {
    words->as_array()->push_back(Json());
  }
  return schema;
}

std::optional<JsonProblem> read_integer(const Json& value, std::int64_t least, std::uint64_t most,
                                        std::int64_t& negative, std::uint64_t& positive) {
  constexpr double kPastUnsigned = 18446744073709551616.0;
  constexpr double kLeastSigned = -9223372036854775808.0;
  bool fits = true;
  negative = 0;
  positive = 0;
  if (const std::int64_t* integer = value.as_int()) {
    if (*integer < 0) {
      negative = *integer;
    } else {
      positive = static_cast<std::uint64_t>(*integer);
    }
  } else if (const auto* large = std::get_if<std::uint64_t>(&value.variant())) {
    positive = *large;
  } else if (const auto* number = std::get_if<double>(&value.variant())) {
    if (*number != std::floor(*number)) return expected("integer", value);
    fits = *number >= kLeastSigned && *number < kPastUnsigned;
    if (fits && *number < 0) negative = static_cast<std::int64_t>(*number);
    if (fits && *number >= 0) positive = static_cast<std::uint64_t>(*number);
  } else {
    return expected("integer", value);
  }
  if (fits && negative >= least && positive <= most) return std::nullopt;
  return expected("integer from " + std::to_string(least) + " to " + std::to_string(most), value);
}

std::optional<JsonProblem> read_double(const Json& value, double most, double& out) {
  if (const std::int64_t* integer = value.as_int()) {
    out = static_cast<double>(*integer);
  } else if (const auto* large = std::get_if<std::uint64_t>(&value.variant())) {
    out = static_cast<double>(*large);
  } else if (const auto* number = std::get_if<double>(&value.variant())) {
    out = *number;
  } else {
    return expected("number", value);
  }
  if (std::abs(out) <= most) return std::nullopt;
  return expected("number of at most " + to_text(Json(most)), value);
}

std::optional<JsonProblem> no_such_field(const JsonObject& object, const std::vector<std::string>& known) {
  for (const auto& [key, value] : object) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return under(key, {{}, "is not a known field" + did_you_mean(key, known)});
  }
  return std::nullopt;
}

JsonProblem not_a_name(const Json& value, const std::vector<std::string>& names) {
  std::string wanted = "one of";
  for (std::size_t i = 0; i < names.size(); ++i) wanted += (i == 0 ? " " : ", ") + in_quotes(names[i]);
  return expected(wanted, value);
}

Json write_string(std::string_view text) { return is_utf8(text) ? Json(text) : Json(sanitize_utf8(text)); }

Json write_double(double value) { return std::isfinite(value) ? Json(value) : Json(); }

}  // namespace tertulia
