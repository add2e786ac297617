// The message that a turn begins with: as middleware lets it in, weighed, and refused while nothing has been
// done for it if no model call could hold it.
#include <span>
#include <utility>

#include "tertulia/conversation/add_messages.h"
#include "tertulia/memory/working_memory.h"

#include "hooks.h"
#include "turn_work.h"

namespace tertulia {
namespace {

Result<void> check_fits(const TurnWork& work, std::span<const Message> input) {
  TERTULIA_TRY_AS(const ModelInfo info, info_of_model(work));
  return check_turn_fits(
      {.current = input, .budget = work.options.budget, .hard_limit = Tokens{info.context_tokens}},
      work.agent->spec.memory, *info.tokenizer);
}

}  // namespace

std::uint32_t calls_in(const Message& response) {
  std::uint32_t calls = 0;
  for (std::size_t i = 0; i < response.part_count(); ++i) {
    if (response.part(i).kind == PartKind::kToolCall) ++calls;
  }
  return calls;
}

Task<Result<std::vector<Message>>> take_input(TurnWork& work, std::vector<Message> input) {
  for (Message& message : input) TERTULIA_CO_TRY(hook_input(*work.agent, message));
  TERTULIA_CO_TRY(co_await weigh_assets(work, input));
  TERTULIA_CO_TRY(check_fits(work, input));
  // Calls in it have numbers like those that the turn makes itself.
  for (const Message& message : input) work.call_count += calls_in(message);
  TERTULIA_CO_TRY(add_messages(work.draft, input));
  co_return input;
}

}  // namespace tertulia
