// JsonText: a JSON value kept as its text, because it is only carried, not looked into.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"

namespace tertulia {

// Always the text that to_text() writes, so equal values have equal text and a form that holds one can be
// written without parsing it. A default-made one is empty and stands for "nothing there".
class JsonText {
 public:
  JsonText() = default;

  // Checks the text and brings it into the written form. Errors of parse_json.
  static Result<JsonText> parse(std::string_view text);
  static JsonText of(const Json& value) { return JsonText(to_text(value)); }
  // Of what to_json() or append_json() wrote, which is in that form already: it is not looked at again.
  static JsonText written(std::string text) { return JsonText(std::move(text)); }
  // Empty for an object without members.
  static JsonText of_fields(const JsonObject& fields);

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

  // The value; null if there is nothing there.
  Json value() const;

  bool operator==(const JsonText&) const = default;

 private:
  explicit JsonText(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

}  // namespace tertulia
