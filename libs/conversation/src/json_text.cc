#include "tertulia/conversation/json_text.h"

namespace tertulia {

Result<JsonText> JsonText::parse(std::string_view text) {
  TERTULIA_TRY_AS(Json value, parse_json(text));
  return of(value);
}

JsonText JsonText::of_fields(const JsonObject& fields) {
  return fields.empty() ? JsonText() : of(Json(fields));
}

Json JsonText::value() const {
  if (empty()) return {};
  // Deeper than parse() allows: of() takes any value.
  Result<Json> parsed = parse_json(text_, {.depth = 1'000, .values = 50'000'000});
  // What of() was given may hold what cannot be read back: a key twice, text that is not UTF-8.
  return parsed ? *std::move(parsed) : Json();
}

}  // namespace tertulia
