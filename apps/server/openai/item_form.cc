#include "openai/item_form.h"

#include <algorithm>

#include "tertulia/base/json.h"

namespace tertulia::server {
namespace {

std::optional<TurnIds> parse_rest(std::string_view rest) {
  const std::size_t end = rest.find('_');
  Result<TurnId> turn = TurnId::parse(rest.substr(0, end));
  if (!turn) return std::nullopt;
  TurnIds ids{.turn = *turn, .session = {}};
  if (end != std::string_view::npos) ids.session = rest.substr(end + 1);
  return ids;
}

void write_user_part(JsonWriter& out, const Part& part) {
  out.begin_object();
  switch (part.kind) {
    case PartKind::kImage:
      out.key("type").string("input_image").key("image_url").string(part.text).key("detail").string("auto");
      break;
    case PartKind::kFile:
      out.key("type").string("input_file").key("file_url").string(part.text);
      break;
    default:
      out.key("type").string("input_text").key("text").string(part.text);
  }
  out.end_object();
}

std::string user_item(const Message& message, const std::string& id) {
  std::string item;
  JsonWriter out(item);
  out.begin_object().key("id").string(id).key("type").string("message").key("status").string("completed");
  out.key("role").string(message.role() == Role::kSystem ? "system" : "user").key("content").begin_array();
  for (std::size_t i = 0; i < message.part_count(); ++i) write_user_part(out, message.part(i));
  out.end_array().end_object();
  return item;
}

std::string output_item(const Part& result, const std::string& id) {
  std::string item;
  JsonWriter out(item);
  out.begin_object().key("id").string(id).key("type").string("function_call_output");
  out.key("status").string("completed").key("call_id").string(result.call_id);
  out.key("output").string(result.text).end_object();
  return item;
}

// The result of a call among the messages behind it; null if there is none.
const Message* result_of(std::span<const Message> behind, const Part& call) {
  for (const Message& message : behind) {
    if (message.role() != Role::kTool) return nullptr;
    if (message.part(0).call_id == call.call_id && message.part(0).name == call.name) return &message;
  }
  return nullptr;
}

class Lister {
 public:
  Lister(const TurnIds& ids, std::size_t first) : ids_(ids), next_(first) {}

  void add(std::span<const Message> messages, std::size_t index) {
    const Message& message = messages[index];
    switch (message.role()) {
      case Role::kAssistant:
        return add_answer(message, messages.subspan(index + 1));
      case Role::kTool:
        if (message.origin() == Origin::kUser) items.push_back(output_item(message.part(0), id("fco")));
        return;
      case Role::kUser:
      case Role::kSystem:
        items.push_back(user_item(message, id("msg")));
        return;
      case Role::kContext:
        return;
    }
  }

  std::vector<std::string> items;

 private:
  std::string id(std::string_view prefix) { return ids_.item(prefix, next_++); }

  void add_answer(const Message& message, std::span<const Message> behind) {
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const Part part = message.part(i);
      OutputItem item{.status = message.interrupted() ? "incomplete" : "completed",
                      .text = std::string(part.text)};
      if (part.kind == PartKind::kReasoning) item.kind = ItemKind::kReasoning;
      if (part.kind == PartKind::kToolCall) take_call(item, part, result_of(behind, part));
      if (part.kind == PartKind::kImage || part.kind == PartKind::kFile) continue;
      item.id = id(item.prefix());
      items.push_back(item.form());
    }
  }

  static void take_call(OutputItem& item, const Part& call, const Message* result) {
    const bool ours = result != nullptr && result->origin() != Origin::kUser;
    item.kind = ours ? ItemKind::kServerCall : ItemKind::kFunctionCall;
    item.name = call.name;
    item.call_id = call.call_id;
    if (!ours) return;
    item.output = std::string(result->part(0).text);
    item.failed = result->part(0).outcome != ToolOutcome::kOk;
  }

  const TurnIds& ids_;
  std::size_t next_;
};

}  // namespace

std::string TurnIds::response() const {
  return "resp_" + turn.text() + (session.empty() ? "" : "_" + session);
}

std::string TurnIds::item(std::string_view prefix, std::size_t number, std::uint64_t life) const {
  return std::string(prefix) + "_" + turn.text() + "_" + std::to_string(number) +
         (life == 0 ? "" : "-" + std::to_string(life)) + (session.empty() ? "" : "_" + session);
}

std::optional<TurnIds> TurnIds::of_response(std::string_view id) {
  if (!id.starts_with("resp_")) return std::nullopt;
  return parse_rest(id.substr(5));
}

std::optional<TurnIds> TurnIds::of_item(std::string_view id) {
  const std::size_t prefix = id.find('_');
  if (prefix == std::string_view::npos) return std::nullopt;
  std::optional<TurnIds> ids = parse_rest(id.substr(prefix + 1));
  if (!ids) return ids;
  // Behind the number.
  const std::size_t number = ids->session.find('_');
  ids->session = number == std::string::npos ? "" : ids->session.substr(number + 1);
  return ids;
}

std::string_view OutputItem::prefix() const {
  switch (kind) {
    case ItemKind::kMessage:
      return "msg";
    case ItemKind::kReasoning:
      return "rs";
    case ItemKind::kFunctionCall:
      return "fc";
    case ItemKind::kServerCall:
      return "mcp";
  }
  return "msg";
}

std::string OutputItem::part_form() const {
  std::string part;
  JsonWriter out(part);
  if (kind == ItemKind::kReasoning) {
    out.begin_object().key("type").string("summary_text").key("text").string(text).end_object();
    return part;
  }
  out.begin_object().key("type").string("output_text").key("text").string(text);
  out.key("annotations").begin_array().end_array().key("logprobs").begin_array().end_array().end_object();
  return part;
}

std::string OutputItem::form() const {
  std::string item;
  JsonWriter out(item);
  const bool begun = status == "in_progress";
  out.begin_object().key("id").string(id);
  switch (kind) {
    case ItemKind::kMessage:
      out.key("type").string("message").key("status").string(status).key("role").string("assistant");
      out.key("content").begin_array();
      if (!begun) out.raw(part_form());
      out.end_array();
      break;
    case ItemKind::kReasoning:
      out.key("type").string("reasoning").key("status").string(status).key("summary").begin_array();
      if (!begun) out.raw(part_form());
      out.end_array();
      break;
    case ItemKind::kFunctionCall:
      out.key("type").string("function_call").key("status").string(status).key("call_id").string(call_id);
      out.key("name").string(name).key("arguments").string(text);
      break;
    case ItemKind::kServerCall:
      out.key("type").string("mcp_call").key("status").string(failed && !begun ? "failed" : status);
      out.key("server_label").string("tertulia").key("name").string(name).key("arguments").string(text);
      if (output) out.key(failed ? "error" : "output").string(*output);
      break;
  }
  out.end_object();
  return item;
}

std::vector<std::string> items_of(std::span<const Message> messages, const TurnIds& ids, std::size_t first) {
  Lister lister(ids, first);
  for (std::size_t i = 0; i < messages.size(); ++i) lister.add(messages, i);
  return std::move(lister.items);
}

}  // namespace tertulia::server
