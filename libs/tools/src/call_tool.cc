#include "tertulia/tools/call_tool.h"

#include <atomic>
#include <exception>
#include <utility>

#include "tertulia/base/run_safely.h"

#include "tool_text.h"

namespace tertulia {
namespace {

std::atomic<std::uint64_t> repeated_answers = 0;

Error bad_arguments(std::string sentence) {
  return Error(ErrorCode::kBadArguments,
               "the arguments are wrong and the tool was not run: " + std::move(sentence));
}

// One call under way. Shared by the copies of the completion that the tool was given; when the last of them
// goes without an answer, there will be none, and that is the answer.
class Call {
 public:
  Call(ToolPtr tool, std::string key, const ToolLimits& limits, Clock& clock, Done<ToolAnswer> done)
      : tool_(std::move(tool)),
        key_(std::move(key)),
        limits_(limits),
        clock_(clock),
        began_(clock.instant()),
        done_(std::move(done)) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (answered_) return;
    run_safely("whoever waits for a tool",
               [this] { answer(failure("the tool has dropped its completion")); });
  }

  void answer(Result<ToolOutput> result) {
    if (answered_.exchange(true)) {
      ++repeated_answers;
      return;
    }
    ToolAnswer answer = result ? of_output(*std::move(result)) : of_error(result.error());
    answer.duration = clock_.instant() - began_;
    fit_answer(answer, tool_->definition().name, key_, limits_);
    done_(std::move(answer));
  }

  ToolOutput failure(const char* detail) const {
    return {.text = "tool '" + tool_->definition().name + "' failed", .failed = true, .detail = detail};
  }

 private:
  static ToolAnswer of_output(ToolOutput output) {
    ToolAnswer answer{.text = std::move(output.text),
                      .detail = std::move(output.detail),
                      .assets = std::move(output.assets),
                      .end_conversation = output.end_conversation};
    if (output.failed || output.unknown) {
      answer.outcome = output.unknown ? ToolOutcome::kUnknown : ToolOutcome::kError;
      answer.code = ErrorCode::kToolFailed;
    }
    return answer;
  }

  static ToolAnswer of_error(const Error& error) {
    return {.text = error.message(), .outcome = ToolOutcome::kError, .code = error.code()};
  }

  const ToolPtr tool_;
  const std::string key_;
  const ToolLimits limits_;
  Clock& clock_;
  const Instant began_;
  const Done<ToolAnswer> done_;
  std::atomic<bool> answered_ = false;
};

}  // namespace

Result<Json> read_arguments(std::string_view text, const JsonSchema& schema, const ToolLimits& limits) {
  if (text.size() > limits.argument_bytes) {
    return bad_arguments("they have " + std::to_string(text.size()) + " bytes, and " +
                         std::to_string(limits.argument_bytes) + " are allowed");
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) text = "{}";
  Result<Json> arguments = parse_json(text);
  if (!arguments) return bad_arguments(arguments.error().message());
  if (arguments->as_object() == nullptr) return bad_arguments(expected("object", *arguments).sentence);
  schema.fill_defaults(*arguments);
  const std::vector<JsonProblem> problems = schema.check(*arguments);
  if (problems.empty()) return arguments;
  return bad_arguments(text_of(problems)).with("param", problems.front().pointer);
}

ToolAnswer refused_answer(const Error& error) {
  ToolAnswer answer{
      .text = error.message(), .outcome = ToolOutcome::kError, .code = error.code(), .ran = false};
  fit_answer(answer, "refused", "", {});
  return answer;
}

void run_tool(const ToolPtr& tool, ToolCall call, const ToolLimits& limits, Clock& clock,
              Done<ToolAnswer> done) {
  const auto state = std::make_shared<Call>(tool, call.key, limits, clock, std::move(done));
  try {
    tool->run(std::move(call), [state](Result<ToolOutput> result) { state->answer(std::move(result)); });
  } catch (const std::exception& exception) {
    state->answer(state->failure(exception.what()));
  } catch (...) {
    state->answer(state->failure("an exception that is not a std::exception"));
  }
}

void call_tool(const ToolPtr& tool, const JsonSchema& schema, std::string_view arguments, ToolCall call,
               const ToolLimits& limits, Clock& clock, Done<ToolAnswer> done) {
  Result<Json> read = read_arguments(arguments, schema, limits);
  if (!read) {
    done(refused_answer(read.error()));
    return;
  }
  call.arguments = *std::move(read);
  run_tool(tool, std::move(call), limits, clock, std::move(done));
}

std::uint64_t repeated_tool_answers() { return repeated_answers; }

}  // namespace tertulia
