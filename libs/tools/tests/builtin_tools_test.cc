#include "tertulia/tools/builtin_tools.h"

#include <gtest/gtest.h>

#include "tertulia/base/testing/sim_clock.h"
#include "tertulia/tools/call_tool.h"

namespace tertulia {
namespace builtin_tools_test {

class BuiltinTools : public testing::Test {
 protected:
  ToolAnswer call(std::string_view name, std::string_view arguments) {
    ToolRegistry registry;
    registry.add(builtin_tools(clock_)).value();
    const ToolSetPtr set = registry.snapshot();
    const ToolEntry* entry = set->get(name).value();
    return wait<ToolAnswer>([&](Done<ToolAnswer> done) {
             call_tool(entry->tool, entry->schema, arguments, {}, {}, clock_, std::move(done));
           })
        .value();
  }

  SimClock clock_;
};

TEST_F(BuiltinTools, TheCalculatorCalculates) {
  EXPECT_EQ(call("calculator", R"({"expression":"(10 + 20) * 5"})").text, "150");
  const ToolAnswer wrong = call("calculator", R"({"expression":"1/0"})");
  EXPECT_EQ(wrong.code, ErrorCode::kBadArguments);
  EXPECT_EQ(wrong.text, "the expression is wrong at position 2: division by zero");
  EXPECT_FALSE(call("calculator", R"({"expression":""})").ran);
}

TEST_F(BuiltinTools, TheClockTellsTheTimeOfItsClock) {
  EXPECT_EQ(call("clock", "").text,
            R"({"time":"2025-01-01T00:00:00Z","weekday":"Wednesday","unix":1735689600})");
  EXPECT_EQ(call("clock", R"({"utc_offset":"-05:30"})").text,
            R"({"time":"2024-12-31T18:30:00-05:30","weekday":"Tuesday","unix":1735689600})");
  EXPECT_EQ(call("clock", R"({"utc_offset":"+2"})").text,
            R"({"time":"2025-01-01T02:00:00+02:00","weekday":"Wednesday","unix":1735689600})");
  clock_.set(Time(Duration(-1)));
  EXPECT_EQ(call("clock", R"({"utc_offset":null})").text,
            R"({"time":"1969-12-31T23:59:59Z","weekday":"Wednesday","unix":-1})");
}

TEST_F(BuiltinTools, TheClockRefusesWhatIsNoOffset) {
  for (const char* offset : {"Madrid", "2", "+25:00", "+1:", "+02:60", "+123", "+aa", "--1", "+14:01"}) {
    const ToolAnswer answer = call("clock", std::string(R"({"utc_offset":")") + offset + "\"}");
    EXPECT_EQ(answer.code, ErrorCode::kBadArguments) << offset << " " << answer.text;
  }
  EXPECT_TRUE(call("clock", R"({"utc_offset":"+1400"})").succeeded());
}

TEST_F(BuiltinTools, TheConversationEndsWhenItIsAskedTo) {
  const ToolAnswer answer = call("end_conversation", R"({"reason":"goodbye"})");
  EXPECT_TRUE(answer.succeeded());
  EXPECT_TRUE(answer.end_conversation);
  EXPECT_TRUE(call("end_conversation", "").end_conversation);
}

TEST_F(BuiltinTools, NoneOfThemFearsACrash) {
  const Toolkit kit = builtin_tools(clock_);
  for (const ToolPtr& tool : kit.tools()) {
    EXPECT_NE(tool->tool_class(), ToolClass::kUnsafe) << tool->definition().name;
  }
}

}  // namespace builtin_tools_test
}  // namespace tertulia
