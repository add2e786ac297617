// Messages, turns and transcripts. Written by hand, not described: a message is no struct, and long
// transcripts pass through here.
#include <deque>
#include <vector>

#include "tertulia/conversation/json_forms.h"

#include "json_fields.h"

namespace tertulia {
namespace {

// Arguments nest in the form only when that reads back byte for byte and leaves room for what stands around
// them; otherwise they stand there as text.
constexpr JsonLimits kNestedLimits{.depth = 32, .values = 10'000};

bool nests(std::string_view arguments) {
  const auto parsed = parse_json(arguments, kNestedLimits);
  return parsed && !parsed->is_null() && to_text(*parsed) == arguments;
}

void write_text(FieldWriter& fields, std::string_view key, std::string_view text) {
  fields.named(key).string(text);
}

void write_text_unless_empty(FieldWriter& fields, std::string_view key, std::string_view text) {
  if (text.empty()) {
    fields.reserve(key);
  } else {
    write_text(fields, key, text);
  }
}

void write_arguments(FieldWriter& fields, std::string_view arguments) {
  fields.reserve("arguments");
  fields.reserve("arguments_text");
  if (nests(arguments)) {
    fields.named("arguments").raw(arguments);
  } else {
    write_text(fields, "arguments_text", arguments);
  }
}

void write_part(JsonWriter& out, const Part& part) {
  out.begin_object();
  FieldWriter fields(out, Place::kInside);
  fields.begin(part.extra);
  fields.required("kind", part.kind);
  switch (part.kind) {
    case PartKind::kText:
      write_text(fields, "text", part.text);
      break;
    case PartKind::kReasoning:
      write_text(fields, "text", part.text);
      write_text_unless_empty(fields, "signature", part.call_id);
      break;
    case PartKind::kToolCall:
      write_text(fields, "tool", part.name);
      write_text(fields, "call_id", part.call_id);
      write_arguments(fields, part.text);
      break;
    case PartKind::kToolResult:
      write_text_unless_empty(fields, "tool", part.name);
      write_text(fields, "call_id", part.call_id);
      fields.required("outcome", part.outcome);
      write_text(fields, "output", part.text);
      break;
    case PartKind::kImage:
    case PartKind::kFile:
      write_text_unless_empty(fields, "media_type", part.name);
      write_text_unless_empty(fields, "asset", part.call_id);
      write_text_unless_empty(fields, "address", part.text);
      break;
  }
  fields.finish();
  out.end_object();
}

// One part of text, the usual case, needs no list.
bool is_plain(const Message& message) {
  if (message.part_count() != 1) return false;
  const Part part = message.part(0);
  return part.kind == PartKind::kText && part.extra.empty();
}

void write_message(JsonWriter& out, const Message& message, Place place) {
  out.begin_object();
  FieldWriter fields(out, place);
  fields.begin(message.extra());
  fields.required("id", message.id());
  fields.required("role", message.role());
  fields.required("time", message.time());
  write_text_unless_empty(fields, "author", message.author());
  fields.required("origin", message.origin());
  write_text_unless_empty(fields, "source", message.source());
  write_text_unless_empty(fields, "source_id", message.source_id());
  fields.optional("tokens", message.tokens());
  fields.optional("counted", message.counted());
  fields.optional("interrupted", message.interrupted());
  fields.optional("internal", message.internal());
  fields.reserve("text");
  fields.reserve("parts");
  if (is_plain(message)) {
    write_text(fields, "text", message.part(0).text);
  } else {
    fields.named("parts").begin_array();
    for (std::size_t i = 0; i < message.part_count(); ++i) write_part(out, message.part(i));
    out.end_array();
  }
  fields.finish();
  out.end_object();
}

// Reads one message. The draft it fills looks into the JSON and into `texts_`.
class MessageReader {
 public:
  explicit MessageReader(const Json& json, Place place) : fields_(json, place) {}

  Result<Message> read() {
    fields_.begin("message");
    fields_.required("id", draft_.id);
    fields_.required("role", draft_.role);
    fields_.required("time", draft_.time);
    fields_.required("origin", draft_.origin);
    fields_.optional("tokens", draft_.tokens);
    fields_.optional("counted", draft_.counted);
    fields_.optional("interrupted", draft_.interrupted);
    fields_.optional("internal", draft_.internal);
    draft_.author = text(fields_, "author");
    draft_.source = text(fields_, "source");
    draft_.source_id = text(fields_, "source_id");
    read_content();
    draft_.extra = extra_of(fields_);
    TERTULIA_TRY(fields_.problem());
    auto made = Message::make(draft_);
    if (!made) return std::move(made).error().in("message");
    return made;
  }

 private:
  std::string_view extra_of(FieldReader& fields) {
    const JsonObject rest = fields.rest();
    return rest.empty() ? std::string_view() : keep(to_text(Json(rest)));
  }

  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  // The text of `key`, which stays in the JSON; empty if it is not there.
  static std::string_view text(FieldReader& fields, std::string_view key) {
    const Json* value = fields.peek(key);
    if (value == nullptr) return {};
    if (const std::string* found = value->as_string()) return *found;
    fields.fail(at(wrong_type("a string", *value), std::string(key)));
    return {};
  }

  static std::string_view required_text(FieldReader& fields, std::string_view key) {
    if (fields.peek(key) == nullptr) fields.missing(key);
    return text(fields, key);
  }

  void read_content() {
    const Json* plain = fields_.peek("text");
    const Json* parts = fields_.peek("parts");
    if (plain != nullptr && parts != nullptr) {
      fields_.fail(
          at(Error(ErrorCode::kOutOfRange, "must not stand beside 'parts': a message has one of them."),
             "text"));
    } else if (plain != nullptr) {
      draft_.parts.push_back(Part::text_of(text(fields_, "text")));
    } else if (parts == nullptr) {
      fields_.fail(Error(ErrorCode::kMissingField, "there is neither a 'text' nor a list of 'parts'.")
                       .with("param", "text"));
    } else if (const JsonArray* array = parts->as_array()) {
      read_parts(*array);
    } else {
      fields_.fail(at(wrong_type("an array", *parts), "parts"));
    }
  }

  void read_parts(const JsonArray& array) {
    draft_.parts.reserve(array.size());
    for (std::size_t i = 0; i < array.size() && !fields_.failed(); ++i) {
      FieldReader fields(array[i], Place::kInside);
      Part part = read_part(fields);
      if (auto problem = fields.problem(); !problem) {
        fields_.fail(at(at(std::move(problem).error(), "[" + std::to_string(i) + "]"), "parts"));
        return;
      }
      part.extra = extra_of(fields);
      draft_.parts.push_back(part);
    }
  }

  Part read_part(FieldReader& fields) {
    Part part;
    fields.begin("part");
    fields.required("kind", part.kind);
    if (fields.failed()) return part;
    switch (part.kind) {
      case PartKind::kText:
        part.text = required_text(fields, "text");
        break;
      case PartKind::kReasoning:
        part.text = required_text(fields, "text");
        part.call_id = text(fields, "signature");
        break;
      case PartKind::kToolCall:
        part.name = required_text(fields, "tool");
        part.call_id = required_text(fields, "call_id");
        part.text = read_arguments(fields);
        break;
      case PartKind::kToolResult:
        part.name = text(fields, "tool");
        part.call_id = required_text(fields, "call_id");
        fields.required("outcome", part.outcome);
        part.text = required_text(fields, "output");
        break;
      case PartKind::kImage:
      case PartKind::kFile:
        part.name = text(fields, "media_type");
        part.call_id = text(fields, "asset");
        part.text = text(fields, "address");
        break;
    }
    return part;
  }

  std::string_view read_arguments(FieldReader& fields) {
    const Json* value = fields.peek("arguments");
    if (value == nullptr) return required_text(fields, "arguments_text");
    if (fields.peek("arguments_text") != nullptr) {
      fields.fail(
          at(Error(ErrorCode::kOutOfRange, "must not stand beside 'arguments_text': a call has one of them."),
             "arguments"));
    }
    return keep(to_text(*value));
  }

  FieldReader fields_;
  MessageDraft draft_;
  std::deque<std::string> texts_;
};

Result<Message> read_message(const Json& json, Place place) { return MessageReader(json, place).read(); }

// A turn of a transcript: the messages of one commit.
struct CommittedTurn {
  Revision revision{};
  std::vector<Message> messages;
};

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<CommittedTurn> turn) {
  fields.closed("turn");
  fields.required("revision", turn.revision);
  fields.required("messages", turn.messages);
}

Result<void> append_turn(Transcript& transcript, CommittedTurn turn) {
  if (!transcript.empty() && turn.revision <= transcript.last_revision()) {
    return at(Error(ErrorCode::kOutOfRange, "is " + std::to_string(number(turn.revision)) +
                                                "; the revisions of a transcript rise from turn to turn."),
              "revision");
  }
  auto whole = Turn::from_messages(TurnId(), std::move(turn.messages));
  if (!whole) return at(std::move(whole).error(), "messages");
  transcript.append(*whole, turn.revision);
  return {};
}

// A turn that stands alone.
struct TurnForm {
  TurnId id;
  std::vector<Message> messages;
};

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<TurnForm> turn) {
  fields.closed("turn");
  fields.required("id", turn.id);
  fields.required("messages", turn.messages);
}

}  // namespace

void write_value(JsonWriter& out, const Message& value) { write_message(out, value, Place::kInside); }

Result<void> read_value(const Json& json, Message& value) {
  TERTULIA_TRY_AS(value, read_message(json, Place::kInside));
  return {};
}

void append_json(std::string& out, const Message& value) {
  JsonWriter writer(out);
  write_message(writer, value, Place::kAlone);
}

template <>
Result<Message> from_json<Message>(const Json& form) {
  return read_message(form, Place::kAlone);
}

void write_value(JsonWriter& out, const Transcript& value) {
  out.begin_array();
  Revision open{};
  value.for_each(0, value.size(), [&](std::size_t index, const Message& message) {
    const Revision revision = value.revision_at(index);
    if (index == 0 || revision != open) {
      if (index > 0) out.end_array().end_object();
      out.begin_object().key("revision").number(number(revision)).key("messages").begin_array();
      open = revision;
    }
    write_value(out, message);
  });
  if (!value.empty()) out.end_array().end_object();
  out.end_array();
}

Result<void> read_value(const Json& json, Transcript& value) {
  const JsonArray* turns = json.as_array();
  if (turns == nullptr) return wrong_type("an array", json);
  Transcript transcript;
  for (std::size_t i = 0; i < turns->size(); ++i) {
    CommittedTurn turn;
    auto done = read_fields((*turns)[i], turn, Place::kInside);
    if (done) done = append_turn(transcript, std::move(turn));
    if (!done) return at(std::move(done).error(), "[" + std::to_string(i) + "]");
  }
  value = std::move(transcript);
  return {};
}

template <class Fields>
void describe(Fields& fields, typename Fields::template Ref<Transcript> transcript) {
  fields.closed("transcript");
  fields.required("turns", transcript);
}
TERTULIA_DEFINE_FORM(Transcript)

void append_json(std::string& out, const Turn& value) {
  JsonWriter writer(out);
  const TurnForm form{.id = value.id(), .messages = {value.messages().begin(), value.messages().end()}};
  write_fields(writer, form, Place::kAlone);
}

template <>
Result<Turn> from_json<Turn>(const Json& json) {
  TurnForm form;
  TERTULIA_TRY(read_fields(json, form, Place::kAlone));
  auto turn = Turn::from_messages(form.id, std::move(form.messages));
  if (!turn) return at(std::move(turn).error(), "messages").in("turn");
  return turn;
}

}  // namespace tertulia
