#include "hooks.h"

#include <utility>

namespace tertulia {
namespace {

// Why the turn leaves its branch as it is, without a word in the store: never a hook's to say.
bool is_the_engines(ErrorCode code) {
  return code == ErrorCode::kLeaseLost || code == ErrorCode::kStorageIo || code == ErrorCode::kStorageFull ||
         code == ErrorCode::kClosed;
}

std::string place(const Middleware& middleware, std::string_view hook) {
  return "middleware '" + std::string(middleware.name()) + "', " + std::string(hook);
}

}  // namespace

Error hook_error(const Middleware& middleware, std::string_view hook, Error error) {
  const std::string where = place(middleware, hook);
  if (!is_the_engines(error.code())) return std::move(error).in(where);
  return Error(ErrorCode::kToolFailed, where + ": " + error.message());
}

Error hook_exception(const Middleware& middleware, std::string_view hook) {
  try {
    throw;
  } catch (const TertuliaException& thrown) {
    return hook_error(middleware, hook, thrown.error());
  } catch (const std::exception& thrown) {
    return Error(ErrorCode::kToolFailed, place(middleware, hook) + ": " + thrown.what());
  } catch (...) {
    return Error(ErrorCode::kToolFailed, place(middleware, hook) + " threw something that is no exception");
  }
}

Result<void> hook_input(const AgentDefinition& agent, Message& message) {
  for (const MiddlewarePtr& one : agent.middleware) {
    TERTULIA_TRY(
        run_hook(*one, "on_input", [&](Middleware& middleware) { return middleware.on_input(message); }));
  }
  return {};
}

Result<void> hook_before_turn(TurnWork& work) {
  return each_before(work, "before_turn",
                     [](Middleware& one, TurnContext& turn) { return one.before_turn(turn); });
}

Result<void> hook_after_turn(TurnWork& work, TurnStatus status) {
  if (status == TurnStatus::kCommitted) {
    return each_after(work, "after_turn",
                      [=](Middleware& one, TurnContext& turn) { return one.after_turn(turn, status); });
  }
  // It is closed whatever they say, and each of them is told.
  return each_after(work, "after_turn", [&](Middleware& one, TurnContext& turn) -> Result<void> {
    const Result<void> ran =
        run_hook(one, "after_turn", [&](Middleware& same) { return same.after_turn(turn, status); });
    if (!ran) work.engine.log.warn("middleware failed", {{"what", ran.error().message()}});
    return {};
  });
}

Result<void> hook_before_iteration(TurnWork& work) {
  work.shown.clear();
  return each_before(work, "before_iteration",
                     [](Middleware& one, TurnContext& turn) { return one.before_iteration(turn); });
}

Result<void> hook_after_iteration(TurnWork& work) {
  return each_after(work, "after_iteration",
                    [](Middleware& one, TurnContext& turn) { return one.after_iteration(turn); });
}

Result<void> hook_after_tool_call(TurnWork& work, const PlannedCall& call, ToolAnswer& answer) {
  if (work.agent->middleware.empty()) return {};
  const ToolCallPlan plan = plan_of(call);
  return each_after(work, "after_tool_call", [&](Middleware& one, TurnContext& turn) {
    return one.after_tool_call(turn, plan, answer);
  });
}

Result<void> hook_after_tool_batch(TurnWork& work) {
  if (work.agent->middleware.empty()) return {};
  std::vector<Message> results;
  for (const PlannedCall& call : work.calls) results.push_back(*call.result);
  return each_after(work, "after_tool_batch",
                    [&](Middleware& one, TurnContext& turn) { return one.after_tool_batch(turn, results); });
}

void hook_error_told(TurnWork& work, const Error& error) {
  const Result<void> ran =
      each_after(work, "on_error", [&](Middleware& one, TurnContext& turn) -> Result<void> {
        const Result<void> told = run_hook(one, "on_error", [&](Middleware& same) -> Result<void> {
          same.on_error(turn, error);
          return {};
        });
        if (!told) work.engine.log.warn("middleware failed", {{"what", told.error().message()}});
        return {};
      });
  (void)ran;
}

ToolCallPlan plan_of(const PlannedCall& call) {
  return {.number = call.number,
          .call_id = call.call_id,
          .tool = call.name,
          .known = call.tool != nullptr,
          .tool_class = call.tool_class,
          .arguments = call.arguments};
}

}  // namespace tertulia
