// Middleware: code of yours in a turn.
//
//   class Greeter final : public Middleware {
//    public:
//     std::string_view name() const override { return "greeter"; }
//     Result<void> before_iteration(TurnContext& turn) override {
//       turn.show("Begin each answer with a greeting.");
//       return {};
//     }
//   };
//   AgentBuilder().with_middleware(std::make_shared<Greeter>())…
//
// Order
//   What was added first is outermost: before_… in the order of registration, after_… and on_error in the
//   reverse order, around_… the first one outside.
// Failures
//   An Error ends the turn; what a hook throws becomes one.
// Crashes
//   Hooks are not journaled; what they change is. What is stored is never given to a hook again, and what is
//   not stored is done again with its hooks (docs/guides/middleware.md).
// Concurrency
//   Hooks of one turn run one after the other, those of different turns at the same time, on threads of the
//   engine: they must not block. Work that takes time belongs into around_…, which answers when it likes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/agent/middleware_state.h"
#include "tertulia/agent/run.h"
#include "tertulia/agent/turn_context.h"
#include "tertulia/base/clock.h"
#include "tertulia/base/done.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/message.h"
#include "tertulia/model/language_model.h"
#include "tertulia/tools/call_tool.h"
#include "tertulia/tools/tool.h"

namespace tertulia {

// A call of a tool, before it runs. Only `arguments` and `answer` are heeded when they are changed.
struct ToolCallPlan {
  // Which call of the turn, counted from 0 over all its model responses.
  std::uint32_t number = 0;
  // The model's name for the call. Not unique.
  std::string call_id;
  std::string tool;
  // False: the agent has no such tool; the result will say so.
  bool known = false;
  ToolClass tool_class = ToolClass::kUnsafe;
  // JSON text of an object, not yet checked against the tool's schema.
  std::string arguments;
  // Set it, and the call does not run: nobody is asked for permission, and this is its result.
  std::optional<ToolAnswer> answer{};
};

// Goes on with a model call: the next middleware, at last the model. Copies are the same.
class NextModelCall {
 public:
  struct Chain;
  NextModelCall(std::shared_ptr<Chain> chain, std::size_t index);

  // May be called again after it has answered: what was told before is void, which the caller tells by a
  // delta of kind kRetry. After the end of the turn the answer is an error.
  void operator()(ModelCall call, Done<ModelResponse> done) const;
  // Calls `then` on a thread of the engine, after that time or when the turn is cancelled.
  void later(Duration time, std::function<void()> then) const;

 private:
  std::shared_ptr<Chain> chain_;
  std::size_t index_;
};

// Goes on with a tool call: the next middleware, at last the tool. Each attempt has the tool's whole timeout.
// Copies are the same.
class NextToolCall {
 public:
  struct Chain;
  NextToolCall(std::shared_ptr<Chain> chain, std::size_t index);

  // May be called again after it has answered, except for an unsafe tool, which never runs a second time:
  // then the answer says so.
  void operator()(Done<ToolAnswer> done) const;
  void later(Duration time, std::function<void()> then) const;

 private:
  std::shared_ptr<Chain> chain_;
  std::size_t index_;
};

class Middleware {
 public:
  virtual ~Middleware() = default;

  // For the log and for errors. Unique in an agent.
  virtual std::string_view name() const = 0;
  // Tools that come with it; the agent gets them.
  virtual std::vector<ToolPtr> tools() { return {}; }

  // Before a message to the agent is stored, for each message: the first of a turn and those that steer it.
  // There is no turn yet.
  virtual Result<void> on_input(Message& /*message*/) { return {}; }

  virtual Result<void> before_turn(TurnContext& /*turn*/) { return {}; }
  // Before the commit. kInterrupted: what went wrong is known, and an error only logged.
  virtual Result<void> after_turn(TurnContext& /*turn*/, TurnStatus /*status*/) { return {}; }

  // A round: a model call and the tools that it calls. A round that a crash cut has no second beginning.
  virtual Result<void> before_iteration(TurnContext& /*turn*/) { return {}; }
  virtual Result<void> after_iteration(TurnContext& /*turn*/) { return {}; }

  virtual Result<void> before_model_call(TurnContext& /*turn*/, ModelRequest& /*request*/) { return {}; }
  virtual Result<void> after_model_call(TurnContext& /*turn*/, ModelResponse& /*response*/) { return {}; }

  virtual Result<void> before_tool_batch(TurnContext& /*turn*/, std::span<ToolCallPlan> /*calls*/) {
    return {};
  }
  // Messages of role tool, in the order of the calls.
  virtual Result<void> after_tool_batch(TurnContext& /*turn*/, std::span<const Message> /*results*/) {
    return {};
  }

  // Not for a call that has its answer already.
  virtual Result<void> before_tool_call(TurnContext& /*turn*/, ToolCallPlan& /*call*/) { return {}; }
  virtual Result<void> after_tool_call(TurnContext& /*turn*/, const ToolCallPlan& /*call*/,
                                       ToolAnswer& /*answer*/) {
    return {};
  }

  // Not for a turn that was cancelled.
  virtual void on_error(TurnContext& /*turn*/, const Error& /*error*/) {}

  // From any thread; `done` exactly once, from any thread. The references live as long as `next`.
  virtual void around_model_call(const TurnInfo& /*turn*/, ModelCall call, NextModelCall next,
                                 Done<ModelResponse> done) {
    next(std::move(call), std::move(done));
  }
  virtual void around_tool_call(const TurnInfo& /*turn*/, const ToolCallPlan& /*call*/, NextToolCall next,
                                Done<ToolAnswer> done) {
    next(std::move(done));
  }
};

using MiddlewarePtr = std::shared_ptr<Middleware>;

}  // namespace tertulia
