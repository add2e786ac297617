#include "run_state.h"

#include <algorithm>
#include <utility>

#include "tertulia/conversation/json_forms.h"

namespace tertulia {
namespace {

constexpr int kVersion = 1;

Json form_of(const WorkflowMessage& message) {
  JsonObject form;
  if (!message.type.empty()) form.append("type", message.type);
  form.append("data", message.data);
  if (!message.source.empty()) form.append("source", message.source);
  if (!message.target.empty()) form.append("target", message.target);
  return form;
}

Json form_of(const InfoRequest& request) {
  JsonObject form{{"id", request.id},
                  {"node", request.node},
                  {"data", request.data},
                  {"asked_at", std::int64_t{request.asked_at.time_since_epoch().count()}}};
  if (!request.inner.empty()) form.append("inner", request.inner);
  return form;
}

Json form_of(const Delivery& delivery) {
  JsonObject form{{"to", delivery.to}, {"message", form_of(delivery.message)}};
  if (delivery.answer) {
    form.append("request", form_of(delivery.answer->request));
    form.append("answer", delivery.answer->answer);
  }
  return form;
}

Json form_of(const WorkflowOutput& output) {
  return JsonObject{{"node", output.node}, {"data", output.data}};
}

Json form_of(const NodeEffects& effects);

template <class T>
Json list_of(const std::vector<T>& values) {
  JsonArray forms;
  for (const T& value : values) forms.push_back(form_of(value));
  return forms;
}

Json form_of(const NodeEffects& effects) {
  JsonObject form{{"node", effects.node},
                  {"sends", list_of(effects.sends)},
                  {"outputs", JsonArray(effects.outputs)},
                  {"requests", list_of(effects.requests)}};
  JsonArray changes;
  for (const KeyChange& change : effects.changes) {
    JsonObject one{{"key", change.key}};
    if (change.value) one.append("value", *change.value);
    changes.push_back(std::move(one));
  }
  form.append("changes", std::move(changes));
  JsonArray said;
  for (const Message& message : effects.said)
    said.push_back(parse_json(to_json(message), kFormLimits).value_or({}));
  form.append("said", std::move(said));
  if (effects.binding) form.append("binding", parse_json(to_json(*effects.binding)).value_or({}));
  if (effects.skipped) form.append("skipped", true);
  return form;
}

Json buffers_form(const RunState& state) {
  JsonArray forms;
  for (const auto& [edge, sources] : state.buffers) {
    JsonArray queues;
    for (const auto& queue : sources) {
      JsonArray messages;
      for (const WorkflowMessage& message : queue) messages.push_back(form_of(message));
      queues.push_back(std::move(messages));
    }
    forms.push_back(JsonObject{{"edge", static_cast<std::int64_t>(edge)}, {"sources", std::move(queues)}});
  }
  return forms;
}

WorkflowMessage read_message(JsonReader& in, std::string_view key) {
  WorkflowMessage message;
  const Json* form = in.required(key);
  if (form == nullptr) return message;
  JsonReader fields(*form, key);
  message.type = fields.string_or("type", {});
  if (const Json* data = fields.required("data")) message.data = *data;
  message.source = fields.string_or("source", {});
  message.target = fields.string_or("target", {});
  if (auto read = fields.finish(); !read) in.fail(read.error());
  return message;
}

WorkflowMessage message_in(const Json& form, JsonReader& outer) {
  const JsonObject wrapped{{"message", form}};
  const Json value(wrapped);
  JsonReader in(value, "message");
  WorkflowMessage message = read_message(in, "message");
  if (auto read = in.finish(); !read) outer.fail(read.error());
  return message;
}

InfoRequest read_request(const Json& form, JsonReader& outer) {
  JsonReader in(form, "request");
  InfoRequest request;
  request.id = in.required_string("id");
  request.node = in.required_string("node");
  if (const Json* data = in.required("data")) request.data = *data;
  request.asked_at = Time(Duration(in.required_int("asked_at", INT64_MIN, INT64_MAX)));
  request.inner = in.string_or("inner", {});
  if (auto read = in.finish(); !read) outer.fail(read.error());
  return request;
}

Delivery read_delivery(const Json& form, JsonReader& outer) {
  JsonReader in(form, "delivery");
  Delivery delivery{.to = in.required_string("to"), .message = read_message(in, "message")};
  if (const Json* request = in.optional("request")) {
    delivery.answer = InfoAnswer{.request = read_request(*request, in), .answer = {}};
    if (const Json* answer = in.required("answer")) delivery.answer->answer = *answer;
  }
  if (auto read = in.finish(); !read) outer.fail(read.error());
  return delivery;
}

NodeEffects read_effects(const Json& form, JsonReader& outer) {
  JsonReader in(form, "effects");
  NodeEffects effects{.node = in.required_string("node")};
  for (const Json& one : in.array_or_empty("sends")) effects.sends.push_back(message_in(one, in));
  effects.outputs = in.array_or_empty("outputs");
  for (const Json& one : in.array_or_empty("requests")) effects.requests.push_back(read_request(one, in));
  for (const Json& one : in.array_or_empty("changes")) {
    JsonReader change(one, "change");
    KeyChange read{.key = change.required_string("key"), .value = std::nullopt};
    // Null is a value; a key that was erased has none.
    if (const Json* value = one.as_object() == nullptr ? nullptr : one.as_object()->find("value"))
      read.value = *value;
    effects.changes.push_back(std::move(read));
  }
  for (const Json& one : in.array_or_empty("said")) {
    Result<Message> message = from_json<Message>(one);
    if (message)
      effects.said.push_back(*std::move(message));
    else
      in.fail(message.error());
  }
  if (const Json* binding = in.optional("binding")) {
    Result<ThreadBinding> read = from_json<ThreadBinding>(*binding);
    if (read)
      effects.binding = *std::move(read);
    else
      in.fail(read.error());
  }
  effects.skipped = in.bool_or("skipped", false);
  if (auto read = in.finish(); !read) outer.fail(read.error());
  return effects;
}

void read_buffers(JsonReader& in, RunState& state) {
  state.buffers.clear();
  for (const Json& form : in.array_or_empty("buffers")) {
    JsonReader fields(form, "buffer");
    auto& sources = state.buffers[static_cast<std::size_t>(fields.required_int("edge", 0, INT32_MAX))];
    for (const Json& queue : fields.array_or_empty("sources")) {
      sources.emplace_back();
      if (queue.as_array() == nullptr) continue;
      for (const Json& message : *queue.as_array()) sources.back().push_back(message_in(message, in));
    }
    if (auto read = fields.finish(); !read) in.fail(read.error());
  }
}

void read_marks(JsonReader& in, RunState& state) {
  for (const auto& [node, form] : in.object_or_empty("marks")) {
    const JsonArray* fields = form.as_array();
    const bool right = fields != nullptr && fields->size() == 3 && (*fields)[0].as_string() != nullptr &&
                       (*fields)[1].as_int() != nullptr && (*fields)[2].as_int() != nullptr;
    const Result<NodeMark::State> named =
        right ? node_state_named(*(*fields)[0].as_string())
              : Error(ErrorCode::kWrongType, "checkpoint: a mark is not [state, calls, microseconds]");
    if (!named) {
      in.fail(named.error());
      return;
    }
    state.marks[node] = {.state = *named,
                         .time = Duration(*(*fields)[2].as_int()),
                         .calls = static_cast<std::uint32_t>(*(*fields)[1].as_int())};
  }
}

void read_state(JsonReader& in, bool whole, RunState& state) {
  if (whole) state = {};
  state.step = static_cast<std::uint64_t>(in.required_int("step", 0, INT64_MAX));
  Result<WorkflowStatus> status = workflow_status_named(in.required_string("status"));
  if (status)
    state.status = *status;
  else
    in.fail(status.error());
  state.inflight.clear();
  for (const Json& one : in.array_or_empty("inflight")) state.inflight.push_back(read_delivery(one, in));
  read_buffers(in, state);
  for (const auto& [key, value] : in.object_or_empty("set")) state.values[key] = value;
  for (const Json& key : in.array_or_empty("erased")) {
    if (key.as_string() != nullptr) state.values.erase(*key.as_string());
  }
  state.requests.clear();
  for (const Json& one : in.array_or_empty("requests")) state.requests.push_back(read_request(one, in));
  for (const Json& one : in.array_or_empty("outputs")) {
    JsonReader fields(one, "output");
    WorkflowOutput output{.node = fields.required_string("node"), .data = {}};
    if (const Json* data = fields.required("data")) output.data = *data;
    state.outputs.push_back(std::move(output));
  }
  state.done.clear();
  for (const Json& one : in.array_or_empty("done")) state.done.push_back(read_effects(one, in));
  state.error = in.string_or("error", {});
  read_marks(in, state);
}

void read_facts(JsonReader& in, RunFacts& facts) {
  facts.workflow = in.required_string("workflow");
  Result<BranchId> branch = BranchId::parse(in.required_string("branch"));
  if (branch)
    facts.branch = *std::move(branch);
  else
    in.fail(branch.error());
  facts.branch_made.reset();
  if (in.optional("branch_made") != nullptr)
    facts.branch_made = Time(Duration(in.required_int("branch_made", INT64_MIN, INT64_MAX)));
  facts.base = static_cast<std::uint64_t>(in.required_int("base", 0, INT64_MAX));
  facts.input = static_cast<std::uint64_t>(in.required_int("input", 0, INT64_MAX));
  facts.started_at = Time(Duration(in.required_int("started_at", INT64_MIN, INT64_MAX)));
  facts.forked_from = in.string_or("forked_from", {});
  facts.signature.clear();
  for (const Json& line : in.array_or_empty("signature")) {
    if (line.as_string() != nullptr) facts.signature.push_back(*line.as_string());
  }
}

void read_threads(JsonReader& in, std::vector<ThreadPlace>& threads) {
  threads.clear();
  for (const Json& one : in.array_or_empty("threads")) {
    const JsonArray* fields = one.as_array();
    if (fields == nullptr || fields->size() != 3 || (*fields)[0].as_string() == nullptr ||
        (*fields)[1].as_int() == nullptr || (*fields)[2].as_int() == nullptr) {
      in.fail(Error(ErrorCode::kWrongType, "checkpoint: a thread is not [participant, applied, messages]"));
      return;
    }
    threads.push_back({.participant = *(*fields)[0].as_string(),
                       .applied = static_cast<std::uint64_t>(*(*fields)[1].as_int()),
                       .messages = static_cast<std::uint64_t>(*(*fields)[2].as_int())});
  }
}

void append_facts(JsonObject& form, const RunFacts& facts) {
  form.append("workflow", facts.workflow);
  form.append("branch", facts.branch.text());
  if (facts.branch_made)
    form.append("branch_made", std::int64_t{facts.branch_made->time_since_epoch().count()});
  form.append("base", facts.base);
  form.append("input", facts.input);
  form.append("started_at", std::int64_t{facts.started_at.time_since_epoch().count()});
  if (!facts.forked_from.empty()) form.append("forked_from", facts.forked_from);
  JsonArray signature;
  for (const std::string& line : facts.signature) signature.emplace_back(line);
  form.append("signature", std::move(signature));
}

// The values that are new or other than before, and the keys that are gone.
void append_values(JsonObject& form, const RunState& state, const RunState* before) {
  JsonObject set;
  JsonArray erased;
  for (const auto& [key, value] : state.values) {
    const auto old = before == nullptr ? state.values.end() : before->values.find(key);
    if (before != nullptr && old != before->values.end() && old->second == value) continue;
    set.append(key, value);
  }
  if (before != nullptr) {
    for (const auto& [key, value] : before->values) {
      if (!state.values.contains(key)) erased.emplace_back(key);
    }
  }
  if (!set.empty()) form.append("set", std::move(set));
  if (!erased.empty()) form.append("erased", std::move(erased));
}

// Those that are new or other than before.
void append_marks(JsonObject& form, const RunState& state, const RunState* before) {
  JsonObject marks;
  for (const auto& [node, mark] : state.marks) {
    if (before != nullptr) {
      const auto old = before->marks.find(node);
      if (old != before->marks.end() && old->second == mark) continue;
    }
    marks.append(node, JsonArray{std::string(name_of(mark.state)), std::int64_t{mark.calls},
                                 std::int64_t{mark.time.count()}});
  }
  if (!marks.empty()) form.append("marks", std::move(marks));
}

}  // namespace

std::string encode_checkpoint(const Checkpoint& checkpoint, const RunState* before) {
  const RunState& state = checkpoint.state;
  JsonObject form{{"v", kVersion}};
  if (before == nullptr) {
    form.append("whole", true);
    append_facts(form, checkpoint.facts);
  }
  if (!checkpoint.parent.empty()) form.append("parent", checkpoint.parent);
  form.append("revision", number(checkpoint.revision));
  form.append("messages", checkpoint.messages);
  if (!checkpoint.threads.empty()) {
    JsonArray threads;
    for (const ThreadPlace& thread : checkpoint.threads) {
      threads.push_back(JsonArray{thread.participant, thread.applied, thread.messages});
    }
    form.append("threads", std::move(threads));
  }
  form.append("step", state.step);
  form.append("status", std::string(name_of(state.status)));
  if (!state.inflight.empty()) form.append("inflight", list_of(state.inflight));
  if (!state.buffers.empty()) form.append("buffers", buffers_form(state));
  append_values(form, state, before);
  if (!state.requests.empty()) form.append("requests", list_of(state.requests));
  const std::size_t known = before == nullptr ? 0 : before->outputs.size();
  if (state.outputs.size() > known) {
    form.append("outputs",
                list_of(std::vector<WorkflowOutput>(
                    state.outputs.begin() + static_cast<std::ptrdiff_t>(known), state.outputs.end())));
  }
  if (!state.done.empty()) form.append("done", list_of(state.done));
  if (!state.error.empty()) form.append("error", state.error);
  append_marks(form, state, before);
  return to_text(form);
}

bool is_whole(std::string_view text) {
  return text.substr(0, 40).find("\"whole\":true") != std::string_view::npos;
}

Result<void> apply_checkpoint(std::string_view text, Checkpoint& checkpoint) {
  TERTULIA_TRY_AS(const Json form, parse_json(text, kFormLimits));
  JsonReader in(form, "checkpoint");
  if (in.required_int("v", 1, INT32_MAX) > kVersion) {
    return Error(ErrorCode::kNeedsVersion, "the checkpoint was written by a newer version");
  }
  const bool whole = in.bool_or("whole", false);
  if (whole) read_facts(in, checkpoint.facts);
  checkpoint.parent = in.string_or("parent", {});
  checkpoint.revision = Revision{static_cast<std::uint64_t>(in.required_int("revision", 0, INT64_MAX))};
  checkpoint.messages = static_cast<std::uint64_t>(in.required_int("messages", 0, INT64_MAX));
  read_threads(in, checkpoint.threads);
  read_state(in, whole, checkpoint.state);
  TERTULIA_TRY(in.finish());
  return {};
}

StreamId checkpoint_stream(const std::string& run) { return {.kind = RecordKind::kCheckpoint, .scope = run}; }

StreamId answer_stream(const std::string& run, const std::string& request) {
  return {.kind = RecordKind::kCheckpoint, .scope = run + "." + request};
}

Record answer_record(const std::string& run, const std::string& request, const Json& answer, Time now) {
  return {.stream = answer_stream(run, request),
          .number = 1,
          .time = now,
          .key = request,
          .name = std::string(kAnswerName),
          .payload = to_text(answer)};
}

std::string checkpoint_id(const std::string& run, std::uint64_t number) {
  return run + "/" + std::to_string(number);
}

}  // namespace tertulia
