// Fields: the members of an object that a client of OpenAI's sent. Such clients send null for what they leave
// out, and members that are newer than this program: the first is absent, the others are passed over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"

namespace tertulia::server {

// Errors: kMissingField, kWrongType, kOutOfRange, each with the path of the member in "param".
class Fields {
 public:
  // Refers to `object`. `path` leads the names of the members: "messages[2].".
  explicit Fields(const JsonObject& object, std::string path = {})
      : object_(object), path_(std::move(path)) {}

  // Null if it is absent, or null.
  const Json* find(std::string_view key) const;
  std::string param(std::string_view key) const { return path_ + std::string(key); }

  Result<std::string> text(std::string_view key) const;
  Result<std::string> text_or(std::string_view key, std::string other) const;
  Result<bool> flag_or(std::string_view key, bool other) const;
  Result<std::optional<double>> number(std::string_view key, double least, double most) const;
  Result<std::optional<std::int64_t>> integer(std::string_view key, std::int64_t least,
                                              std::int64_t most) const;
  // Null if it is absent.
  Result<const JsonArray*> array(std::string_view key) const;
  Result<const JsonObject*> object(std::string_view key) const;

  Error missing(std::string_view key) const;
  Error wrong_type(std::string_view key, std::string_view expected, const Json& got) const;
  Error unsupported(std::string_view key, std::string sentence) const;

 private:
  const JsonObject& object_;
  std::string path_;
};

// `value` as an object, or kWrongType.
Result<const JsonObject*> as_object(const Json& value, const std::string& param);

}  // namespace tertulia::server
