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
  TERTULIA_CHECK(parsed.ok(), "the text of a JsonText was written by to_text");
  return *std::move(parsed);
}

}  // namespace tertulia
