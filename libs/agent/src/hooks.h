// Where a turn calls its middleware. An agent without any pays one comparison for each of these.
#pragma once

#include <exception>
#include <ranges>
#include <string>
#include <string_view>

#include "tertulia/agent/middleware.h"

#include "turn_work.h"

namespace tertulia {

// What a hook gave back, said as the turn must understand it: codes by which the engine knows its own store
// are not a hook's to use.
Error hook_error(const Middleware& middleware, std::string_view hook, Error error);
// Inside of a catch block: what was thrown.
Error hook_exception(const Middleware& middleware, std::string_view hook);

template <class Call>
Result<void> run_hook(Middleware& middleware, std::string_view hook, Call&& call) {
  try {
    Result<void> ran = call(middleware);
    if (!ran) return hook_error(middleware, hook, std::move(ran).error());
    return {};
  } catch (...) {
    return hook_exception(middleware, hook);
  }
}

// call(middleware, turn), in the order of registration; the first error ends it.
template <class Call>
Result<void> each_before(TurnWork& work, std::string_view hook, Call&& call) {
  if (work.agent->middleware.empty()) return {};
  TurnContext turn(work);
  for (const MiddlewarePtr& one : work.agent->middleware) {
    TERTULIA_TRY(run_hook(*one, hook, [&](Middleware& middleware) { return call(middleware, turn); }));
  }
  return {};
}

// The same in the reverse order.
template <class Call>
Result<void> each_after(TurnWork& work, std::string_view hook, Call&& call) {
  if (work.agent->middleware.empty()) return {};
  TurnContext turn(work);
  for (const MiddlewarePtr& one : std::views::reverse(work.agent->middleware)) {
    TERTULIA_TRY(run_hook(*one, hook, [&](Middleware& middleware) { return call(middleware, turn); }));
  }
  return {};
}

// Before it is stored. `agent` by itself: there is no turn yet.
Result<void> hook_input(const AgentDefinition& agent, Message& message);
Result<void> hook_before_turn(TurnWork& work);
Result<void> hook_after_turn(TurnWork& work, TurnStatus status);
Result<void> hook_before_iteration(TurnWork& work);
Result<void> hook_after_iteration(TurnWork& work);
Result<void> hook_after_tool_call(TurnWork& work, const PlannedCall& call, ToolAnswer& answer);
Result<void> hook_after_tool_batch(TurnWork& work);
void hook_error_told(TurnWork& work, const Error& error);

ToolCallPlan plan_of(const PlannedCall& call);

}  // namespace tertulia
