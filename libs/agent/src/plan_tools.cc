// Steps 4 and 5: which calls of a response run, and that they are about to.
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

void plan_tools(TurnWork& work) {
  // A turn that was resumed has its plan: what was noted stays as it was noted.
  if (!work.calls.empty()) return;
  const ToolSetPtr tools = work.options.tools ? work.agent->tools->snapshot() : std::make_shared<ToolSet>();
  for (std::size_t i = 0; i < work.response->part_count(); ++i) {
    const Part part = work.response->part(i);
    if (part.kind != PartKind::kToolCall) continue;
    work.calls.push_back(planned_call(tools, part, work.call_count++));
  }
}

Task<Result<void>> note_intents(TurnWork& work) {
  std::vector<JournalEntry::Step> steps;
  NoteChanges more;
  if (!work.response_noted) steps.emplace_back(ResponseNote{*work.response});
  for (PlannedCall& call : work.calls) {
    if (call.result) continue;
    // The answer is used up with the intent.
    if (call.asked) {
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
