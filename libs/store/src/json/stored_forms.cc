#include "stored_forms.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/micros.h"

#include "checked_text.h"
#include "names.h"

namespace tertulia {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

// Our own forms, written by ourselves a moment ago. They do not read back if a state in them is no JSON:
// JsonText::written takes it as it is.
Result<Json> parsed(const std::string& text, std::string_view what) {
  Result<Json> form = parse_json(text, kFormLimits);
  if (form) return form;
  return Error(form.error()).in(std::string(what) + " cannot be stored: a state or a field in it is no JSON");
}

std::uint64_t required_count(JsonReader& in, std::string_view key) {
  return static_cast<std::uint64_t>(in.required_int(key, 0, kLargest));
}

Result<void> check_place(std::string_view place, std::string_view text) {
  if (is_whole_document(place, text)) return {};
  return Error(ErrorCode::kDamaged, "the file does not fit its checksum");
}

// Takes "\"name\":<number>," off the front of `line`.
template <class Number>
bool take(std::string_view& line, std::string_view name, Number& value) {
  if (!line.starts_with(name)) return false;
  line.remove_prefix(name.size());
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (problem != std::errc()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (!line.starts_with(',')) return false;
  line.remove_prefix(1);
  return true;
}

// The key that an object names; `id`: the member with the session's.
std::optional<SessionKey> key_in(const Json& json, std::string_view id) {
  if (json.as_object() == nullptr) return std::nullopt;
  JsonReader in(json, "key");
  Result<TenantId> tenant = TenantId::parse(in.string_or("tenant", {}));
  Result<OwnerId> owner = OwnerId::parse(in.string_or("owner", {}));
  Result<SessionId> session = SessionId::parse(in.string_or(id, {}));
  if (!tenant || !owner || !session) return std::nullopt;
  return SessionKey{*std::move(tenant), *std::move(owner), *std::move(session)};
}

void write_state(JsonWriter& out, const MiddlewareState& state) {
  out.begin_object();
  for (const auto& [name, value] : state) out.key(name).raw(value.empty() ? "null" : value.text());
  out.end_object();
}

Result<MiddlewareState> read_state(const Json& json) {
  const JsonObject* object = json.as_object();
  if (object == nullptr) return Error(ErrorCode::kDamaged, "the state of the branch is no object");
  MiddlewareState state;
  for (const auto& [name, value] : *object) state[name] = JsonText::of(value);
  return state;
}

// The tool calls of a turn and their results, each in the order of the calls.
struct CallParts {
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
};

CallParts call_parts(const Turn& turn) {
  CallParts parts;
  for (const Message& message : turn.messages()) {
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const Part part = message.part(i);
      if (part.kind == PartKind::kToolCall) parts.inputs.push_back(part.text);
      if (part.kind == PartKind::kToolResult) parts.outputs.push_back(part.text);
    }
  }
  return parts;
}

// Input and output that the messages hold anyway are left out, and named in "in_turn".
void write_tool_call(JsonWriter& out, const SessionKey& key, const AppendTurn& append, const CallParts& parts,
                     ToolCallRecord call) {
  call.session = key.session;
  call.branch = append.branch;
  call.turn = append.turn.id();
  const bool same_input = call.number < parts.inputs.size() && !call.input.empty() &&
                          call.input.text() == parts.inputs[call.number];
  const bool same_output =
      call.number < parts.outputs.size() && !call.output.empty() && call.output == parts.outputs[call.number];
  if (same_input) call.input = {};
  if (same_output) call.output.clear();
  out.begin_object().key("call").raw(to_json(call));
  if (same_input || same_output) {
    out.key("in_turn").begin_array();
    if (same_input) out.string("input");
    if (same_output) out.string("output");
    out.end_array();
  }
  out.end_object();
}

Result<ToolCallRecord> read_tool_call(const Json& json, const CallParts& parts) {
  JsonReader in(json, "tool call");
  const Json* form = in.required("call");
  const JsonArray& in_turn = in.array_or_empty("in_turn");
  TERTULIA_TRY(in.finish_strict());
  TERTULIA_TRY_AS(ToolCallRecord call, from_json<ToolCallRecord>(*form));
  for (const Json& name : in_turn) {
    const bool is_input = name == Json("input");
    const auto& texts = is_input ? parts.inputs : parts.outputs;
    if (call.number >= texts.size()) return Error(ErrorCode::kDamaged, "a tool call is not in its turn");
    if (is_input) {
      TERTULIA_TRY_AS(call.input, JsonText::parse(texts[call.number]));
    } else {
      call.output = texts[call.number];
    }
  }
  return call;
}

}  // namespace

void ToldBeside::add(const ToldBeside& other) {
  turns = std::max(turns, other.turns);
  revision = std::max(revision, other.revision);
}

void write_told(JsonWriter& out, const ToldBeside& told) {
  if (told.turns != 0) out.key("turns").number(told.turns);
  if (number(told.revision) != 0) out.key("revision").number(number(told.revision));
}

ToldBeside read_told(JsonReader& in) {
  return {.turns = static_cast<std::uint64_t>(in.int_or("turns", 0, 0, kLargest)),
          .revision = Revision{static_cast<std::uint64_t>(in.int_or("revision", 0, 0, kLargest))}};
}

SessionKey key_of(const Session& session) {
  return {.tenant = session.tenant, .owner = session.owner, .session = session.id};
}

Result<std::string> session_document(const SessionKey& key, const Session& session) {
  TERTULIA_TRY_AS(Json form, parsed(to_json(session), "session '" + key.session.text() + "'"));
  return sealed_document(place_of(key, kSessionFile), {{"session", std::move(form)}});
}

Result<Session> read_session_document(std::string_view text) {
  TERTULIA_TRY_AS(Json json, parse_json(text, kFormLimits));
  JsonReader in(json, "session.json");
  const Json* form = in.required("session");
  in.required("crc");
  TERTULIA_TRY(in.finish());
  TERTULIA_TRY_AS(Session session, from_json<Session>(*form));
  TERTULIA_TRY(check_place(place_of(key_of(session), kSessionFile), text));
  return session;
}

std::optional<SessionKey> key_in_session_document(std::string_view text) {
  const Result<Json> json = parse_json(text, kFormLimits);
  const JsonObject* const top = json ? json->as_object() : nullptr;
  const Json* const session = top != nullptr ? top->find("session") : nullptr;
  return session != nullptr ? key_in(*session, "id") : std::nullopt;
}

Result<std::string> branch_document(const SessionKey& key, const BranchDocument& document) {
  const BranchHead& head = document.head;
  Branch branch{.id = head.id,
                .session = key.session,
                .state = head.state,
                .forked_from = head.forked_from,
                .label = head.label,
                .description = head.description,
                .tags = head.tags,
                .created_at = head.created_at,
                .last_activity = head.last_activity,
                .extra = head.extra};
  TERTULIA_TRY_AS(Json form, parsed(to_json(branch), "branch '" + head.id.text() + "' of session '" +
                                                         key.session.text() + "'"));
  form.as_object()->erase("turns");
  return sealed_document(place_of(key, branch_path(head.id) + "/" + std::string(kBranchFile)),
                         {{"branch", std::move(form)},
                          {"order", document.order},
                          {"revision", number(document.revision)},
                          {"time_us", micros(document.time)},
                          {"turns", document.turns}});
}

Result<BranchDocument> read_branch_document(const SessionKey& key, std::string_view directory,
                                            std::string_view text) {
  const std::string path = std::string(directory) + "/" + std::string(kBranchFile);
  TERTULIA_TRY_AS(Json json, open_document(place_of(key, path), text));
  JsonReader in(json, "branch.json");
  const Json* form = in.required("branch");
  BranchDocument document;
  document.order = required_count(in, "order");
  document.revision = Revision{required_count(in, "revision")};
  document.time = time_of(in.required_int("time_us", kSmallest, kLargest));
  document.turns = static_cast<std::uint64_t>(in.int_or("turns", 0, 0, kLargest));
  TERTULIA_TRY(in.finish());
  Json whole = *form;
  if (JsonObject* object = whole.as_object()) object->set("turns", JsonArray());
  TERTULIA_TRY_AS(Branch branch, from_json<Branch>(whole));
  if (branch_path(branch.id) != directory || branch.session != key.session) {
    return Error(ErrorCode::kDamaged, "the branch stands under another name than its own");
  }
  document.head = {.id = std::move(branch.id),
                   .forked_from = std::move(branch.forked_from),
                   .state = std::move(branch.state),
                   .label = std::move(branch.label),
                   .description = std::move(branch.description),
                   .tags = std::move(branch.tags),
                   .created_at = branch.created_at,
                   .last_activity = branch.last_activity,
                   .extra = std::move(branch.extra)};
  return document;
}

std::string header_line(const SessionKey& key, std::string_view path, const FileHeader& header) {
  std::string text;
  JsonWriter out(text);
  out.begin_object().key("file").string(header.file);
  out.key("tenant").string(key.tenant.text()).key("owner").string(key.owner.text());
  out.key("session").string(key.session.text()).key("branch").string(header.branch.text());
  if (header.generation != 0) out.key("generation").number(header.generation);
  if (!header.heads.empty()) {
    out.key("heads").begin_array();
    for (const auto& [scope, newest] : header.heads) {
      out.begin_object().key("scope").string(scope).key("newest").number(newest).end_object();
    }
    out.end_array();
  }
  write_told(out, header.told);
  if (header.forked_from) {
    out.key("parent").string(header.forked_from->parent.text());
    out.key("at_index").number(static_cast<std::uint64_t>(header.forked_from->at_index));
  }
  out.end_object();
  return sealed_line(place_of(key, path), std::move(text));
}

std::string lengths_document(const SessionKey& key, const StoredLengths& lengths) {
  JsonObject files;
  for (const auto& [path, length] : lengths) {
    files.set(path, JsonObject{{"generation", length.generation}, {"bytes", length.bytes}});
  }
  return sealed_document(place_of(key, kLengthsFile), {{"files", std::move(files)}});
}

StoredLengths read_lengths_document(const SessionKey& key, std::string_view text) {
  StoredLengths lengths;
  const Result<Json> json = open_document(place_of(key, kLengthsFile), text);
  const JsonObject* const top = json ? json->as_object() : nullptr;
  const Json* const files = top != nullptr ? top->find("files") : nullptr;
  if (files == nullptr || files->as_object() == nullptr) return lengths;
  for (const auto& [path, length] : *files->as_object()) {
    JsonReader in(length, kLengthsFile);
    const StoredLength stored{.generation = required_count(in, "generation"),
                              .bytes = required_count(in, "bytes")};
    if (in.finish()) lengths[path] = stored;
  }
  return lengths;
}

std::optional<SessionKey> key_in_header_line(std::string_view line) {
  const Result<Json> json = parse_json(line, kFormLimits);
  return json ? key_in(*json, "session") : std::nullopt;
}

Result<FileHeader> read_header_line(const SessionKey& key, std::string_view path, std::string_view line) {
  TERTULIA_TRY_AS(Json json, open_line(place_of(key, path), line));
  JsonReader in(json, path);
  FileHeader header;
  header.file = in.required_string("file");
  const std::string branch = in.required_string("branch");
  header.generation = static_cast<std::uint64_t>(in.int_or("generation", 0, 0, kLargest));
  const JsonArray& heads = in.array_or_empty("heads");
  header.told = read_told(in);
  const std::string parent = in.string_or("parent", "");
  const std::int64_t at_index = in.int_or("at_index", 0, 0, kLargest);
  TERTULIA_TRY(in.finish());
  if (!parent.empty()) {
    TERTULIA_TRY_AS(BranchId origin, BranchId::parse(parent));
    header.forked_from = ForkOrigin{std::move(origin), static_cast<decltype(ForkOrigin::at_index)>(at_index)};
  }
  if (!branch.empty()) {
    TERTULIA_TRY_AS(header.branch, BranchId::parse(branch));
  }
  for (const Json& head : heads) {
    JsonReader entry(head, "heads");
    const std::string scope = entry.required_string("scope");
    header.heads[scope] = required_count(entry, "newest");
    TERTULIA_TRY(entry.finish());
  }
  return header;
}

std::string turn_line(const SessionKey& key, std::string_view path, const TurnHead& head,
                      const AppendTurn& append) {
  std::string text;
  JsonWriter out(text);
  out.begin_object().key("number").number(head.number).key("revision").number(number(head.revision));
  out.key("first_index").number(head.first_index).key("count").number(head.count);
  out.key("time_us").number(micros(head.time)).key("state_at").number(head.state_at);
  out.key("turn").raw(to_json(append.turn));
  if (!append.tool_calls.empty()) {
    const CallParts parts = call_parts(append.turn);
    out.key("tool_calls").begin_array();
    for (const ToolCallRecord& call : append.tool_calls) write_tool_call(out, key, append, parts, call);
    out.end_array();
  }
  if (append.state) write_state(out.key("state"), *append.state);
  out.end_object();
  return sealed_line(place_of(key, path), std::move(text));
}

std::optional<TurnHead> read_turn_head(std::string_view line) {
  TurnHead head;
  std::uint64_t revision = 0;
  std::int64_t time = 0;
  const bool ours = take(line, "{\"number\":", head.number) && take(line, "\"revision\":", revision) &&
                    take(line, "\"first_index\":", head.first_index) &&
                    take(line, "\"count\":", head.count) && take(line, "\"time_us\":", time) &&
                    take(line, "\"state_at\":", head.state_at);
  if (!ours) return std::nullopt;
  head.revision = Revision{revision};
  head.time = time_of(time);
  return head;
}

Result<TurnLine> read_turn_line(const SessionKey& key, std::string_view path, const BranchId& branch,
                                std::string_view line) {
  TERTULIA_TRY_AS(Json json, open_line(place_of(key, path), line));
  const std::optional<TurnHead> head = read_turn_head(line);
  const JsonObject* object = json.as_object();
  const Json* form = object == nullptr ? nullptr : object->find("turn");
  if (!head || form == nullptr) return Error(ErrorCode::kDamaged, "the line holds no turn");
  TERTULIA_TRY_AS(Turn turn, from_json<Turn>(*form));
  TurnLine result{.head = *head, .append = {.branch = branch, .turn = std::move(turn)}};
  if (result.append.turn.messages().size() != head->count) {
    return Error(ErrorCode::kDamaged, "the line does not hold as many messages as it says");
  }
  if (const Json* calls = object->find("tool_calls"); calls != nullptr && calls->as_array() != nullptr) {
    const CallParts parts = call_parts(result.append.turn);
    for (const Json& call : *calls->as_array()) {
      TERTULIA_TRY_AS(ToolCallRecord record, read_tool_call(call, parts));
      result.append.tool_calls.push_back(std::move(record));
    }
  }
  if (const Json* state = object->find("state")) {
    TERTULIA_TRY_AS(result.append.state, read_state(*state));
  }
  return result;
}

}  // namespace tertulia
