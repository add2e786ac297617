#include "openai/response_translator.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/json.h"

#include "core/sse.h"

namespace tertulia::server {
namespace {

// Each life of a turn has so many numbers in its log.
constexpr std::uint64_t kNumbersOfLife = 1U << 20U;
// Numbers of the log this far apart belong to two lives of a turn.
constexpr std::uint64_t kOtherLife = 1U << 16U;
// At most so many events of a response are told for one of the log.
constexpr std::int64_t kMostForOne = 16;

}  // namespace

ResponseTranslator::ResponseTranslator(std::shared_ptr<const ResponsePlan> plan,
                                       std::optional<std::int64_t> after, Settle settle)
    : plan_(std::move(plan)),
      after_(after.value_or(-1)),
      settle_(std::move(settle)),
      next_item_(plan_->input.size()) {}

template <class Write>
void ResponseTranslator::tell(std::string_view type, std::string& out, Write write) {
  if (++told_ <= after_) return;
  std::string data;
  JsonWriter json(data);
  json.begin_object().key("type").string(type).key("sequence_number").number(told_);
  write(json);
  json.end_object();
  append_frame(out, {}, type, data);
}

void ResponseTranslator::tell_response(std::string_view type, std::string& out) {
  tell(type, out, [this](JsonWriter& json) { json.key("response").raw(response_body(*plan_, state())); });
}

void ResponseTranslator::tell_item(std::string_view type, const Slot& slot, std::string& out) {
  tell(type, out, [&slot](JsonWriter& json) {
    json.key("output_index").number(std::uint64_t{slot.index}).key("item").raw(slot.item.form());
  });
}

void ResponseTranslator::tell_place(JsonWriter& json, const Slot& slot) const {
  json.key("item_id").string(slot.item.id).key("output_index").number(std::uint64_t{slot.index});
  if (slot.item.kind == ItemKind::kMessage) json.key("content_index").number(0);
  if (slot.item.kind == ItemKind::kReasoning) json.key("summary_index").number(0);
}

ResponseState ResponseTranslator::state() const {
  ResponseState state;
  for (const Slot& slot : slots_) {
    if (!slot.open) state.output.push_back(slot.item.form());
  }
  return state;
}

void ResponseTranslator::count(const Event& event) {
  if (event.number > last_number_ + kOtherLife) {
    told_ += static_cast<std::int64_t>(event.number - last_number_) * kMostForOne;
  }
  last_number_ = event.number;
  life_ = event.number / kNumbersOfLife;
}

void ResponseTranslator::take(const Event& event, std::string& out) {
  count(event);
  switch (event.kind) {
    case EventKind::kTurnStarted:
      tell_response("response.created", out);
      return tell_response("response.in_progress", out);
    case EventKind::kIteration:
      close_calls(out);
      for (Slot& slot : slots_) slot.fresh = false;
      return;
    case EventKind::kTextStarted:
      return open_item({.kind = ItemKind::kMessage}, 0, out);
    case EventKind::kReasoningStarted:
      return open_item({.kind = ItemKind::kReasoning}, 0, out);
    case EventKind::kTextDelta:
    case EventKind::kReasoningDelta:
      return add_text(event, out);
    case EventKind::kTextEnded:
      if (Slot* slot = open_slot(ItemKind::kMessage)) close_item(*slot, out);
      return;
    case EventKind::kReasoningEnded:
      if (Slot* slot = open_slot(ItemKind::kReasoning)) close_item(*slot, out);
      return;
    case EventKind::kToolCallStarted: {
      const bool client = plan_->tools.has(event.name);
      return open_item({.kind = client ? ItemKind::kFunctionCall : ItemKind::kServerCall,
                        .name = event.name,
                        .call_id = event.call_id},
                       event.index, out);
    }
    case EventKind::kToolCallArguments:
      return add_arguments(event, out);
    case EventKind::kToolCallResult:
      return take_result(event, out);
    case EventKind::kReset:
      return reset(out);
    default:
      return;
  }
}

void ResponseTranslator::open_item(OutputItem item, std::uint64_t call, std::string& out) {
  item.id = plan_->ids.item(item.prefix(), next_item_++, life_);
  item.status = "in_progress";
  slots_.push_back({.item = std::move(item), .index = next_index_++, .call = call});
  tell_item("response.output_item.added", slots_.back(), out);
  open_part(slots_.back(), out);
}

void ResponseTranslator::open_part(const Slot& slot, std::string& out) {
  std::string_view type;
  switch (slot.item.kind) {
    case ItemKind::kMessage:
      type = "response.content_part.added";
      break;
    case ItemKind::kReasoning:
      type = "response.reasoning_summary_part.added";
      break;
    case ItemKind::kServerCall:
      return tell("response.mcp_call.in_progress", out, [&](JsonWriter& json) { tell_place(json, slot); });
    case ItemKind::kFunctionCall:
      return;
  }
  tell(type, out, [&](JsonWriter& json) {
    tell_place(json, slot);
    json.key("part").raw(slot.item.part_form());
  });
}

void ResponseTranslator::add_text(const Event& event, std::string& out) {
  const bool said = event.kind == EventKind::kTextDelta;
  Slot* slot = open_slot(said ? ItemKind::kMessage : ItemKind::kReasoning);
  if (slot == nullptr) return;
  slot->item.text += event.text;
  tell(said ? "response.output_text.delta" : "response.reasoning_summary_text.delta", out,
       [&](JsonWriter& json) {
         tell_place(json, *slot);
         json.key("delta").string(event.text);
         if (said) json.key("logprobs").begin_array().end_array();
       });
}

void ResponseTranslator::add_arguments(const Event& event, std::string& out) {
  Slot* slot = call_slot(event.index);
  if (slot == nullptr) return;
  slot->item.text += event.text;
  const bool client = slot->item.kind == ItemKind::kFunctionCall;
  tell(client ? "response.function_call_arguments.delta" : "response.mcp_call_arguments.delta", out,
       [&](JsonWriter& json) {
         tell_place(json, *slot);
         json.key("delta").string(event.text);
       });
}

void ResponseTranslator::close_part(const Slot& slot, std::string& out) {
  const auto tell_text = [&](std::string_view type, std::string_view key, bool logprobs = false) {
    tell(type, out, [&](JsonWriter& json) {
      tell_place(json, slot);
      json.key(key).string(slot.item.text);
      if (slot.item.kind == ItemKind::kFunctionCall) json.key("name").string(slot.item.name);
      if (logprobs) json.key("logprobs").begin_array().end_array();
    });
  };
  const auto tell_part = [&](std::string_view type) {
    tell(type, out, [&](JsonWriter& json) {
      tell_place(json, slot);
      json.key("part").raw(slot.item.part_form());
    });
  };
  switch (slot.item.kind) {
    case ItemKind::kMessage:
      tell_text("response.output_text.done", "text", true);
      return tell_part("response.content_part.done");
    case ItemKind::kReasoning:
      tell_text("response.reasoning_summary_text.done", "text");
      return tell_part("response.reasoning_summary_part.done");
    case ItemKind::kFunctionCall:
      return tell_text("response.function_call_arguments.done", "arguments");
    case ItemKind::kServerCall:
      tell_text("response.mcp_call_arguments.done", "arguments");
      tell(slot.item.failed ? "response.mcp_call.failed" : "response.mcp_call.completed", out,
           [&](JsonWriter& json) { tell_place(json, slot); });
  }
}

void ResponseTranslator::close_item(Slot& slot, std::string& out) {
  slot.open = false;
  if (slot.item.status == "in_progress") slot.item.status = "completed";
  close_part(slot, out);
  tell_item("response.output_item.done", slot, out);
}

void ResponseTranslator::close_calls(std::string& out) {
  for (Slot& slot : slots_) {
    if (slot.open && slot.item.kind == ItemKind::kFunctionCall) close_item(slot, out);
  }
}

void ResponseTranslator::take_result(const Event& event, std::string& out) {
  Slot* slot = call_slot(event.index);
  if (slot == nullptr || slot->item.kind != ItemKind::kServerCall) return;
  const Json outcome = event.data.value();
  const JsonObject* object = outcome.as_object();
  const Json* how = object == nullptr ? nullptr : object->find("outcome");
  slot->item.output = event.text;
  slot->item.failed = how != nullptr && how->as_string() != nullptr && *how->as_string() != "ok";
  close_item(*slot, out);
}

// What was said since the last model call began is void: its items end as incomplete and are not part of the
// response any more.
void ResponseTranslator::reset(std::string& out) {
  for (Slot& slot : slots_) {
    if (!slot.fresh || !slot.open) continue;
    slot.item.status = "incomplete";
    close_item(slot, out);
  }
  std::erase_if(slots_, [](const Slot& slot) { return slot.fresh; });
}

ResponseTranslator::Slot* ResponseTranslator::open_slot(ItemKind kind) {
  for (Slot& slot : slots_) {
    if (slot.open && slot.item.kind == kind) return &slot;
  }
  return nullptr;
}

ResponseTranslator::Slot* ResponseTranslator::call_slot(std::uint64_t call) {
  for (Slot& slot : slots_) {
    const bool is_call = slot.item.kind == ItemKind::kFunctionCall || slot.item.kind == ItemKind::kServerCall;
    if (slot.open && is_call && slot.call == call) return &slot;
  }
  return nullptr;
}

void ResponseTranslator::end(Result<TurnOutcome> outcome, std::function<void(std::string)> done) {
  auto out = std::make_shared<std::string>();
  const bool whole = outcome && outcome->status == TurnStatus::kCommitted;
  for (Slot& slot : slots_) {
    if (!slot.open) continue;
    // A call of the server's that was handed back did not run.
    if (!whole || slot.item.kind == ItemKind::kServerCall) slot.item.status = "incomplete";
    close_item(slot, *out);
  }
  if (whole) {
    std::erase_if(slots_, [](const Slot& slot) {
      return slot.item.kind == ItemKind::kServerCall && !slot.item.output;
    });
  }
  settle_(std::move(outcome), state(), [this, out, done = std::move(done)](const EndedResponse& ended) {
    tell(ended.event, *out, [&ended](JsonWriter& json) { json.key("response").raw(ended.body); });
    done(std::move(*out));
  });
}

}  // namespace tertulia::server
