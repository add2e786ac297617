// Two lines, a schema and a value: a check ends, and what it accepts does not depend on how often it is
// asked.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tertulia/base/utf8.h"
#include "tertulia/tools/json_schema.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tertulia;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = text.find('\n');
  const Result<Json> schema_json = parse_json(text.substr(0, line));
  if (!schema_json) return 0;
  const Result<JsonSchema> schema = JsonSchema::compile(*schema_json);
  if (!schema) {
    TERTULIA_CHECK(is_utf8(schema.error().message()), "an error is text");
    return 0;
  }
  Result<Json> value = parse_json(line == std::string_view::npos ? "{}" : text.substr(line + 1));
  if (!value) value = *schema_json;
  const auto problems = schema->check(*value);
  TERTULIA_CHECK(problems.size() <= 5, "no more problems than asked for");
  TERTULIA_CHECK(is_utf8(text_of(problems)), "problems are text");
  TERTULIA_CHECK(schema->check(*value, 1).empty() == problems.empty(),
                 "how many are asked for changes nothing");
  schema->fill_defaults(*value);
  return 0;
}
