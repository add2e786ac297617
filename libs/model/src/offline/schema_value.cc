#include "offline/schema_value.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "tertulia/base/utf8.h"

#include "offline/words.h"

namespace tertulia::offline {
namespace {

constexpr int kDeepest = 24;
// Of the whole answer. A schema of a few lines may ask for more than there is memory.
constexpr std::size_t kMostValues = 10'000;
constexpr std::size_t kMostBytes = 4U << 20U;

std::optional<double> number_at(const JsonObject& schema, std::string_view key) {
  const Json* value = schema.find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = value->as_int()) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value->variant())) return *real;
  return std::nullopt;
}

// The first multiple of `step` from `number` on; `number` itself where that is beyond all numbers.
double multiple_of(double number, double step) {
  const double next = std::ceil(number / step) * step;
  return std::isfinite(next) ? next : number;
}

class Builder {
 public:
  Builder(const Json& root, std::string_view text) : root_(root), text_(text) {}

  bool is_too_large() const { return values_ > kMostValues || bytes_ > kMostBytes; }

  Json build(const Json& schema, int depth) {
    const JsonObject* object = schema.as_object();
    ++values_;
    if (object == nullptr || depth > kDeepest || is_too_large()) return Json();
    if (const Json* ref = object->find("$ref"); ref != nullptr && ref->as_string() != nullptr)
      return build(resolve(*ref->as_string()), depth + 1);
    for (const std::string_view key : {"const", "default"}) {
      if (const Json* value = object->find(key)) return copy_of(*value);
    }
    if (const Json* choices = object->find("enum"); choices != nullptr && choices->as_array() != nullptr)
      return choices->as_array()->empty() ? Json() : copy_of(choices->as_array()->front());
    for (const std::string_view key : {"anyOf", "oneOf", "allOf"}) {
      const Json* options = object->find(key);
      if (options != nullptr && options->as_array() != nullptr && !options->as_array()->empty())
        return build(options->as_array()->front(), depth + 1);
    }
    return of_type(type_of(*object), *object, depth);
  }

 private:
  Json copy_of(const Json& value) {
    bytes_ += to_text(value).size();
    return is_too_large() ? Json() : value;
  }

  static std::string type_of(const JsonObject& schema) {
    const Json* type = schema.find("type");
    if (type != nullptr && type->as_array() != nullptr && !type->as_array()->empty())
      type = &type->as_array()->front();
    if (type != nullptr && type->as_string() != nullptr) return *type->as_string();
    return schema.find("properties") != nullptr ? "object" : "string";
  }

  Json of_type(const std::string& type, const JsonObject& schema, int depth) {
    if (type == "object") return object_of(schema, depth);
    if (type == "array") return array_of(schema, depth);
    if (type == "integer" || type == "number") return number_of(schema, type == "integer");
    if (type == "boolean") return Json(false);
    if (type == "null") return Json();
    return string_of(schema);
  }

  Json object_of(const JsonObject& schema, int depth) {
    JsonObject result;
    const Json* required = schema.find("required");
    const Json* properties = schema.find("properties");
    if (required == nullptr || required->as_array() == nullptr) return Json(std::move(result));
    for (const Json& name : *required->as_array()) {
      if (name.as_string() == nullptr) continue;
      const JsonObject* known = properties == nullptr ? nullptr : properties->as_object();
      const Json* property = known == nullptr ? nullptr : known->find(*name.as_string());
      result.set(*name.as_string(), property == nullptr ? Json() : build(*property, depth + 1));
    }
    return Json(std::move(result));
  }

  Json array_of(const JsonObject& schema, int depth) {
    JsonArray result;
    const double least = std::min(number_at(schema, "minItems").value_or(0), 100.0);
    const Json* items = schema.find("items");
    while (static_cast<double>(result.size()) < least && !is_too_large())
      result.push_back(items == nullptr ? Json() : build(*items, depth + 1));
    return Json(std::move(result));
  }

  Json number_of(const JsonObject& schema, bool whole) const {
    double number = last_number(text_).value_or(0);
    if (whole) number = std::trunc(number);
    if (const auto most = number_at(schema, "maximum")) number = std::min(number, *most);
    if (const auto least = number_at(schema, "minimum")) number = std::max(number, *least);
    if (const auto above = number_at(schema, "exclusiveMinimum"); above && number <= *above)
      number = *above + 1;
    if (const auto step = number_at(schema, "multipleOf"); step && *step > 0)
      number = multiple_of(number, *step);
    if (number == std::trunc(number) && std::abs(number) < 9e15)
      return Json(static_cast<std::int64_t>(number));
    return Json(number);
  }

  Json string_of(const JsonObject& schema) {
    std::string value(text_);
    // Counted in bytes, which is never too long; padding makes it long enough.
    if (const auto most = number_at(schema, "maxLength"); most && *most < 1e9)
      value = std::string(utf8_prefix(value, static_cast<std::size_t>(std::max(*most, 0.0))));
    const auto least =
        static_cast<std::size_t>(std::clamp(number_at(schema, "minLength").value_or(0), 0.0, 1e6));
    bytes_ += std::max(value.size(), least);
    if (is_too_large()) return Json();
    if (value.size() < least) value.append(least - value.size(), '.');
    return Json(std::move(value));
  }

  // "#/$defs/Name" within the whole schema.
  const Json& resolve(std::string_view ref) const {
    static const Json kNothing;
    const Json* at = &root_;
    if (!ref.starts_with("#")) return kNothing;
    ref.remove_prefix(1);
    while (ref.starts_with("/")) {
      ref.remove_prefix(1);
      const std::string_view key = ref.substr(0, ref.find('/'));
      ref.remove_prefix(key.size());
      at = at->as_object() == nullptr ? nullptr : at->as_object()->find(key);
      if (at == nullptr) return kNothing;
    }
    return *at;
  }

  const Json& root_;
  std::string_view text_;
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

Result<Json> value_for_schema(const Json& schema, std::string_view text) {
  Builder builder(schema, text);
  Json value = builder.build(schema, 0);
  if (!builder.is_too_large()) return value;
  return Error(ErrorCode::kTooLarge, "the answer that the schema asks for has more than " +
                                         std::to_string(kMostValues) + " values or " +
                                         std::to_string(kMostBytes) + " bytes; ask for less")
      .with("limit", static_cast<std::int64_t>(kMostValues));
}

}  // namespace tertulia::offline
