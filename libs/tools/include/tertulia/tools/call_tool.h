// call_tool: one call of a tool, from the text that a model wrote to the text that it reads.
//
// Whatever the model writes and whatever the tool does, there is one answer, and it is well-formed text of
// bounded length. Waiting too long and asking for permission are the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/done.h"
#include "tertulia/base/error_code.h"
#include "tertulia/tools/json_schema.h"
#include "tertulia/tools/tool.h"

namespace tertulia {

struct ToolLimits {
  // What the model is shown of one output; a longer one becomes an asset, whole. At least 1,024.
  // Default: 64 KiB.
  std::size_t result_bytes = 64 * 1024;
  // What a model may write as arguments. Default: 1 MiB.
  std::size_t argument_bytes = 1024 * 1024;
  // Of all assets of one call. What goes beyond it is left out, and the text says so. Default: 16 MiB.
  std::size_t asset_bytes = 16 * 1024 * 1024;
};

struct ToolAnswer {
  // Well-formed UTF-8 without control characters but tab, newline and return; at most result_bytes.
  std::string text;
  // kOk, kError, or kUnknown if the tool says so.
  ToolOutcome outcome = ToolOutcome::kOk;
  // Why it failed: kBadArguments, kToolFailed, or what the tool said.
  std::optional<ErrorCode> code{};
  // Why it failed, for a person; the model is not shown it. May be empty.
  std::string detail{};
  std::vector<ToolAsset> assets{};
  Duration duration{};
  bool end_conversation = false;
  // False: the tool was not asked, because its arguments were wrong.
  bool ran = true;

  bool succeeded() const { return outcome == ToolOutcome::kOk; }
};

// The arguments as a model wrote them, checked, with the defaults of the schema filled in. No text at all is
// taken for no arguments. kBadArguments with a sentence for the model: not JSON, not an object, not what the
// schema says (a line for each of the first problems), too long, too deep.
Result<Json> read_arguments(std::string_view text, const JsonSchema& schema, const ToolLimits& limits = {});

// The answer of a call that was not run because of `error`.
ToolAnswer refused_answer(const Error& error);

// Runs the tool with call.arguments, which have been read. `done` is called exactly once and never with an
// Error, on the thread on which the tool answers: an exception, an Error, an answer that never comes because
// the tool has dropped its completion, all are failed answers. Later answers of the same call are passed over
// and counted. The tool is kept alive until it has answered.
void run_tool(const ToolPtr& tool, ToolCall call, const ToolLimits& limits, Clock& clock,
              Done<ToolAnswer> done);

// read_arguments, and run_tool if they are right.
void call_tool(const ToolPtr& tool, const JsonSchema& schema, std::string_view arguments, ToolCall call,
               const ToolLimits& limits, Clock& clock, Done<ToolAnswer> done);

// How many answers of this process came after the first one of their call.
std::uint64_t repeated_tool_answers();

}  // namespace tertulia
