#include "openai/handed_back.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/sha256.h"
#include "tertulia/conversation/json_forms.h"

namespace tertulia::server {
namespace {

constexpr std::string_view kNotRun =
    "This call did not run, because it was made together with calls that the user runs. Make it again if it "
    "is "
    "still needed.";

StreamId stream_of(const BranchId& branch, const TurnId& turn) {
  // A turn that a fork shares may have handed back something else there.
  return {.kind = RecordKind::kCheckpoint,
          .branch = {},
          .scope = "handed-back/" + turn.text() + "/" + sha256_hex(branch.text()).substr(0, 16)};
}

AddRecord record_of(const BranchId& branch, const TurnId& turn, const std::vector<Message>& messages,
                    std::uint64_t number, Time now) {
  std::string payload = "[";
  for (const Message& message : messages) {
    if (payload.size() > 1) payload += ",";
    append_json(payload, message);
  }
  payload += "]";
  return {Record{.stream = stream_of(branch, turn),
                 .number = number,
                 .time = now,
                 .key = {},
                 .name = "handed_back",
                 .payload = std::move(payload)}};
}

Result<std::optional<Record>> newest(Store& store, const SessionKey& key, const BranchId& branch,
                                     const TurnId& turn) {
  const StreamId stream = stream_of(branch, turn);
  TERTULIA_TRY_AS(RecordPage page, read_records(store, {.tenant = key.tenant,
                                                        .owner = key.owner,
                                                        .session = key.session,
                                                        .kind = stream.kind,
                                                        .scope = stream.scope,
                                                        .newest_first = true,
                                                        .limit = 1}));
  if (page.records.empty()) return std::optional<Record>();
  return std::optional(std::move(page.records.front().record));
}

Result<Message> not_run(Services& services, const Part& call) {
  return Message::make(
      {.id = MessageId(services.ids().make()),
       .role = Role::kTool,
       .time = services.env.clock().now(),
       .author = call.name,
       .origin = Origin::kSynthetic,
       .parts = {Part::tool_result(call.call_id, call.name, kNotRun, ToolOutcome::kInterrupted)}});
}

}  // namespace

Result<std::vector<Message>> handed_back_by(Services& services, const TurnOutcome& outcome,
                                            const ClientTools& tools) {
  std::vector<Message> messages;
  if (outcome.messages.empty() || !outcome.messages.back().has_tool_calls()) return messages;
  const Message& answer = outcome.messages.back();
  messages.push_back(answer);
  for (std::size_t i = 0; i < answer.part_count(); ++i) {
    const Part part = answer.part(i);
    if (part.kind != PartKind::kToolCall || tools.has(part.name)) continue;
    TERTULIA_TRY_AS(Message result, not_run(services, part));
    messages.push_back(std::move(result));
  }
  return messages;
}

void keep_handed_back(Store& store, const SessionKey& key, const BranchId& branch, const TurnId& turn,
                      const std::vector<Message>& messages, Time now, Done<void> done) {
  if (messages.empty()) return done({});
  store.note({.key = key, .conditions = {}, .changes = {record_of(branch, turn, messages, 1, now)}},
             std::move(done));
}

Result<void> replace_handed_back(Store& store, const SessionKey& key, const BranchId& branch,
                                 const TurnId& turn, const std::vector<Message>& messages, Time now) {
  TERTULIA_TRY_AS(const std::optional<Record> before, newest(store, key, branch, turn));
  if (!before && messages.empty()) return {};
  const std::uint64_t number = before ? before->number + 1 : 1;
  return note(store,
              {.key = key, .conditions = {}, .changes = {record_of(branch, turn, messages, number, now)}});
}

Result<std::vector<Message>> load_handed_back(Store& store, const SessionKey& key, const BranchId& branch,
                                              const TurnId& turn) {
  std::vector<Message> messages;
  TERTULIA_TRY_AS(const std::optional<Record> record, newest(store, key, branch, turn));
  if (!record) return messages;
  TERTULIA_TRY_AS(const Json forms, parse_json(record->payload, kFormLimits));
  const JsonArray* array = forms.as_array();
  if (array == nullptr) return Error(ErrorCode::kDamaged, "what was handed back is no list of messages");
  for (const Json& form : *array) {
    TERTULIA_TRY_AS(Message message, from_json<Message>(form));
    // An answer that calls, and results: nothing else is read further on.
    const bool fits = messages.empty() ? message.has_tool_calls()
                                       : message.part_count() > 0 && message.role() == Role::kTool;
    if (!fits) return Error(ErrorCode::kDamaged, "what was handed back is no answer with results");
    messages.push_back(std::move(message));
  }
  return messages;
}

Result<std::optional<StoredTurn>> last_turn(Store& store, const SessionKey& key, const BranchHead& head) {
  if (head.message_count == 0) return std::optional<StoredTurn>();
  TERTULIA_TRY_AS(
      std::vector<StoredTurn> turns,
      read_turns(store, key,
                 {.branch = head.id, .begin = head.message_count - 1, .end = head.message_count}));
  if (turns.empty()) return std::optional<StoredTurn>();
  return std::optional(std::move(turns.back()));
}

std::string text_of(const TurnOutcome& outcome) {
  std::string text;
  const auto& messages = outcome.messages;
  // What the turn began with: messages of the user, and groups whose results the client gave.
  const auto last_given = std::find_if(messages.rbegin(), messages.rend(), [](const Message& message) {
    return message.role() == Role::kUser ||
           (message.role() == Role::kTool && message.origin() == Origin::kUser);
  });
  for (auto message = last_given.base(); message != messages.end(); ++message) {
    if (message->role() != Role::kAssistant) continue;
    const std::string said = message->text_content();
    if (said.empty()) continue;
    if (!text.empty()) text += "\n\n";
    text += said;
  }
  return text;
}

}  // namespace tertulia::server
