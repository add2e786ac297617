// Any bytes as an expression: a value or a sentence with a position, in bounded time.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tertulia/base/utf8.h"
#include "tertulia/tools/calculator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tertulia;
  const Result<std::string> value = calculate({reinterpret_cast<const char*>(data), size});
  if (!value) {
    TERTULIA_CHECK(value.error().code() == ErrorCode::kBadArguments, "only the expression can be wrong");
    TERTULIA_CHECK(is_utf8(value.error().message()), "an error is text");
    return 0;
  }
  TERTULIA_CHECK(!value->empty(), "a value has digits");
  // What it writes it reads, and as the same number.
  const Result<std::string> again = calculate(*value);
  TERTULIA_CHECK(again.ok(), "a value is an expression");
  const Result<std::string> difference = calculate(*value + "-(" + *again + ")");
  TERTULIA_CHECK(difference.ok() && *difference == "0", "a value reads back as itself");
  return 0;
}
