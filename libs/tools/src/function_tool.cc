#include "tertulia/tools/function_tool.h"

#include <cmath>
#include <exception>
#include <utility>

#include "tertulia/base/last_act.h"
#include "tertulia/tools/direct_call.h"

#include "once.h"

namespace tertulia {
namespace {

using Body = std::function<Result<ToolOutput>(const ToolCall&)>;
using AsyncBody = std::function<void(const ToolCall&, Done<ToolOutput>)>;

// Shared with the jobs that are under way, which may outlive the tool.
struct Parts {
  ToolDefinition definition;
  ToolOptions options;
  std::variant<Body, AsyncBody> body;
};
using PartsPtr = std::shared_ptr<const Parts>;

ToolOutput failure(const Parts& parts, const char* what) {
  ToolOutput output{.text = "tool '" + parts.definition.name + "' failed", .failed = true, .detail = what};
  if (parts.options.detailed_errors) output.text += ": " + output.detail;
  return output;
}

// Runs `work`; what it throws becomes what `failed` makes of it.
template <class Work, class Failed>
auto caught(const Work& work, const Failed& failed) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& exception) {
    return failed(exception.what());
  } catch (...) {
    return failed("an exception that is not a std::exception");
  }
}

// Does `work` on the workers of the call, or here where there are none, and answers with what it returns. A
// direct call's answer is the last that the job does.
template <class T, class Work>
void on_workers(ToolCall call, bool is_direct, Done<T> done, Work work) {
  Executor* workers = call.workers;
  auto job = [call = std::move(call), is_direct, done, work = std::move(work)] {
    if (Result<void> wanted = call.cancel.check(); !wanted) {
      done(std::move(wanted).error().in("before the tool began"));
      return;
    }
    // The answer is given outside of the try: what a completion throws is not the tool's.
    Result<T> result = work(call);
    const LastAct last(is_direct);
    done(std::move(result));
  };
  if (workers == nullptr) {
    job();
    return;
  }
  if (Result<void> posted = workers->post(std::move(job)); !posted) {
    done(std::move(posted).error().in("the tool was not run"));
  }
}

class FunctionTool final : public Tool {
 public:
  explicit FunctionTool(Parts parts) : parts_(std::make_shared<const Parts>(std::move(parts))) {}

  const ToolDefinition& definition() const override { return parts_->definition; }
  ToolClass tool_class() const override { return parts_->options.tool_class; }
  std::optional<Duration> timeout() const override { return parts_->options.timeout; }

  void run(ToolCall call, Done<ToolOutput> done) override {
    if (const auto* body = std::get_if<AsyncBody>(&parts_->body)) {
      run_async(*body, call, once(std::move(done)));
      return;
    }
    on_workers(std::move(call), DirectCall::is_to(*this), std::move(done),
               [parts = parts_](const ToolCall& given) -> Result<ToolOutput> {
                 return caught([&]() -> Result<ToolOutput> { return std::get<Body>(parts->body)(given); },
                               [&](const char* what) -> Result<ToolOutput> { return failure(*parts, what); });
               });
  }

  bool can_probe() const override { return parts_->options.probe != nullptr; }

  void probe(ToolCall call, Done<std::optional<ToolOutput>> done) override {
    if (!can_probe()) {
      Tool::probe(std::move(call), std::move(done));
      return;
    }
    using Answer = Result<std::optional<ToolOutput>>;
    on_workers(std::move(call), false, std::move(done), [parts = parts_](const ToolCall& given) -> Answer {
      return caught([&]() -> Answer { return parts->options.probe(given); },
                    [&](const char*) -> Answer {
                      return Error(ErrorCode::kToolFailed, "tool '" + parts->definition.name +
                                                               "' failed to find out what became of a call");
                    });
    });
  }

 private:
  void run_async(const AsyncBody& body, const ToolCall& call, const Done<ToolOutput>& done) {
    const PartsPtr parts = parts_;
    caught([&] { body(call, done); }, [&](const char* what) { done(failure(*parts, what)); });
  }

  const PartsPtr parts_;
};

ToolPtr make(std::string name, std::string description, const Json& parameters, ToolOptions options,
             std::variant<Body, AsyncBody> body) {
  ToolDefinition definition{std::move(name), std::move(description), JsonText::of(parameters)};
  return std::make_shared<FunctionTool>(Parts{std::move(definition), std::move(options), std::move(body)});
}

}  // namespace

ToolPtr make_raw_tool(std::string name, std::string description, Json parameters, Body body,
                      ToolOptions options) {
  return make(std::move(name), std::move(description), parameters, std::move(options), std::move(body));
}

ToolPtr make_raw_async_tool(std::string name, std::string description, Json parameters, AsyncBody body,
                            ToolOptions options) {
  return make(std::move(name), std::move(description), parameters, std::move(options), std::move(body));
}

ToolOutput output_of_number(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: whole numbers below it are exact
  if (std::abs(value) < kExact && value == std::floor(value)) {
    return {.text = std::to_string(static_cast<std::int64_t>(value))};
  }
  if (std::isfinite(value)) return {.text = to_text(Json(value))};
  return {.text = std::isnan(value) ? "the result is not a number" : "the result is infinite",
          .failed = true};
}

}  // namespace tertulia
