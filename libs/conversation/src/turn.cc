#include "tertulia/conversation/turn.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tertulia/conversation/add_messages.h"

namespace tertulia {

namespace {

Error unpaired(std::string_view id, std::string sentence) {
  return Error(ErrorCode::kUnpairedToolCall, std::move(sentence)).with("id", std::string(id));
}

// The first part of this kind; null text in all fields if there is none.
bool find_part(const Message& message, PartKind kind, Part& found) {
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    if (Part part = message.part(i); part.kind == kind) {
      found = part;
      return true;
    }
  }
  return false;
}

bool has_part(const Message& message, PartKind kind) {
  Part ignored;
  return find_part(message, kind, ignored);
}

// The calls of one message that have no result yet. A call id may stand there more than once, and some models
// give none at all, so a result takes the first open call of its id, and of its tool if it names one.
class OpenCalls {
 public:
  explicit OpenCalls(const Message& call) {
    for (std::size_t i = 0; i < call.part_count(); ++i) {
      const Part part = call.part(i);
      if (part.kind != PartKind::kToolCall) continue;
      by_id_[part.call_id].calls.push_back(ids_.size());
      by_id_and_tool_[{part.call_id, part.name}].calls.push_back(ids_.size());
      ids_.push_back(part.call_id);
    }
    taken_.resize(ids_.size());
  }

  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  // The number of the call that `result` answers, which is closed by it; kNone if there is no such call.
  std::size_t take(const Part& result) {
    if (result.name.empty()) return take_first(by_id_, result.call_id);
    return take_first(by_id_and_tool_, std::pair(result.call_id, result.name));
  }

  // The id of the first call that is still open, or null.
  const std::string_view* first_open() const {
    const auto open = std::find(taken_.begin(), taken_.end(), false);
    return open == taken_.end() ? nullptr : &ids_[static_cast<std::size_t>(open - taken_.begin())];
  }

 private:
  // Calls in order; those before `next` are taken, so that all takes together cost one pass.
  struct Queue {
    std::vector<std::size_t> calls;
    std::size_t next = 0;
  };

  template <class Queues, class Key>
  std::size_t take_first(Queues& queues, const Key& key) {
    const auto found = queues.find(key);
    if (found == queues.end()) return kNone;
    Queue& queue = found->second;
    while (queue.next < queue.calls.size() && taken_[queue.calls[queue.next]]) ++queue.next;
    if (queue.next == queue.calls.size()) return kNone;
    const std::size_t call = queue.calls[queue.next++];
    taken_[call] = true;
    return call;
  }

  std::vector<std::string_view> ids_;
  std::vector<bool> taken_;
  std::map<std::string_view, Queue> by_id_;
  std::map<std::pair<std::string_view, std::string_view>, Queue> by_id_and_tool_;
};

// Takes the calls that the results in `message` answer. Gives the first of them in the order of the calls.
Result<std::size_t> take_results(OpenCalls& open, const Message& message) {
  if (message.role() != Role::kTool || message.has_tool_calls()) {
    return unpaired("", "a result must be a message of role tool that calls nothing itself");
  }
  std::size_t first = OpenCalls::kNone;
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    const Part part = message.part(i);
    if (part.kind != PartKind::kToolResult) continue;
    const std::size_t call = open.take(part);
    if (call == OpenCalls::kNone) {
      return unpaired(part.call_id, "the tool result '" + std::string(part.call_id) +
                                        "' answers no open call of the message before it");
    }
    first = std::min(first, call);
  }
  if (first == OpenCalls::kNone) return unpaired("", "a message of role tool holds no tool result");
  return first;
}

// The messages behind messages[0] that answer its calls one by one in their order, as they were stored: 0 if
// they do not, and have to be matched and sorted.
std::size_t answers_in_order(std::span<const Message> messages) {
  const Message& call = messages.front();
  std::size_t answered = 0;
  for (std::size_t i = 0; i < call.part_count(); ++i) {
    const Part asked = call.part(i);
    if (asked.kind == PartKind::kToolResult) return 0;
    if (asked.kind != PartKind::kToolCall) continue;
    if (++answered == messages.size()) return 0;
    const Message& result = messages[answered];
    if (result.role() != Role::kTool || result.part_count() != 1) return 0;
    const Part answer = result.part(0);
    if (answer.kind != PartKind::kToolResult || answer.call_id != asked.call_id) return 0;
    if (!answer.name.empty() && answer.name != asked.name) return 0;
  }
  return answered;
}

bool stands_alone(const Message& message) {
  if (message.role() == Role::kTool || message.role() == Role::kContext) return false;
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    const PartKind kind = message.part(i).kind;
    if (kind == PartKind::kToolCall || kind == PartKind::kToolResult) return false;
  }
  return true;
}

// True if the messages are a turn as they stand. Otherwise they may be one after sorting, or something is
// wrong.
bool is_turn(std::span<const Message> messages) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (stands_alone(messages[i])) continue;
    if (messages[i].role() != Role::kAssistant) return false;
    const std::size_t answers = answers_in_order(messages.subspan(i));
    if (answers == 0) return false;
    i += answers;
  }
  return !messages.empty();
}

}  // namespace

Result<ToolGroup> ToolGroup::close(Message call, std::vector<Message> results) {
  if (call.role() != Role::kAssistant || !call.has_tool_calls() || has_part(call, PartKind::kToolResult)) {
    return unpaired("",
                    "a tool group begins with an assistant message that calls tools and holds no results");
  }
  OpenCalls open(call);
  std::vector<std::pair<std::size_t, Message>> ordered;
  ordered.reserve(results.size());
  for (Message& result : results) {
    TERTULIA_TRY_AS(const std::size_t first, take_results(open, result));
    ordered.emplace_back(first, std::move(result));
  }
  if (const std::string_view* id = open.first_open()) {
    return unpaired(*id,
                    "the tool call '" + std::string(*id) + "' has no result; each call needs exactly one");
  }
  std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Message> messages;
  messages.reserve(ordered.size() + 1);
  messages.push_back(std::move(call));
  for (auto& [first, message] : ordered) messages.push_back(std::move(message));
  return ToolGroup(std::move(messages));
}

Result<void> TurnDraft::add(Message message) {
  Part part;
  if (find_part(message, PartKind::kToolCall, part)) {
    return unpaired(part.call_id, "the message calls the tool '" + std::string(part.name) +
                                      "'; it can only be added with the results of its calls");
  }
  if (find_part(message, PartKind::kToolResult, part) || message.role() == Role::kTool) {
    return unpaired(part.call_id, "a tool result can only be added together with the message that called");
  }
  if (message.role() == Role::kContext) {
    return Error(ErrorCode::kRoleNotAllowed,
                 "a context message belongs to what a model sees, never to the transcript: it would double");
  }
  messages_.push_back(std::move(message));
  return {};
}

void TurnDraft::annotate_input(Message message) {
  const auto last = std::find_if(messages_.rbegin(), messages_.rend(),
                                 [](const Message& one) { return one.role() == Role::kUser; });
  if (last != messages_.rend() && last->id() == message.id()) *last = std::move(message);
}

void TurnDraft::add(const ToolGroup& group) {
  messages_.insert(messages_.end(), group.messages().begin(), group.messages().end());
}

Result<Turn> Turn::seal(TurnDraft draft) {
  if (draft.messages_.empty())
    return Error(ErrorCode::kEmptyMessage, "a turn without messages cannot be committed");
  return Turn(draft.id_, std::move(draft.messages_));
}

Result<void> add_messages(TurnDraft& draft, std::span<const Message> messages) {
  for (std::size_t i = 0; i < messages.size();) {
    std::size_t end = i + 1;
    Result<void> added;
    if (messages[i].role() == Role::kAssistant && messages[i].has_tool_calls()) {
      while (end < messages.size() && messages[end].role() == Role::kTool) ++end;
      const auto results = messages.subspan(i + 1, end - i - 1);
      auto group = ToolGroup::close(messages[i], {results.begin(), results.end()});
      if (group) draft.add(*group);
      if (!group) added = std::move(group).error();
    } else {
      added = draft.add(messages[i]);
    }
    if (!added) return std::move(added).error().in("message " + std::to_string(i));
    i = end;
  }
  return {};
}

Result<Turn> Turn::from_messages(TurnId id, std::vector<Message> messages) {
  if (is_turn(messages)) return Turn(id, std::move(messages));
  TurnDraft draft(id);
  TERTULIA_TRY(add_messages(draft, messages));
  return seal(std::move(draft));
}

}  // namespace tertulia
