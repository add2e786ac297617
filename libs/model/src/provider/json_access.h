// Reading what providers send: what is not there, or of another type, reads as nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tertulia/base/json.h"

namespace tertulia {

inline const Json* member(const Json* value, std::string_view key) {
  const JsonObject* object = value == nullptr ? nullptr : value->as_object();
  const Json* found = object == nullptr ? nullptr : object->find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

template <class... Keys>
const Json* member(const Json* value, std::string_view key, Keys... keys) {
  return member(member(value, key), keys...);
}

inline std::string_view text_in(const Json* value) {
  if (value == nullptr || value->as_string() == nullptr) return {};
  return *value->as_string();
}
template <class... Keys>
std::string_view text_at(const Json* value, Keys... keys) {
  return text_in(member(value, keys...));
}

// Nothing if it is no whole number from 0 on.
template <class... Keys>
std::optional<std::uint64_t> count_at(const Json* value, Keys... keys) {
  const Json* found = member(value, keys...);
  if (found == nullptr || found->as_int() == nullptr || *found->as_int() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*found->as_int());
}

template <class... Keys>
const JsonArray& array_at(const Json* value, Keys... keys) {
  static const JsonArray kNone;
  const Json* found = member(value, keys...);
  return found == nullptr || found->as_array() == nullptr ? kNone : *found->as_array();
}

}  // namespace tertulia
