#include "node_call.h"

#include <utility>

#include "engine_parts.h"

namespace tertulia {

void NodeCall::send(WorkflowMessage message) {
  message.source = node_.id;
  effects_.sends.push_back(std::move(message));
}

std::optional<Json> NodeCall::state(std::string_view key) const {
  for (auto change = effects_.changes.rbegin(); change != effects_.changes.rend(); ++change) {
    if (change->key == key) return change->value;
  }
  const auto found = view_.state->values.find(key);
  if (found == view_.state->values.end()) return std::nullopt;
  return found->second;
}

void NodeCall::set_state(std::string key, Json value) {
  effects_.changes.push_back({.key = std::move(key), .value = std::move(value)});
}

Result<void> NodeCall::erase_state(std::string_view key) {
  if (!state(key)) {
    return Error(ErrorCode::kNotFound,
                 "the state has no '" + std::string(key) + "' that '" + node_.id + "' could erase");
  }
  effects_.changes.push_back({.key = std::string(key), .value = std::nullopt});
  return {};
}

std::string NodeCall::request(Json what, std::string inner) {
  std::string id =
      std::to_string(view_.step) + "." + node_.id + "." + std::to_string(effects_.requests.size());
  effects_.requests.push_back({.id = id,
                               .node = node_.id,
                               .data = std::move(what),
                               .asked_at = view_.parts->clock().now(),
                               .inner = std::move(inner)});
  return id;
}

Result<void> NodeCall::say(std::string_view text) {
  TERTULIA_TRY_AS(Message message, Message::make({.id = MessageId(view_.parts->uuids.make()),
                                                  .role = Role::kAssistant,
                                                  .time = view_.parts->clock().now(),
                                                  .author = node_.id,
                                                  .origin = Origin::kSynthetic,
                                                  .parts = {Part::text_of(text)}}));
  effects_.said.push_back(std::move(message));
  return {};
}

void NodeCall::say(std::vector<Message> messages) {
  for (Message& message : messages) effects_.said.push_back(std::move(message));
}

void NodeCall::tell(Event event) {
  if (node_.internal) event.internal = true;
  if (event.internal && !view_.options->show_internal) return;
  view_.log->add(std::move(event));
}

void NodeCall::warn(std::string sentence) {
  Event event;
  event.kind = EventKind::kWarning;
  event.name = node_.id;
  event.text = std::move(sentence);
  view_.log->add(std::move(event));
}

}  // namespace tertulia
