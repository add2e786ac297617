// Any text as the arguments that a model wrote: one answer, well-formed and within its limit; and whatever
// the schema lets through, the callable can read.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "tertulia/base/testing/sim_clock.h"
#include "tertulia/base/utf8.h"
#include "tertulia/tools/call_tool.h"
#include "tertulia/tools/toolkit.h"

namespace fuzzed {

enum class Unit : std::uint8_t { kCelsius, kFahrenheit };
TERTULIA_ENUM(Unit, {kCelsius, "celsius"}, {kFahrenheit, "fahrenheit"})

struct Inner {
  std::int8_t small;
  std::optional<double> number;
};
TERTULIA_FIELDS(Inner, small, number)

struct Arguments {
  std::string text;
  std::uint32_t count = 3;
  Unit unit = Unit::kFahrenheit;
  std::vector<Inner> list;
  std::map<std::string, bool> flags;
  tertulia::Json any;
};
TERTULIA_FIELDS(Arguments, text, (count, "", {.minimum = 1}), unit, (list, "", {.has_default = true}),
                (flags, "", {.has_default = true}), (any, "", {.has_default = true}))

}  // namespace fuzzed

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tertulia;
  static const ToolPtr tool = make_tool("echo", "", [](const fuzzed::Arguments& arguments) {
    // Strings as they are, so that anything a model can write also comes back as an output.
    return arguments.text + to_text(JsonType<fuzzed::Arguments>::write(arguments));
  });
  static const JsonSchema schema = check_definition(tool->definition()).value();
  static SimClock clock;
  int answers = 0;
  call_tool(tool, schema, {reinterpret_cast<const char*>(data), size}, {}, {.result_bytes = 1'024}, clock,
            [&](const Result<ToolAnswer>& answer) {
              ++answers;
              TERTULIA_CHECK(is_utf8(answer->text), "an answer is text");
              TERTULIA_CHECK(answer->text.find('\0') == std::string::npos, "an answer holds no NUL");
              TERTULIA_CHECK(!answer->ran || answer->text.size() <= 1'024, "an answer keeps its limit");
              TERTULIA_CHECK(!answer->ran || answer->code != ErrorCode::kBadArguments,
                             "what the schema lets through the callable can read");
            });
  TERTULIA_CHECK(answers == 1, "one answer for each call");
  return 0;
}
