// How C++ types and JSON values become each other, with the schema that a model is shown.
//
//   struct Search {
//     std::string query;
//     int limit = 10;                        // differs from int{}: a default, not required
//     std::optional<std::string> language;   // not required
//   };
//   TERTULIA_FIELDS(Search, (query, "What to look for."), (limit, "How many.", {.minimum = 1, .maximum =
//   50}),
//                   language)
//
//   enum class Unit { kCelsius, kFahrenheit };
//   TERTULIA_ENUM(Unit, {kCelsius, "celsius"}, {kFahrenheit, "fahrenheit"})
//
// Both stand in the namespace of the type. Known without them: bool, integers, float and double, std::string,
// std::optional, std::vector, std::map with string keys, and Json, which is anything. Other types get a
// specialisation of JsonType.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tertulia/base/json.h"
#include "tertulia/tools/json_problem.h"

namespace tertulia {

// What a schema says of a field beside its type.
struct FieldLimits {
  std::optional<double> minimum{};
  std::optional<double> maximum{};
  std::optional<std::size_t> min_length{};  // in characters
  std::optional<std::size_t> max_length{};
  std::optional<std::size_t> min_items{};
  std::optional<std::size_t> max_items{};
  std::string pattern{};
  // The initial value is a default even where it is that of the type: 0, false, "".
  bool has_default = false;
};

// Specialise it for a type of your own:
//   static Json schema();
//   static std::optional<JsonProblem> read(const Json& value, T& out);    nothing: it was read
//   static Json write(const T& value);
template <class T>
struct JsonType;

template <class T>
concept JsonReadable = requires(const Json& json, T& out) {
  { JsonType<T>::schema() } -> std::same_as<Json>;
  { JsonType<T>::read(json, out) } -> std::same_as<std::optional<JsonProblem>>;
};

template <class T>
concept JsonWritable = requires(const T& value) {
  { JsonType<T>::write(value) } -> std::same_as<Json>;
};

// One member of a described struct.
template <class Struct, class Member>
struct Field {
  std::string_view name;
  Member Struct::* member;
  std::string_view description;
  FieldLimits limits;
};

template <class Struct, class Member>
Field<Struct, Member> make_field(std::string_view name, Member Struct::* member,
                                 std::string_view description = {}, FieldLimits limits = {}) {
  return {name, member, description, std::move(limits)};
}

template <class T>
struct EnumName {
  T value;
  std::string_view name;
};

template <class T>
concept DescribedStruct = requires { tertulia_fields(static_cast<const T*>(nullptr)); };
template <class T>
concept DescribedEnum = requires { tertulia_enum_names(static_cast<const T*>(nullptr)); };

// The parts of the templates below that need no types.
struct ObjectSchema {
  JsonObject properties;
  JsonArray required;

  // `preset`: the initial value, if it is a default.
  void add(std::string_view name, Json schema, std::string_view description, const FieldLimits& limits,
           bool needed, const std::optional<Json>& preset);
  Json finish() &&;
};
Json integer_schema(std::optional<Json> least, std::optional<Json> most);
Json nullable_schema(Json schema);
std::optional<JsonProblem> read_integer(const Json& value, std::int64_t least, std::uint64_t most,
                                        std::int64_t& negative, std::uint64_t& positive);
std::optional<JsonProblem> read_double(const Json& value, double most, double& out);
std::optional<JsonProblem> no_such_field(const JsonObject& object, const std::vector<std::string>& known);
JsonProblem not_a_name(const Json& value, const std::vector<std::string>& names);
Json write_string(std::string_view text);
// Null where the number is not finite: JSON has no such number.
Json write_double(double value);

template <>
struct JsonType<Json> {
  static Json schema() { return JsonObject{}; }
  static std::optional<JsonProblem> read(const Json& value, Json& out) {
    out = value;
    return std::nullopt;
  }
  static Json write(const Json& value) { return value; }
};

template <>
struct JsonType<bool> {
  static Json schema() { return JsonObject{{"type", "boolean"}}; }
  static std::optional<JsonProblem> read(const Json& value, bool& out) {
    const bool* flag = value.as_bool();
    if (flag == nullptr) return expected("boolean", value);
    out = *flag;
    return std::nullopt;
  }
  static Json write(bool value) { return value; }
};

// 3.0 is read as 3; what does not fit the type is a problem, never wrapped.
template <std::integral T>
  requires(!std::same_as<T, bool>)
struct JsonType<T> {
  using Limits = std::numeric_limits<T>;

  static Json schema() {
    if constexpr (std::is_unsigned_v<T>) {
      if constexpr (sizeof(T) < 8)
        return integer_schema(Json(0), Json(static_cast<std::uint64_t>(Limits::max())));
      return integer_schema(Json(0), std::nullopt);
    } else {
      if constexpr (sizeof(T) == 8) return integer_schema(std::nullopt, std::nullopt);
      return integer_schema(Json(static_cast<std::int64_t>(Limits::min())),
                            Json(static_cast<std::int64_t>(Limits::max())));
    }
  }
  static std::optional<JsonProblem> read(const Json& value, T& out) {
    std::int64_t negative = 0;
    std::uint64_t positive = 0;
    auto problem = read_integer(value, static_cast<std::int64_t>(Limits::min()),
                                static_cast<std::uint64_t>(Limits::max()), negative, positive);
    if (!problem) out = negative < 0 ? static_cast<T>(negative) : static_cast<T>(positive);
    return problem;
  }
  static Json write(T value) {
    if constexpr (std::is_unsigned_v<T>) return Json(static_cast<std::uint64_t>(value));
    return Json(static_cast<std::int64_t>(value));
  }
};

template <std::floating_point T>
struct JsonType<T> {
  static Json schema() { return JsonObject{{"type", "number"}}; }
  static std::optional<JsonProblem> read(const Json& value, T& out) {
    double number = 0;
    auto problem = read_double(value,
                               static_cast<double>(std::min<long double>(std::numeric_limits<T>::max(),
                                                                         std::numeric_limits<double>::max())),
                               number);
    if (!problem) out = static_cast<T>(number);
    return problem;
  }
  static Json write(T value) { return write_double(static_cast<double>(value)); }
};

template <>
struct JsonType<std::string> {
  static Json schema() { return JsonObject{{"type", "string"}}; }
  static std::optional<JsonProblem> read(const Json& value, std::string& out) {
    const std::string* text = value.as_string();
    if (text == nullptr) return expected("string", value);
    out = *text;
    return std::nullopt;
  }
  static Json write(const std::string& value) { return write_string(value); }
};

template <>
struct JsonType<std::string_view> {
  static Json write(std::string_view value) { return write_string(value); }
};
template <>
struct JsonType<const char*> {
  static Json write(const char* value) { return write_string(value); }
};

// Null is read as nothing: models write it for what they leave out.
template <class T>
struct JsonType<std::optional<T>> {
  static Json schema() { return nullable_schema(JsonType<T>::schema()); }
  static std::optional<JsonProblem> read(const Json& value, std::optional<T>& out) {
    out.reset();
    if (value.is_null()) return std::nullopt;
    return JsonType<T>::read(value, out.emplace());
  }
  static Json write(const std::optional<T>& value) { return value ? JsonType<T>::write(*value) : Json(); }
};

template <class T>
struct JsonType<std::vector<T>> {
  static Json schema() { return JsonObject{{"type", "array"}, {"items", JsonType<T>::schema()}}; }
  static std::optional<JsonProblem> read(const Json& value, std::vector<T>& out) {
    const JsonArray* array = value.as_array();
    if (array == nullptr) return expected("array", value);
    out.clear();
    out.reserve(array->size());
    for (const Json& element : *array) {
      T item{};
      if (auto problem = JsonType<T>::read(element, item)) return under(out.size(), *std::move(problem));
      out.push_back(std::move(item));
    }
    return std::nullopt;
  }
  static Json write(const std::vector<T>& value) {
    JsonArray array;
    array.reserve(value.size());
    for (const auto& item : value) array.push_back(JsonType<T>::write(item));
    return array;
  }
};

template <class T, class Less>
struct JsonType<std::map<std::string, T, Less>> {
  using Map = std::map<std::string, T, Less>;

  static Json schema() {
    return JsonObject{{"type", "object"}, {"additionalProperties", JsonType<T>::schema()}};
  }
  static std::optional<JsonProblem> read(const Json& value, Map& out) {
    const JsonObject* object = value.as_object();
    if (object == nullptr) return expected("object", value);
    out.clear();
    for (const auto& [key, member] : *object) {
      if (auto problem = JsonType<T>::read(member, out[key])) return under(key, *std::move(problem));
    }
    return std::nullopt;
  }
  static Json write(const Map& value) {
    JsonObject object;
    for (const auto& [key, member] : value) object.set(sanitized_key(key), JsonType<T>::write(member));
    return object;
  }

 private:
  static std::string sanitized_key(const std::string& key) { return *write_string(key).as_string(); }
};

template <DescribedEnum T>
struct JsonType<T> {
  static const std::vector<EnumName<T>>& names() {
    return tertulia_enum_names(static_cast<const T*>(nullptr));
  }

  static Json schema() {
    JsonArray words;
    for (const EnumName<T>& entry : names()) words.push_back(Json(entry.name));
    return JsonObject{{"type", "string"}, {"enum", std::move(words)}};
  }
  static std::optional<JsonProblem> read(const Json& value, T& out) {
    std::vector<std::string> known;
    for (const EnumName<T>& entry : names()) {
      if (const std::string* text = value.as_string(); text != nullptr && *text == entry.name) {
        out = entry.value;
        return std::nullopt;
      }
      known.emplace_back(entry.name);
    }
    return not_a_name(value, known);
  }
  // Null for a value without a name.
  static Json write(T value) {
    for (const EnumName<T>& entry : names()) {
      if (entry.value == value) return Json(entry.name);
    }
    return {};
  }
};

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// Fields that are not described are refused, so that a mistyped name is not taken for one left out.
template <DescribedStruct T>
struct JsonType<T> {
  static const auto& fields() { return tertulia_fields(static_cast<const T*>(nullptr)); }

  static Json schema() {
    ObjectSchema out;
    const T initial{};
    each([&]<class Member>(const Field<T, Member>& field) {
      const std::optional<Json> preset = preset_of(field, initial);
      out.add(field.name, JsonType<Member>::schema(), field.description, field.limits,
              !preset && !kIsOptional<Member>, preset);
      return true;
    });
    return std::move(out).finish();
  }

  static std::optional<JsonProblem> read(const Json& value, T& out) {
    const JsonObject* object = value.as_object();
    if (object == nullptr) return expected("object", value);
    std::optional<JsonProblem> problem;
    std::size_t found = 0;
    out = T{};
    each([&]<class Member>(const Field<T, Member>& field) {
      if (const Json* member = object->find(field.name)) {
        ++found;
        problem = JsonType<Member>::read(*member, out.*field.member);
        if (problem) problem = under(field.name, *std::move(problem));
      } else if (!kIsOptional<Member> && !preset_of(field, out)) {
        problem = JsonProblem{"/" + std::string(field.name), "is required"};
      }
      return !problem;
    });
    if (!problem && found < object->size()) problem = no_such_field(*object, known());
    return problem;
  }

  static Json write(const T& value) {
    JsonObject object;
    each([&]<class Member>(const Field<T, Member>& field) {
      const Member& member = value.*field.member;
      if constexpr (kIsOptional<Member>) {
        if (!member) return true;
      }
      object.append(std::string(field.name), JsonType<Member>::write(member));
      return true;
    });
    return object;
  }

 private:
  // Calls `visit` for each field until it returns false.
  template <class Visit>
  static void each(Visit&& visit) {
    std::apply([&](const auto&... field) { static_cast<void>((visit(field) && ...)); }, fields());
  }

  template <class Member>
  static std::optional<Json> preset_of(const Field<T, Member>& field, const T& initial) {
    if constexpr (kIsOptional<Member>) {
      if (!(initial.*field.member)) return std::nullopt;
    }
    Json preset = JsonType<Member>::write(initial.*field.member);
    if (!field.limits.has_default && preset == JsonType<Member>::write(Member{})) return std::nullopt;
    return preset;
  }

  static std::vector<std::string> known() {
    std::vector<std::string> names;
    each([&](const auto& field) {
      names.emplace_back(field.name);
      return true;
    });
    return names;
  }
};

}  // namespace tertulia

// Runs a macro for each of up to 256 arguments.
#define TERTULIA_PARENS_ ()
#define TERTULIA_EXPAND_(...) \
  TERTULIA_EXPAND4_(TERTULIA_EXPAND4_(TERTULIA_EXPAND4_(TERTULIA_EXPAND4_(__VA_ARGS__))))
#define TERTULIA_EXPAND4_(...) \
  TERTULIA_EXPAND3_(TERTULIA_EXPAND3_(TERTULIA_EXPAND3_(TERTULIA_EXPAND3_(__VA_ARGS__))))
#define TERTULIA_EXPAND3_(...) \
  TERTULIA_EXPAND2_(TERTULIA_EXPAND2_(TERTULIA_EXPAND2_(TERTULIA_EXPAND2_(__VA_ARGS__))))
#define TERTULIA_EXPAND2_(...) \
  TERTULIA_EXPAND1_(TERTULIA_EXPAND1_(TERTULIA_EXPAND1_(TERTULIA_EXPAND1_(__VA_ARGS__))))
#define TERTULIA_EXPAND1_(...) __VA_ARGS__

// 1 if the argument stands in parentheses, else 0.
#define TERTULIA_SECOND_(...) TERTULIA_SECOND_OF_(__VA_ARGS__)
#define TERTULIA_SECOND_OF_(first, second, ...) second
#define TERTULIA_PROBE_(...) ~, 1
#define TERTULIA_IN_PARENS_(argument) TERTULIA_SECOND_(TERTULIA_PROBE_ argument, 0, ~)

#define TERTULIA_FIELD_(Type, argument) \
  TERTULIA_CONCAT(TERTULIA_FIELD_FORM_, TERTULIA_IN_PARENS_(argument))(Type, argument)
#define TERTULIA_FIELD_FORM_0(Type, argument) TERTULIA_MAKE_FIELD_(Type, argument)
#define TERTULIA_FIELD_FORM_1(Type, argument) TERTULIA_FIELD_UNWRAP_(Type, TERTULIA_UNWRAPPED_ argument)
#define TERTULIA_UNWRAPPED_(...) __VA_ARGS__
#define TERTULIA_FIELD_UNWRAP_(...) TERTULIA_MAKE_FIELD_(__VA_ARGS__)
#define TERTULIA_MAKE_FIELD_(Type, name, ...) \
  ::tertulia::make_field(#name, &Type::name __VA_OPT__(, ) __VA_ARGS__)

#define TERTULIA_FIELDS_(Type, first, ...) \
  TERTULIA_FIELD_(Type, first) __VA_OPT__(, TERTULIA_FIELDS_AGAIN_ TERTULIA_PARENS_(Type, __VA_ARGS__))
#define TERTULIA_FIELDS_AGAIN_() TERTULIA_FIELDS_

// Describes a struct: TERTULIA_FIELDS(Type, field, (field, "description"), (field, "description", {limits})).
// The struct can be made without arguments, and its described members are public.
#define TERTULIA_FIELDS(Type, ...)                                                                     \
  [[maybe_unused]] inline const auto& tertulia_fields(const Type*) {                                   \
    static const auto fields = std::make_tuple(TERTULIA_EXPAND_(TERTULIA_FIELDS_(Type, __VA_ARGS__))); \
    return fields;                                                                                     \
  }

// Describes an enum: TERTULIA_ENUM(Unit, {kCelsius, "celsius"}, {kFahrenheit, "fahrenheit"}).
#define TERTULIA_ENUM(Type, ...)                                                \
  [[maybe_unused]] inline const auto& tertulia_enum_names(const Type*) {        \
    using enum Type;                                                            \
    static const std::vector<::tertulia::EnumName<Type>> names = {__VA_ARGS__}; \
    return names;                                                               \
  }
