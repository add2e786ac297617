#include "tertulia/base/json.h"

namespace tertulia {

JsonReader::JsonReader(const Json& value, std::string_view where)
    : object_(value.as_object()), where_(where) {
  if (object_ != nullptr) {
    asked_.resize(object_->size());
    return;
  }
  fail(Error(ErrorCode::kWrongType,
             where_ + ": expected an object, got " + std::string(value.type_name()) + ".")
           .with("expected", "object")
           .with("got", std::string(value.type_name())));
}

const Json* JsonReader::take(std::string_view key) {
  if (object_ == nullptr) return nullptr;
  for (std::size_t i = 0; i < object_->size(); ++i) {
    if (object_->begin()[i].first != key) continue;
    asked_[i] = true;
    return &object_->begin()[i].second;
  }
  return nullptr;
}

const Json* JsonReader::optional(std::string_view key) {
  const Json* value = take(key);
  return value != nullptr && value->is_null() ? nullptr : value;
}

const Json* JsonReader::required(std::string_view key) {
  const Json* value = optional(key);
  if (value == nullptr) {
    fail(Error(ErrorCode::kMissingField, where_ + ": the field '" + std::string(key) + "' is missing.")
             .with("param", std::string(key)));
  }
  return value;
}

void JsonReader::wrong_type(std::string_view key, std::string_view expected, const Json& got) {
  fail(Error(ErrorCode::kWrongType, where_ + ": the field '" + std::string(key) + "' must be " +
                                        std::string(expected) + ", not " + std::string(got.type_name()) + ".")
           .with("param", std::string(key))
           .with("expected", std::string(expected))
           .with("got", std::string(got.type_name())));
}

std::string JsonReader::required_string(std::string_view key) {
  return required(key) == nullptr ? std::string() : string_or(key, {});
}

std::string JsonReader::string_or(std::string_view key, std::string other) {
  const Json* value = optional(key);
  if (value == nullptr) return other;
  if (const std::string* text = value->as_string()) return *text;
  wrong_type(key, "a string", *value);
  return other;
}

bool JsonReader::bool_or(std::string_view key, bool other) {
  const Json* value = optional(key);
  if (value == nullptr) return other;
  if (const bool* flag = value->as_bool()) return *flag;
  wrong_type(key, "true or false", *value);
  return other;
}

std::int64_t JsonReader::required_int(std::string_view key, std::int64_t least, std::int64_t most) {
  return required(key) == nullptr ? least : int_or(key, least, least, most);
}

std::int64_t JsonReader::int_or(std::string_view key, std::int64_t other, std::int64_t least,
                                std::int64_t most) {
  const Json* value = optional(key);
  if (value == nullptr) return other;
  const std::int64_t* found = value->as_int();
  if (found != nullptr && *found >= least && *found <= most) return *found;
  if (found == nullptr && !std::holds_alternative<std::uint64_t>(value->variant()) &&
      !std::holds_alternative<double>(value->variant())) {
    wrong_type(key, "a whole number", *value);
    return other;
  }
  fail(Error(ErrorCode::kOutOfRange, where_ + ": the field '" + std::string(key) +
                                         "' must be a whole number from " + std::to_string(least) + " to " +
                                         std::to_string(most) + ".")
           .with("param", std::string(key))
           .with("least", least)
           .with("limit", most));
  return other;
}

double JsonReader::double_or(std::string_view key, double other) {
  const Json* value = optional(key);
  if (value == nullptr) return other;
  if (const double* found = std::get_if<double>(&value->variant())) return *found;
  if (const std::int64_t* whole = value->as_int()) return static_cast<double>(*whole);
  wrong_type(key, "a number", *value);
  return other;
}

const JsonArray& JsonReader::array_or_empty(std::string_view key) {
  static const JsonArray kEmpty;
  const Json* value = optional(key);
  if (value == nullptr) return kEmpty;
  if (const JsonArray* array = value->as_array()) return *array;
  wrong_type(key, "an array", *value);
  return kEmpty;
}

const JsonObject& JsonReader::object_or_empty(std::string_view key) {
  static const JsonObject kEmpty;
  const Json* value = optional(key);
  if (value == nullptr) return kEmpty;
  if (const JsonObject* object = value->as_object()) return *object;
  wrong_type(key, "an object", *value);
  return kEmpty;
}

void JsonReader::fail(Error error) {
  if (!problem_) problem_ = std::move(error);
}

JsonObject JsonReader::rest() const {
  JsonObject rest;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    if (!asked_[i]) rest.append(object_->begin()[i].first, object_->begin()[i].second);
  }
  return rest;
}

Result<void> JsonReader::finish() {
  if (problem_) return *problem_;
  return {};
}

Result<void> JsonReader::finish_strict() {
  TERTULIA_TRY(finish());
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    if (asked_[i]) continue;
    const std::string& key = object_->begin()[i].first;
    return Error(ErrorCode::kUnknownField, where_ + ": there is no field '" + key + "' here.")
        .with("param", key);
  }
  return {};
}

}  // namespace tertulia
