// How the kinds of members look in JSON: write_value and read_value for each.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/message.h"
#include "tertulia/conversation/revision.h"
#include "tertulia/conversation/transcript.h"

#include "enum_names.h"

namespace tertulia {

// Says where the error is: {"param", "participants[2].id"} and "participants: [2]: id: …".
Error at(Error error, const std::string& step);
Error wrong_type(std::string_view expected, const Json& got);

void write_value(JsonWriter& out, const std::string& value);
void write_value(JsonWriter& out, bool value);
void write_value(JsonWriter& out, double value);
void write_value(JsonWriter& out, float value);
void write_value(JsonWriter& out, Time value);
void write_value(JsonWriter& out, Duration value);
void write_value(JsonWriter& out, const JsonText& value);
void write_value(JsonWriter& out, const JsonObject& value);
void write_value(JsonWriter& out, const Message& value);
// As a list of turns.
void write_value(JsonWriter& out, const Transcript& value);

Result<void> read_value(const Json& json, std::string& value);
Result<void> read_value(const Json& json, bool& value);
Result<void> read_value(const Json& json, double& value);
Result<void> read_value(const Json& json, float& value);
Result<void> read_value(const Json& json, Time& value);
Result<void> read_value(const Json& json, Duration& value);
Result<void> read_value(const Json& json, JsonText& value);
Result<void> read_value(const Json& json, JsonObject& value);
Result<void> read_value(const Json& json, Message& value);
Result<void> read_value(const Json& json, Transcript& value);

// A whole number from 0 to `most`.
Result<std::uint64_t> read_count(const Json& json, std::uint64_t most);
// The error for a name that is none of `names`.
Error no_such_name(const Json& json, std::span<const std::string_view> names);

template <class T>
concept Count = std::unsigned_integral<T> && !std::same_as<T, bool>;

template <class T>
concept Counter = std::same_as<T, Tokens> || std::same_as<T, Revision>;

template <Count T>
void write_value(JsonWriter& out, T value) {
  out.number(std::uint64_t{value});
}
template <Count T>
Result<void> read_value(const Json& json, T& value) {
  TERTULIA_TRY_AS(const std::uint64_t count, read_count(json, std::numeric_limits<T>::max()));
  value = static_cast<T>(count);
  return {};
}

template <Counter T>
void write_value(JsonWriter& out, T value) {
  out.number(number(value));
}
template <Counter T>
Result<void> read_value(const Json& json, T& value) {
  TERTULIA_TRY_AS(const std::uint64_t count, read_count(json, std::numeric_limits<std::uint64_t>::max()));
  value = T{count};
  return {};
}

template <NamedEnum E>
void write_value(JsonWriter& out, E value) {
  out.string(enum_name(value));
}
template <NamedEnum E>
Result<void> read_value(const Json& json, E& value) {
  const std::string* name = json.as_string();
  const std::optional<E> found = name != nullptr ? enum_named<E>(*name) : std::nullopt;
  if (!found) return no_such_name(json, EnumNames<E>::kNames);
  value = *found;
  return {};
}

// An empty name stands for none, and is written only where it is optional.
template <class Id>
Result<void> read_id(const Json& json, Id& value) {
  const std::string* text = json.as_string();
  if (text == nullptr) return wrong_type("a string", json);
  auto parsed = Id::parse(*text);
  if (!parsed) return std::move(parsed).error().with("param", std::string());
  value = *std::move(parsed);
  return {};
}
template <class Tag>
void write_value(JsonWriter& out, const Name<Tag>& value) {
  out.string(value.text());
}
template <class Tag>
Result<void> read_value(const Json& json, Name<Tag>& value) {
  return read_id(json, value);
}
template <class Tag>
void write_value(JsonWriter& out, const Key<Tag>& value) {
  out.string(value.text());
}
template <class Tag>
Result<void> read_value(const Json& json, Key<Tag>& value) {
  return read_id(json, value);
}

template <class T>
void write_value(JsonWriter& out, const std::optional<T>& value) {
  write_value(out, *value);
}
template <class T>
Result<void> read_value(const Json& json, std::optional<T>& value) {
  return read_value(json, value.emplace());
}

template <class T>
void write_value(JsonWriter& out, const std::vector<T>& items) {
  out.begin_array();
  for (const T& item : items) write_value(out, item);
  out.end_array();
}
template <class T>
Result<void> read_value(const Json& json, std::vector<T>& items) {
  const JsonArray* array = json.as_array();
  if (array == nullptr) return wrong_type("an array", json);
  items.clear();
  items.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    if (auto done = read_value((*array)[i], items.emplace_back()); !done) {
      return at(std::move(done).error(), "[" + std::to_string(i) + "]");
    }
  }
  return {};
}

template <class T>
void write_value(JsonWriter& out, const std::map<std::string, T>& members) {
  out.begin_object();
  for (const auto& [key, value] : members) write_value(out.key(key), value);
  out.end_object();
}
template <class T>
Result<void> read_value(const Json& json, std::map<std::string, T>& members) {
  const JsonObject* object = json.as_object();
  if (object == nullptr) return wrong_type("an object", json);
  members.clear();
  for (const auto& [key, value] : *object) {
    if (auto done = read_value(value, members[key]); !done) return at(std::move(done).error(), key);
  }
  return {};
}

}  // namespace tertulia
