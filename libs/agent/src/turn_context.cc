#include "tertulia/agent/turn_context.h"

#include <exception>
#include <utility>

#include "turn_work.h"

namespace tertulia {

TurnContext::TurnContext(TurnWork& work)
    : work_(work),
      info_{.key = work.key,
            .branch = work.branch,
            .turn = work.live->id(),
            .agent = work.agent->spec.id,
            .iteration = work.iteration,
            .resumed = work.resumed} {}

const Transcript& TurnContext::transcript() const { return work_.transcript; }
std::span<const Message> TurnContext::messages() const { return work_.draft.messages(); }
const Usage& TurnContext::usage() const { return work_.usage; }
Time TurnContext::now() const { return work_.engine.env.clock().now(); }
const Log& TurnContext::log() const { return work_.engine.log; }

void TurnContext::show(std::string text) { work_.shown.push_back(std::move(text)); }
void TurnContext::answer_next() {
  work_.answer_next = true;
  work_.last_call = true;
}

Result<Message> TurnContext::make_message(MessageDraft draft) const {
  return tertulia::make_message(work_, std::move(draft));
}

Result<Message> TurnContext::with_parts(const Message& message, std::vector<Part> parts) const {
  return message_with_parts(work_, message, std::move(parts));
}

JsonText TurnContext::state(StateScope scope, const std::string& name) const {
  if (scope == StateScope::kBranch) {
    const auto found = work_.state.branch.find(name);
    return found == work_.state.branch.end() ? JsonText() : found->second;
  }
  if (const auto own = work_.state.session.find(name); own != work_.state.session.end()) return own->second;
  const MiddlewareState seen = work_.session_state();
  const auto found = seen.find(name);
  return found == seen.end() ? JsonText() : found->second;
}

Result<void> TurnContext::change_state(StateScope scope, const std::string& name, StateChange change) {
  MiddlewareState now{{name, state(scope, name)}};
  SessionChange named{.name = name, .change = std::move(change)};
  TERTULIA_TRY(apply_change(now, named));
  if (scope == StateScope::kBranch) {
    work_.state.branch[name] = std::move(now[name]);
    work_.state.branch_changed = true;
    return {};
  }
  work_.state.session[name] = std::move(now[name]);
  work_.state.session_changes.push_back(std::move(named));
  return {};
}

void TurnContext::warn_left_out(const std::string& name, const std::vector<std::string>& fields) const {
  if (!work_.state.told.insert(name).second) return;
  std::string list;
  for (const std::string& field : fields) list += (list.empty() ? "" : ", ") + field;
  log().warn("stored state holds fields that are not known any more; they are left out",
             {{"state", name}, {"fields", list}, {"session", work_.key.session}});
}

Result<void> apply_change(MiddlewareState& state, const SessionChange& change) {
  const auto found = state.find(change.name);
  try {
    TERTULIA_TRY_AS(JsonText changed, change.change(found == state.end() ? JsonText() : found->second));
    if (changed.empty()) {
      state.erase(change.name);
    } else {
      state[change.name] = std::move(changed);
    }
    return {};
  } catch (const TertuliaException& thrown) {
    return thrown.error();
  } catch (const std::exception& thrown) {
    return Error(ErrorCode::kToolFailed,
                 "the change of state '" + change.name + "' failed: " + thrown.what());
  }
}

}  // namespace tertulia
