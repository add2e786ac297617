// Members of JSON that a peer wrote, taken as they are or as nothing.
#pragma once

#include <string>
#include <string_view>

#include "tertulia/base/json.h"

namespace tertulia {

inline const Json* member_of(const Json& value, std::string_view key) {
  const JsonObject* object = value.as_object();
  return object == nullptr ? nullptr : object->find(key);
}

inline std::string text_of(const Json& value, std::string_view key) {
  const Json* found = member_of(value, key);
  const std::string* text = found == nullptr ? nullptr : found->as_string();
  return text == nullptr ? std::string() : *text;
}

inline bool flag_of(const Json& value, std::string_view key) {
  const Json* found = member_of(value, key);
  return found != nullptr && *found == Json(true);
}

inline const JsonArray& list_of(const Json& value, std::string_view key) {
  static const JsonArray& none = *new JsonArray;
  const Json* found = member_of(value, key);
  const JsonArray* list = found == nullptr ? nullptr : found->as_array();
  return list == nullptr ? none : *list;
}

}  // namespace tertulia
