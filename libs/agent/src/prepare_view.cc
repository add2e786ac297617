// Step 2: what the model is shown.
#include <algorithm>
#include <utility>

#include "tertulia/conversation/json_forms.h"
#include "tertulia/memory/overlay.h"
#include "tertulia/memory/working_memory.h"

#include "turn_work.h"

namespace tertulia {
namespace {

std::string system_text(const TurnWork& work) {
  const AgentSpec& spec = work.agent->spec;
  std::string text = spec.persona;
  const auto add = [&text](const std::string& more) {
    if (more.empty()) return;
    if (!text.empty()) text += "\n\n";
    text += more;
  };
  add(work.options.instructions.empty() ? spec.system_prompt : work.options.instructions);
  add(work.options.extra_instructions);
  return text;
}

Result<Assembled> assemble(const TurnWork& work, const ModelInfo& info,
                           const std::vector<ToolDefinition>& tools) {
  HistoryOverlay overlay;
  if (!work.projected) {
    TERTULIA_TRY_AS(overlay, overlay_in(work.state.branch));
  }
  const Transcript& history = work.projected ? *work.projected : work.transcript;
  return assemble_view({.system = system_text(work),
                        .tools = tools,
                        .history = history,
                        .current = work.draft.messages(),
                        .context = work.context,
                        .shown = work.shown,
                        .pins = overlay.pins_in(history),
                        .summary = overlay.summary_of(history),
                        .hidden_before = overlay.hidden_before,
                        .budget = work.options.budget,
                        .history_limit = work.history_limit,
                        .hard_limit = Tokens{info.context_tokens}},
                       work.agent->spec.memory, *info.tokenizer);
}

// Once for a turn: its history does not change while it runs.
Result<void> project_history(TurnWork& work) {
  const std::optional<Projection>& projection = work.options.projection;
  if (!projection || shows_all(*projection) || work.projected) return {};
  std::uint64_t current = 0;
  for (const Message& message : work.draft.messages()) {
    if (message.role() == Role::kUser) current += number(message.tokens());
  }
  TERTULIA_TRY_AS(work.projected, project(work.transcript, *projection, Tokens{current}));
  return {};
}

Event iteration_event(const TurnWork& work) {
  Event event;
  event.kind = EventKind::kIteration;
  event.index = work.iteration;
  return event;
}

}  // namespace

Task<Result<View>> prepare_view(TurnWork& work) {
  TERTULIA_CO_TRY_AS(const ModelInfo info, info_of_model(work));
  TERTULIA_CO_TRY(project_history(work));
  std::vector<ToolDefinition> tools;
  if (work.options.tools) tools = work.agent->tools->snapshot()->definitions();
  TERTULIA_CO_TRY_AS(Assembled made, assemble(work, info, tools));
  // Once for a turn: a summary that failed is not asked for again.
  if (made.summarise_before > 0 && !work.projected && !std::exchange(work.summarised, true)) {
    if (co_await summarise_history(work, made.summarise_before)) {
      TERTULIA_CO_TRY_AS(made, assemble(work, info, tools));
    }
  }
  work.shown.clear();
  work.live->log.add(iteration_event(work));
  work.receipt = std::move(made.receipt);
  work.receipt.model = info.name;
  work.receipt.iteration = work.iteration;
  // Those of the model call before this one are mostly the same.
  for (PromptPart& part : made.parts) {
    if (work.trail->stored.contains(part.hash)) continue;
    if (std::ranges::find(work.prompt_parts, part.hash, &PromptPart::hash) != work.prompt_parts.end())
      continue;
    work.prompt_parts.push_back(std::move(part));
  }
  co_return made.view.with_trailing(work.draft);
}

void tell_receipt(TurnWork& work, const ModelRequest& request) {
  Receipt& receipt = work.receipt;
  work.history_tokens = tokens_in(receipt, Tier::kHistory);
  if (!work.durable && !work.options.receipts) {
    receipt = {};
    return;
  }
  receipt.session = work.key.session;
  receipt.branch = work.branch;
  receipt.turn = work.live->id();
  receipt.revision = work.revision;
  receipt.made_at = work.engine.env.clock().now();
  PromptTrail::Followed followed = work.trail->follow(receipt.model, request.view, request.tools);
  receipt.prompt_hash = std::move(followed.hash);
  if (followed.shared) receipt.shared_prefix = *followed.shared;
  std::string text = to_json(receipt);
  // It stays as long as the turn does.
  text.shrink_to_fit();
  Event event;
  event.kind = EventKind::kReceipt;
  event.data = JsonText::written(std::move(text));
  work.live->log.add(std::move(event));
  // While it waits for its model a turn needs it no more.
  receipt = {};
}

void keep_receipts(TurnWork& work) {
  std::uint64_t number = 0;
  for (const Event& event : work.live->log.told(EventKind::kReceipt)) {
    work.receipts.push_back(
        {.stream = {.kind = RecordKind::kReceipt, .branch = work.branch, .scope = work.live->id().text()},
         .number = ++number,
         .time = event.time,
         .key = {},
         .name = {},
         .payload = event.data.text()});
  }
}

Task<Result<void>> keep_prompt_parts(TurnWork& work) {
  std::size_t count = 0;
  for (const PromptPart& part : work.prompt_parts) {
    if (!work.trail->stored.insert(part.hash).second) continue;
    if (!work.trail->fresh) {
      RecordQuery query{.tenant = work.key.tenant,
                        .owner = work.key.owner,
                        .session = work.key.session,
                        .kind = RecordKind::kReceipt,
                        .branch = work.branch,
                        .name = part.hash,
                        .limit = 1};
      TERTULIA_CO_TRY_AS(const RecordPage page, co_await await<RecordPage>([&](Done<RecordPage> done) {
                           work.engine.store->read_records(query, std::move(done));
                         }));
      if (!page.records.empty()) continue;
    }
    work.receipts.push_back(
        prompt_part_record(work.branch, work.live->id(), ++count, part, work.engine.env.clock().now()));
  }
  work.prompt_parts.clear();
  co_return Result<void>();
}

}  // namespace tertulia
