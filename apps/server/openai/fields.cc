#include "openai/fields.h"

namespace tertulia::server {
namespace {

std::optional<double> number_in(const Json& value) {
  if (const std::int64_t* whole = value.as_int()) return static_cast<double>(*whole);
  if (const double* number = std::get_if<double>(&value.variant())) return *number;
  return std::nullopt;
}

template <class T>
Error out_of_range(const std::string& param, T least, T most) {
  return Error(ErrorCode::kOutOfRange,
               "'" + param + "' must be from " + std::to_string(least) + " to " + std::to_string(most))
      .with("param", param);
}

}  // namespace

Result<const JsonObject*> as_object(const Json& value, const std::string& param) {
  if (const JsonObject* object = value.as_object()) return object;
  return Error(ErrorCode::kWrongType,
               "'" + param + "' must be an object, not " + std::string(value.type_name()))
      .with("param", param);
}

const Json* Fields::find(std::string_view key) const {
  const Json* value = object_.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Error Fields::missing(std::string_view key) const {
  return Error(ErrorCode::kMissingField, "'" + param(key) + "' is missing").with("param", param(key));
}

Error Fields::wrong_type(std::string_view key, std::string_view expected, const Json& got) const {
  return Error(ErrorCode::kWrongType, "'" + param(key) + "' must be " + std::string(expected) + ", not " +
                                          std::string(got.type_name()))
      .with("param", param(key));
}

Error Fields::unsupported(std::string_view key, std::string sentence) const {
  return Error(ErrorCode::kUnsupportedParameter, std::move(sentence)).with("param", param(key));
}

Result<std::string> Fields::text(std::string_view key) const {
  if (find(key) == nullptr) return missing(key);
  return text_or(key, {});
}

Result<std::string> Fields::text_or(std::string_view key, std::string other) const {
  const Json* value = find(key);
  if (value == nullptr) return other;
  if (const std::string* text = value->as_string()) return *text;
  return wrong_type(key, "a string", *value);
}

Result<bool> Fields::flag_or(std::string_view key, bool other) const {
  const Json* value = find(key);
  if (value == nullptr) return other;
  if (const bool* flag = value->as_bool()) return *flag;
  return wrong_type(key, "true or false", *value);
}

Result<std::optional<double>> Fields::number(std::string_view key, double least, double most) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<double>();
  const std::optional<double> number = number_in(*value);
  if (!number) return wrong_type(key, "a number", *value);
  if (*number < least || *number > most) return out_of_range(param(key), least, most);
  return number;
}

Result<std::optional<std::int64_t>> Fields::integer(std::string_view key, std::int64_t least,
                                                    std::int64_t most) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<std::int64_t>();
  const std::int64_t* number = value->as_int();
  if (number == nullptr) return wrong_type(key, "a whole number", *value);
  if (*number < least || *number > most) return out_of_range(param(key), least, most);
  return std::optional(*number);
}

Result<const JsonArray*> Fields::array(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return nullptr;
  if (const JsonArray* array = value->as_array()) return array;
  return wrong_type(key, "an array", *value);
}

Result<const JsonObject*> Fields::object(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return nullptr;
  if (const JsonObject* object = value->as_object()) return object;
  return wrong_type(key, "an object", *value);
}

}  // namespace tertulia::server
