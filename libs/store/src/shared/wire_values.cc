#include "wire_values.h"

#include <array>
#include <variant>

#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/commit_rules.h"

namespace tertulia {

std::size_t WireReader::count() {
  const std::uint64_t count = number();
  if (count <= bytes_.rest().size()) return count;
  bytes_.fail();
  return 0;
}

Result<void> WireReader::end() const {
  if (error_) return *error_;
  if (bytes_.at_end()) return {};
  return Error(ErrorCode::kDamaged, "what another process said of the store cannot be read");
}

void put_time(std::string& out, Time time) {
  put_u64(out, static_cast<std::uint64_t>(time.time_since_epoch().count()));
}

void put_json_text(std::string& out, const JsonText& text) { put_text(out, text.text()); }
JsonText take_json_text(WireReader& in) { return JsonText::written(in.text()); }

void put_uuid(std::string& out, const Uuid& uuid) {
  for (const std::uint8_t byte : uuid.bytes()) out.push_back(static_cast<char>(byte));
}
Uuid take_uuid(WireReader& in) {
  std::array<std::uint8_t, 16> bytes{};
  const std::string_view taken = in.take(bytes.size());
  for (std::size_t i = 0; i < taken.size(); ++i) bytes[i] = static_cast<std::uint8_t>(taken[i]);
  return Uuid(bytes);
}

void put_key(std::string& out, const SessionKey& key) {
  put_name(out, key.tenant);
  put_name(out, key.owner);
  put_name(out, key.session);
}
SessionKey take_key(WireReader& in) {
  SessionKey key;
  take_name(in, key.tenant);
  take_name(in, key.owner);
  take_name(in, key.session);
  return key;
}

void put_state(std::string& out, const MiddlewareState& state) {
  put_varint(out, state.size());
  for (const auto& [name, value] : state) {
    put_text(out, name);
    put_json_text(out, value);
  }
}
MiddlewareState take_state(WireReader& in) {
  MiddlewareState state;
  for (std::size_t left = in.count(); left > 0; --left) {
    std::string name = in.text();
    state.insert_or_assign(std::move(name), take_json_text(in));
  }
  return state;
}

void put_branch_head(std::string& out, const BranchHead& head) {
  put_name(out, head.id);
  put_maybe(out, head.forked_from, [](std::string& to, const ForkOrigin& origin) {
    put_name(to, origin.parent);
    put_varint(to, origin.at_index);
  });
  put_state(out, head.state);
  put_text(out, head.label);
  put_text(out, head.description);
  put_varint(out, head.tags.size());
  for (const std::string& tag : head.tags) put_text(out, tag);
  put_time(out, head.created_at);
  put_time(out, head.last_activity);
  put_json_text(out, head.extra);
  put_varint(out, head.message_count);
}
BranchHead take_branch_head(WireReader& in) {
  BranchHead head;
  take_name(in, head.id);
  take_maybe(in, head.forked_from, [](WireReader& from) {
    ForkOrigin origin;
    take_name(from, origin.parent);
    origin.at_index = from.number();
    return origin;
  });
  head.state = take_state(in);
  head.label = in.text();
  head.description = in.text();
  for (std::size_t left = in.count(); left > 0; --left) head.tags.push_back(in.text());
  head.created_at = in.time();
  head.last_activity = in.time();
  head.extra = take_json_text(in);
  head.message_count = in.number();
  return head;
}

void put_turn(std::string& out, const Turn& turn) {
  put_uuid(out, turn.id().uuid());
  put_varint(out, turn.messages().size());
  for (const Message& message : turn.messages()) put_text(out, message.block());
}
Result<Turn> take_turn(WireReader& in) {
  const TurnId id(take_uuid(in));
  std::vector<Message> messages;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    messages.push_back(in.checked(Message::from_block(in.view())));
  }
  TERTULIA_TRY(in.ok() ? Result<void>() : in.end());
  return Turn::from_messages(id, std::move(messages));
}

void put_tool_call(std::string& out, const ToolCallRecord& call) {
  put_uuid(out, call.id.uuid());
  put_name(out, call.session);
  put_name(out, call.branch);
  put_uuid(out, call.turn.uuid());
  put_varint(out, call.number);
  put_text(out, call.call_id);
  put_text(out, call.tool);
  put_json_text(out, call.input);
  put_text(out, call.output);
  put_text(out, call.error);
  put_time(out, call.called_at);
  put_u64(out, static_cast<std::uint64_t>(call.duration.count()));
  put_varint(out, static_cast<std::uint64_t>(call.tool_class));
  put_varint(out, static_cast<std::uint64_t>(call.approval));
  put_varint(out, static_cast<std::uint64_t>(call.outcome));
  put_json_text(out, call.extra);
}
ToolCallRecord take_tool_call(WireReader& in) {
  ToolCallRecord call;
  call.id = ToolCallId(take_uuid(in));
  take_name(in, call.session);
  take_name(in, call.branch);
  call.turn = TurnId(take_uuid(in));
  call.number = static_cast<std::uint32_t>(in.number());
  call.call_id = in.text();
  call.tool = in.text();
  call.input = take_json_text(in);
  call.output = in.text();
  call.error = in.text();
  call.called_at = in.time();
  call.duration = in.time().time_since_epoch();
  call.tool_class = in.one_of(ToolClass::kUnsafe);
  call.approval = in.one_of(Approval::kExpired);
  call.outcome = in.one_of(ToolOutcome::kInterrupted);
  call.extra = take_json_text(in);
  return call;
}

void put_stream(std::string& out, const StreamId& stream) {
  put_varint(out, static_cast<std::uint64_t>(stream.kind));
  put_name(out, stream.branch);
  put_text(out, stream.scope);
}
StreamId take_stream(WireReader& in) {
  StreamId stream;
  stream.kind = in.one_of(kAllRecordKinds.back());
  take_name(in, stream.branch);
  stream.scope = in.text();
  return stream;
}

void put_record(std::string& out, const Record& record) {
  put_stream(out, record.stream);
  put_varint(out, record.number);
  put_time(out, record.time);
  put_text(out, record.key);
  put_text(out, record.name);
  put_text(out, record.payload);
}
Record take_record(WireReader& in) {
  Record record;
  record.stream = take_stream(in);
  record.number = in.number();
  record.time = in.time();
  record.key = in.text();
  record.name = in.text();
  record.payload = in.text();
  return record;
}

Result<void> put_session(std::string& out, const SessionKey& key, const Session& session) {
  TERTULIA_TRY(check_key(key));
  TERTULIA_TRY(check_end(session));
  Session whole = session;
  if (whole.id.empty()) whole.id = key.session;
  if (whole.tenant.empty()) whole.tenant = key.tenant;
  if (whole.owner.empty()) whole.owner = key.owner;
  const std::string form = to_json(whole);
  const Result<Session> back = parse_form<Session>(form);
  if (!back) return back.error();
  if (*back != whole) {
    return Error(ErrorCode::kBadUnicode,
                 "session '" + key.session.text() + "' has fields that its JSON form cannot hold");
  }
  put_text(out, form);
  return {};
}
Session take_session(WireReader& in) { return in.checked(parse_form<Session>(in.view())); }

namespace {
enum class FactKind : std::uint8_t { kNumber, kText, kTexts };
}  // namespace

void put_error(std::string& out, const Error& error) {
  put_text(out, name_of(error.code()));
  put_text(out, error.message());
  put_varint(out, error.facts().size());
  for (const ErrorFact& fact : error.facts()) {
    put_text(out, fact.name);
    put_varint(out, fact.value.index());
    if (const auto* value = std::get_if<std::int64_t>(&fact.value)) {
      put_u64(out, static_cast<std::uint64_t>(*value));
    } else if (const auto* text = std::get_if<std::string>(&fact.value)) {
      put_text(out, *text);
    } else if (const auto* texts = std::get_if<std::vector<std::string>>(&fact.value)) {
      put_varint(out, texts->size());
      for (const std::string& one : *texts) put_text(out, one);
    }
  }
}

Error take_error(WireReader& in) {
  const std::optional<ErrorCode> code = error_code_named(in.view());
  // A code of a newer version: what can be done about it is not known here.
  Error error(code.value_or(ErrorCode::kNeedsVersion), in.text());
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    std::string name = in.text();
    ErrorFact::Value value;
    switch (in.one_of(FactKind::kTexts)) {
      case FactKind::kNumber:
        value = in.time().time_since_epoch().count();
        break;
      case FactKind::kText:
        value = in.text();
        break;
      case FactKind::kTexts: {
        std::vector<std::string> texts;
        for (std::size_t more = in.count(); more > 0; --more) texts.push_back(in.text());
        value = std::move(texts);
        break;
      }
    }
    error = std::move(error).with(std::move(name), std::move(value));
  }
  return error;
}

}  // namespace tertulia
