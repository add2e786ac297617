// Whatever the bytes: parse_json answers, and what it accepts is written and read back as the same value.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tertulia/base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tertulia;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Json> value = parse_json(text);
  if (!value) {
    TERTULIA_CHECK(!value.error().message().empty(), "an error has a sentence");
    return 0;
  }
  const std::string compact = to_text(*value);
  const Result<Json> again = parse_json(compact);
  TERTULIA_CHECK(again.ok() && *again == *value, "compact text reads back as the same value");
  TERTULIA_CHECK(parse_json(to_pretty_text(*value)).value() == *value,
                 "pretty text reads back as the same value");
  const std::string canonical = to_canonical_text(*value);
  TERTULIA_CHECK(to_canonical_text(parse_json(canonical).value()) == canonical,
                 "canonical text is a fixed point");
  return 0;
}
