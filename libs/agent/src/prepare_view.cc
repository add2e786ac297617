// Step 2: what the model is shown.
#include <algorithm>
#include <utility>

#include "tertulia/conversation/json_forms.h"

#include "turn_work.h"

namespace tertulia {
namespace {

// What a provider adds to each message and to each tool beside their text, as the estimate counts it.
constexpr std::uint64_t kTokensPerMessage = 4;
constexpr std::uint64_t kTokensPerTool = 8;

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

Tokens tokens_of_tools(const TurnWork& work, const Tokenizer& tokenizer) {
  std::uint64_t tokens = 0;
  if (!work.options.tools) return {};
  for (const ToolEntry& entry : work.agent->tools->snapshot()->entries()) {
    const ToolDefinition& tool = entry.tool->definition();
    tokens += kTokensPerTool + tokenizer.count(tool.name) + tokenizer.count(tool.description) +
              tokenizer.count(tool.parameters.text());
  }
  return Tokens{tokens};
}

struct Budget {
  Tokens total{};
  Tokens system{};
  Tokens tools{};
  Tokens current{};
  Tokens reserve{};

  std::uint64_t fixed() const { return number(system + tools + current + reserve); }
  Tokens history() const { return Tokens{number(total) - fixed()}; }
};

Result<Budget> share_out(const TurnWork& work, const ModelInfo& info, const std::string& system) {
  const MemoryConfig& memory = work.agent->spec.memory;
  Budget budget;
  budget.total = work.options.budget.value_or(memory.max_working_memory_tokens);
  if (info.context_tokens > 0) budget.total = Tokens{std::min(number(budget.total), info.context_tokens)};
  budget.reserve = Tokens{std::min(number(memory.output_reserve), number(budget.total) / 4)};
  budget.tools = tokens_of_tools(work, *info.tokenizer);
  if (!system.empty()) budget.system = Tokens{info.tokenizer->count(system) + kTokensPerMessage};
  for (const std::string& text : work.shown) {
    budget.system = budget.system + Tokens{info.tokenizer->count(text) + kTokensPerMessage};
  }
  for (const Message& message : work.draft.messages()) {
    budget.current = budget.current + message.tokens() + Tokens{kTokensPerMessage};
  }
  if (budget.fixed() <= number(budget.total)) return budget;
  const auto facts = [&](Error error) {
    return std::move(error)
        .with("need", static_cast<std::int64_t>(budget.fixed()))
        .with("have", static_cast<std::int64_t>(number(budget.total)));
  };
  const bool too_long = number(budget.current) > number(budget.total);
  if (too_long) {
    return facts(Error(ErrorCode::kMessageExceedsContext,
                       "this turn alone holds " + std::to_string(number(budget.current)) +
                           " tokens, and a model call may hold " + std::to_string(number(budget.total))));
  }
  return facts(Error(ErrorCode::kBudgetTooSmall,
                     "system prompt, tools, message and answer need " + std::to_string(budget.fixed()) +
                         " tokens, and the budget is " + std::to_string(number(budget.total)) +
                         "; raise it, or show fewer tools"));
}

ReceiptItem item(Tier tier, std::string id, Tokens tokens, Fate fate = Fate::kKept,
                 FateReason reason = FateReason::kFits) {
  return {.tier = tier, .id = std::move(id), .tokens = tokens, .fate = fate, .reason = reason};
}

// One item for each tier: how much of the history was kept is told by its first message.
void add_receipt(TurnWork& work, const ModelInfo& info, const Budget& budget, const View& history) {
  Receipt receipt{.session = work.key.session,
                  .branch = work.branch,
                  .turn = work.live->id(),
                  .iteration = work.iteration,
                  .revision = work.revision,
                  .made_at = work.engine.env.clock().now(),
                  .model = info.name,
                  .budget = budget.total,
                  .output_reserve = budget.reserve,
                  .tokenizer = std::string(info.tokenizer->name()),
                  .exact = !info.tokenizer->is_estimate()};
  if (number(budget.system) > 0) receipt.items.push_back(item(Tier::kSystem, "system", budget.system));
  const std::uint64_t all = number(work.transcript.tokens());
  if (!history.empty()) {
    receipt.items.push_back(item(Tier::kHistory, "from:" + history.begin()->id().text(), history.tokens()));
  }
  if (number(history.tokens()) < all) {
    receipt.items.push_back(item(Tier::kHistory, "before", Tokens{all - number(history.tokens())},
                                 Fate::kDropped, FateReason::kBudget));
  }
  receipt.items.push_back(item(Tier::kCurrent, work.live->id().text(), budget.current));
  if (number(budget.tools) > 0) receipt.items.push_back(item(Tier::kTools, "tools", budget.tools));
  for (const ReceiptItem& kept : receipt.items) {
    if (kept.fate != Fate::kDropped) receipt.total = receipt.total + kept.tokens;
  }
  Event event;
  event.kind = EventKind::kReceipt;
  event.data = JsonText::parse(to_json(receipt)).value_or({});
  work.receipts.push_back(
      {.stream = {.kind = RecordKind::kReceipt, .branch = work.branch, .scope = work.live->id().text()},
       .number = work.receipts.size() + 1,
       .time = receipt.made_at,
       .key = {},
       .name = {},
       .payload = event.data.text()});
  work.live->log.add(std::move(event));
}

}  // namespace

Result<View> prepare_view(TurnWork& work) {
  const ModelInfo info = work.model().info(work.model_name());
  const std::string system = system_text(work);
  TERTULIA_TRY_AS(const Budget budget, share_out(work, info, system));
  View history = View(work.transcript).within(budget.history());
  Event iteration;
  iteration.kind = EventKind::kIteration;
  iteration.index = work.iteration;
  work.live->log.add(std::move(iteration));
  add_receipt(work, info, budget, history);
  View view = std::move(history);
  if (!system.empty()) {
    TERTULIA_TRY_AS(Message message, make_message(work, {.role = Role::kSystem,
                                                         .origin = Origin::kSynthetic,
                                                         .parts = {Part::text_of(system)}}));
    TERTULIA_TRY_AS(view, view.with_leading({std::move(message)}));
  }
  for (const std::string& text : std::exchange(work.shown, {})) {
    TERTULIA_TRY_AS(Message message, make_message(work, {.role = Role::kContext,
                                                         .origin = Origin::kSynthetic,
                                                         .parts = {Part::text_of(text)}}));
    TERTULIA_TRY_AS(view, view.with_trailing({std::move(message)}));
  }
  return view.with_trailing(work.draft);
}

}  // namespace tertulia
