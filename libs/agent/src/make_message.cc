#include "tertulia/memory/working_memory.h"

#include "turn_work.h"

namespace tertulia {

Result<ModelInfo> info_of_model(const TurnWork& work) {
  ModelInfo info = work.model().info(work.model_name());
  if (info.tokenizer) return info;
  return Error(ErrorCode::kBadConfig, "the model '" + info.name + "' of agent '" +
                                          work.agent->spec.id.text() +
                                          "' has no tokenizer; give it one in info()");
}

Message counted(const TurnWork& work, const Message& message) {
  const ModelInfo info = work.model().info(work.model_name());
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    const Part part = message.part(i);
    tokens += count_tokens(work, part, *info.tokenizer) + info.tokenizer->count(part.name);
  }
  return message.with_tokens(Tokens{tokens}, counted_by(*info.tokenizer));
}

Result<Message> make_message(const TurnWork& work, MessageDraft draft) {
  draft.id = work.engine.new_message_id();
  draft.time = work.engine.env.clock().now();
  TERTULIA_TRY_AS(const Message message, Message::make(draft));
  return counted(work, message);
}

Result<Message> message_with_parts(const TurnWork& work, const Message& message, std::vector<Part> parts) {
  TERTULIA_TRY_AS(const Message made, Message::make({.id = message.id(),
                                                     .role = message.role(),
                                                     .time = message.time(),
                                                     .author = message.author(),
                                                     .origin = message.origin(),
                                                     .source = message.source(),
                                                     .source_id = message.source_id(),
                                                     .interrupted = message.interrupted(),
                                                     .internal = message.internal(),
                                                     .parts = std::move(parts),
                                                     .extra = message.extra()}));
  return counted(work, made);
}

Result<Message> message_with_field(const Message& message, const std::string& name, JsonObject value) {
  JsonObject fields;
  if (!message.extra().empty()) {
    TERTULIA_TRY_AS(const Json before, parse_json(message.extra()));
    if (const JsonObject* object = before.as_object()) fields = *object;
  }
  fields.erase(name);
  fields.append(name, std::move(value));
  const JsonText extra = JsonText::of_fields(fields);
  std::vector<Part> parts;
  for (std::size_t i = 0; i < message.part_count(); ++i) parts.push_back(message.part(i));
  return Message::make({.id = message.id(),
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
                        .parts = std::move(parts),
                        .extra = extra.text()});
}

}  // namespace tertulia
