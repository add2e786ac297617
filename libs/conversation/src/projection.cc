#include "tertulia/conversation/projection.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tertulia/conversation/view.h"

namespace tertulia {
namespace {

// What the name before somebody's words costs, about.
constexpr std::uint64_t kNameTokens = 3;

// The first message that the policy's limits leave, the message that comes now counted in.
std::size_t first_kept(const Transcript& branch, const Projection& projection, Tokens current) {
  const ConversationPolicy& policy = projection.policy;
  if (policy.context != ContextMode::kFull) return branch.size();
  std::size_t first = 0;
  if (policy.retention == Retention::kLatestOnly) first = branch.first_after(projection.before);
  const auto keep = [&](const View& view) { first = std::max(first, branch.size() - view.size()); };
  if (policy.max_turns) keep(View(branch).last_turns(std::max(*policy.max_turns, 1U) - 1));
  if (policy.max_tokens) {
    const std::uint64_t most = number(*policy.max_tokens);
    keep(View(branch).within(Tokens{most - std::min(most, number(current))}));
  }
  return first;
}

}  // namespace

bool is_by(const Message& message, const std::string& participant) {
  return (message.role() == Role::kAssistant || message.role() == Role::kTool) &&
         message.author() == participant;
}

MessageDraft draft_of(const Message& message) {
  MessageDraft draft{.id = message.id(),
                     .role = message.role(),
                     .time = message.time(),
                     .author = message.author(),
                     .origin = message.origin(),
                     .source = message.source(),
                     .source_id = message.source_id(),
                     .tokens = message.tokens(),
                     .counted = message.counted(),
                     .interrupted = message.interrupted(),
                     .internal = message.internal(),
                     .extra = message.extra()};
  for (std::size_t i = 0; i < message.part_count(); ++i) draft.parts.push_back(message.part(i));
  return draft;
}

Result<std::optional<Message>> as_heard(const Message& message, const std::string& participant) {
  if (is_by(message, participant)) return std::optional<Message>(message);
  if (message.role() == Role::kTool || message.role() == Role::kContext) return std::optional<Message>();
  if (message.role() == Role::kUser || message.role() == Role::kSystem)
    return std::optional<Message>(message);
  const std::string said = message.text_content();
  if (said.empty()) return std::optional<Message>();
  const std::string text = message.author().empty() ? said : std::string(message.author()) + ": " + said;
  MessageDraft draft = draft_of(message);
  draft.role = Role::kUser;
  draft.tokens = Tokens{number(message.tokens()) + kNameTokens};
  draft.parts = {Part::text_of(text)};
  TERTULIA_TRY_AS(Message made, Message::make(draft));
  return std::optional<Message>(std::move(made));
}

bool shows(const ConversationPolicy& policy, const Message& message) {
  if (message.internal() && !policy.show_internal) return false;
  if (message.role() == Role::kTool || message.has_tool_calls())
    return policy.admits(Role::kAssistant) && policy.admits(Role::kTool);
  return policy.admits(message.role());
}

bool shows_all(const Projection& projection) {
  const ConversationPolicy& policy = projection.policy;
  return projection.shared == 0 && policy.context == ContextMode::kFull &&
         policy.retention == Retention::kFullHistory && !policy.max_turns && !policy.max_tokens &&
         policy.roles.empty();
}

Result<Transcript> project(const Transcript& branch, const Projection& projection, Tokens current) {
  if (shows_all(projection)) return branch;
  Transcript shown;
  std::vector<Message> turn;
  Revision revision{};
  const auto close_turn = [&]() -> Result<void> {
    if (turn.empty()) return {};
    const TurnId id(turn.front().id().uuid());
    TERTULIA_TRY_AS(const Turn whole, Turn::from_messages(id, std::exchange(turn, {})));
    return shown.try_append(whole, revision);
  };
  for (std::size_t i = first_kept(branch, projection, current); i < branch.size(); ++i) {
    const Message& message = branch[i];
    if (const Revision its = branch.revision_at(i); its != revision) {
      TERTULIA_TRY(close_turn());
      revision = its;
    }
    // Behind the shared part others speak as users: what the policy says of their roles was done when they
    // were delivered.
    const bool shared = i < projection.shared;
    const bool own = message.role() == Role::kAssistant || message.role() == Role::kTool;
    if ((shared || own) && !shows(projection.policy, message)) continue;
    std::optional<Message> heard = message;
    if (shared) {
      TERTULIA_TRY_AS(heard, as_heard(message, projection.participant));
    }
    if (heard) turn.push_back(*std::move(heard));
  }
  TERTULIA_TRY(close_turn());
  return shown;
}

}  // namespace tertulia
