// Steps 4 and 5: which calls of a response run, and that they are about to.
#include "hooks.h"
#include "question_record.h"
#include "turn_work.h"

namespace tertulia {
PlannedCall planned_call(const ToolSetPtr& tools, const Part& part, std::uint32_t number) {
  PlannedCall call;
  call.number = number;
  call.call_id = part.call_id;
  call.name = part.name;
  call.arguments = part.text;
  const Result<const ToolEntry*> entry = tools->get(call.name);
  if (!entry) {
    call.refusal = entry.error().message();
    return call;
  }
  call.tool = std::shared_ptr<const ToolEntry>(tools, *entry);
  call.tool_class = call.tool->tool->tool_class();
  return call;
}

void plan_calls(TurnWork& work) {
  const ToolSetPtr tools = work.options.tools ? work.agent->tools->snapshot() : std::make_shared<ToolSet>();
  for (std::size_t i = 0; i < work.response->part_count(); ++i) {
    const Part part = work.response->part(i);
    if (part.kind != PartKind::kToolCall) continue;
    work.calls.push_back(planned_call(tools, part, work.call_count++));
  }
}

namespace {

// Puts the arguments of the plan into the response, so that everybody reads the same.
Result<void> put_arguments(TurnWork& work) {
  std::vector<Part> parts;
  std::size_t call = 0;
  for (std::size_t i = 0; i < work.response->part_count(); ++i) {
    Part part = work.response->part(i);
    if (part.kind == PartKind::kToolCall) part.text = work.calls[call++].arguments;
    parts.push_back(part);
  }
  TERTULIA_TRY_AS(work.response, message_with_parts(work, *work.response, std::move(parts)));
  return {};
}

// The result that middleware gave in place of the tool.
Result<void> give_result(TurnWork& work, PlannedCall& call, ToolAnswer answer) {
  call.called_at = work.engine.env.clock().now();
  TERTULIA_TRY(hook_after_tool_call(work, call, answer));
  TERTULIA_TRY_AS(Message result, result_message(work, call, answer.text, answer.outcome));
  if (answer.end_conversation) work.ended = EndReason::kAgentDecision;
  tell_result(work, call, answer.text, answer.outcome);
  record_call(work, call, answer.text, answer.outcome);
  work.given_results.emplace_back(IntentNote{.call = call.number, .tool_class = call.tool_class});
  work.given_results.emplace_back(
      ResultNote{.call = call.number, .message = result, .end_conversation = answer.end_conversation});
  call.result = std::move(result);
  return {};
}

// Takes over what hooks have changed.
Result<void> take_plans(TurnWork& work, std::vector<ToolCallPlan>& plans) {
  bool changed = false;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    PlannedCall& call = work.calls[i];
    if (call.arguments == plans[i].arguments) continue;
    TERTULIA_TRY_AS(const Json arguments, parse_json(plans[i].arguments));
    if (arguments.as_object() == nullptr) {
      return Error(ErrorCode::kWrongType,
                   "the arguments that middleware gave to tool '" + call.name + "' are no object");
    }
    call.arguments = plans[i].arguments;
    changed = true;
  }
  if (changed) TERTULIA_TRY(put_arguments(work));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].answer) TERTULIA_TRY(give_result(work, work.calls[i], *std::move(plans[i].answer)));
  }
  return {};
}

}  // namespace

Result<void> plan_tools(TurnWork& work) {
  // A turn that was resumed has its plan: what was noted stays as it was noted.
  if (!work.calls.empty()) return {};
  plan_calls(work);
  if (work.agent->middleware.empty()) return {};
  std::vector<ToolCallPlan> plans;
  for (const PlannedCall& call : work.calls) plans.push_back(plan_of(call));
  TERTULIA_TRY(each_before(work, "before_tool_batch", [&](Middleware& one, TurnContext& turn) {
    return one.before_tool_batch(turn, plans);
  }));
  for (ToolCallPlan& plan : plans) {
    TERTULIA_TRY(each_before(work, "before_tool_call", [&](Middleware& one, TurnContext& turn) {
      return plan.answer ? Result<void>() : one.before_tool_call(turn, plan);
    }));
  }
  return take_plans(work, plans);
}

std::vector<JournalEntry::Step> unnoted_response(TurnWork& work) {
  std::vector<JournalEntry::Step> steps;
  if (work.response_noted) return steps;
  steps.emplace_back(response_note(work, *work.response));
  for (JournalEntry::Step& step : work.given_results) steps.push_back(std::move(step));
  work.given_results.clear();
  return steps;
}

Task<Result<void>> note_intents(TurnWork& work) {
  std::vector<JournalEntry::Step> steps = unnoted_response(work);
  NoteChanges more;
  for (PlannedCall& call : work.calls) {
    if (call.result) continue;
    // The answer is used up with the intent; a denial stands until the commit.
    if (call.asked && !call.denied) {
      more.emplace_back(
          DropRecords{.stream = question_stream(work.branch, work.live->id(), call.number), .up_to = 0});
    }
    if (call.tool == nullptr || call.denied || call.recovery == Recovery::kUnknown) continue;
    steps.emplace_back(
        IntentNote{.call = call.number, .tool_class = call.tool_class, .approval = call.approval});
  }
  if (steps.empty() && more.empty()) co_return Result<void>();
  TERTULIA_CO_TRY(co_await work.writer.note(std::move(steps), std::move(more)));
  work.response_noted = true;
  co_return Result<void>();
}

}  // namespace tertulia
