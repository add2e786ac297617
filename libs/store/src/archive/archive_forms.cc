#include "archive_forms.h"

#include <cstdint>
#include <utility>

#include "tertulia/base/base64.h"
#include "tertulia/base/json.h"
#include "tertulia/base/utf8.h"
#include "tertulia/conversation/json_forms.h"

namespace tertulia {

namespace {

// A payload nests as JSON if that leaves room for what stands around it.
constexpr JsonLimits kNestedLimits{.depth = 64, .values = 1'000'000};
constexpr std::int64_t kMost = INT64_MAX;

// The line under way: `{"kind":"…"` and what is added.
class Line {
 public:
  explicit Line(std::string_view kind) : out_(text_) { out_.begin_object().key("kind").string(kind); }

  Line& string(std::string_view key, std::string_view value) {
    out_.key(key).string(value);
    return *this;
  }
  Line& unless_empty(std::string_view key, std::string_view value) {
    return value.empty() ? *this : string(key, value);
  }
  Line& number(std::string_view key, std::uint64_t value) {
    out_.key(key).number(value);
    return *this;
  }
  Line& integer(std::string_view key, std::int64_t value) {
    out_.key(key).number(value);
    return *this;
  }
  Line& raw(std::string_view key, std::string_view json) {
    out_.key(key).raw(json);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  JsonWriter out_;
};

void add_payload(Line& line, const std::string& payload) {
  if (payload.starts_with('{')) {
    const auto parsed = parse_json(payload, kNestedLimits);
    if (parsed && to_text(*parsed) == payload) {
      line.raw("json", payload);
      return;
    }
  }
  if (is_utf8(payload)) {
    line.string("text", payload);
  } else {
    line.string("base64", to_base64(payload));
  }
}

Result<std::string> read_payload(JsonReader& in) {
  const Json* json = in.optional("json");
  const Json* text = in.optional("text");
  const Json* base64 = in.optional("base64");
  if ((json != nullptr) + (text != nullptr) + (base64 != nullptr) != 1) {
    return Error(ErrorCode::kMissingField,
                 "record: exactly one of 'json', 'text' and 'base64' must be there");
  }
  if (json != nullptr) return to_text(*json);
  const std::string* string = (text != nullptr ? text : base64)->as_string();
  if (string == nullptr) return Error(ErrorCode::kWrongType, "record: the payload must be a string");
  if (text != nullptr) return *string;
  std::optional<std::string> bytes = from_base64(*string);
  if (!bytes) return Error(ErrorCode::kDamaged, "field 'base64' is not base 64");
  return *std::move(bytes);
}

Result<ArchiveItem> read_header(JsonReader& in) {
  const std::string format = in.required_string("format");
  const std::string version = in.required_string("v");
  TERTULIA_TRY(in.finish());
  if (format != "tertulia") return Error(ErrorCode::kForeignData, "this is no archive of Tertulia");
  if (!version.starts_with("1.")) {
    return Error(ErrorCode::kNeedsVersion, "the archive has version " + version +
                                               "; this program reads version " +
                                               std::string(kArchiveVersion) + ": use a newer one")
        .with("version", version);
  }
  return ArchiveItem(ArchiveHeader{});
}

Result<ArchiveItem> read_session(JsonReader& in) {
  const Json* form = in.required("session");
  TERTULIA_TRY(in.finish());
  TERTULIA_TRY_AS(Session session, from_json<Session>(*form));
  return ArchiveItem(std::move(session));
}

Result<ArchiveItem> read_branch(JsonReader& in) {
  const Json* form = in.required("branch");
  const auto messages = static_cast<std::uint64_t>(in.required_int("messages", 0, kMost));
  TERTULIA_TRY(in.finish());
  TERTULIA_TRY_AS(Branch branch, from_json<Branch>(*form));
  return ArchiveItem(ArchivedBranch{.head = {.id = std::move(branch.id),
                                             .forked_from = std::move(branch.forked_from),
                                             .state = std::move(branch.state),
                                             .label = std::move(branch.label),
                                             .description = std::move(branch.description),
                                             .tags = std::move(branch.tags),
                                             .created_at = branch.created_at,
                                             .last_activity = branch.last_activity,
                                             .extra = std::move(branch.extra),
                                             .message_count = messages}});
}

Result<ArchiveItem> read_turn(JsonReader& in) {
  const std::string branch_text = in.required_string("branch");
  const auto revision = static_cast<std::uint64_t>(in.required_int("revision", 1, kMost));
  const Json* form = in.required("turn");
  const JsonArray& calls = in.array_or_empty("tool_calls");
  TERTULIA_TRY(in.finish());
  TERTULIA_TRY_AS(BranchId branch, BranchId::parse(branch_text));
  TERTULIA_TRY_AS(Turn turn, from_json<Turn>(*form));
  std::vector<ToolCallRecord> tool_calls;
  for (const Json& call : calls) {
    TERTULIA_TRY_AS(ToolCallRecord record, from_json<ToolCallRecord>(call));
    tool_calls.push_back(std::move(record));
  }
  return ArchiveItem(ArchivedTurn{.branch = std::move(branch),
                                  .revision = Revision{revision},
                                  .turn = std::move(turn),
                                  .tool_calls = std::move(tool_calls)});
}

Result<ArchiveItem> read_record(JsonReader& in) {
  Record record;
  const std::string kind = in.required_string("record");
  const std::string branch = in.string_or("branch", "");
  record.stream.scope = in.string_or("scope", "");
  record.number = static_cast<std::uint64_t>(in.required_int("number", 1, kMost));
  record.time = Time(Duration(in.required_int("time_us", INT64_MIN, kMost)));
  record.key = in.string_or("key", "");
  record.name = in.string_or("name", "");
  TERTULIA_TRY_AS(record.payload, read_payload(in));
  TERTULIA_TRY(in.finish());
  TERTULIA_TRY_AS(record.stream.kind, record_kind_named(kind));
  if (!branch.empty()) {
    TERTULIA_TRY_AS(record.stream.branch, BranchId::parse(branch));
  }
  return ArchiveItem(std::move(record));
}

Result<ArchiveItem> read_end(JsonReader& in) {
  ArchiveEnd end;
  const auto count = [&](std::string_view key) {
    return static_cast<std::uint64_t>(in.required_int(key, 0, kMost));
  };
  end.counts = {.sessions = count("sessions"),
                .branches = count("branches"),
                .turns = count("turns"),
                .messages = count("messages"),
                .records = count("records"),
                .bytes = count("bytes")};
  end.sha256 = in.required_string("sha256");
  TERTULIA_TRY(in.finish());
  return ArchiveItem(std::move(end));
}

}  // namespace

std::string header_line() {
  return Line("archive").string("format", "tertulia").string("v", kArchiveVersion).take();
}

std::string line_of(const Session& session) {
  return Line("session").raw("session", to_json(session)).take();
}

std::string line_of(const BranchHead& head, const SessionId& session) {
  const Branch branch{.id = head.id,
                      .session = session,
                      .transcript = {},
                      .state = head.state,
                      .forked_from = head.forked_from,
                      .label = head.label,
                      .description = head.description,
                      .tags = head.tags,
                      .created_at = head.created_at,
                      .last_activity = head.last_activity,
                      .extra = head.extra};
  return Line("branch").number("messages", head.message_count).raw("branch", to_json(branch)).take();
}

std::string line_of(const BranchId& branch, const StoredTurn& turn,
                    const std::vector<std::string>& tool_calls) {
  Line line("turn");
  line.string("branch", branch.text())
      .number("revision", number(turn.revision))
      .raw("turn", to_json(turn.turn));
  if (!tool_calls.empty()) {
    std::string array = "[";
    for (const std::string& call : tool_calls) array += (array.size() > 1 ? "," : "") + call;
    line.raw("tool_calls", array + "]");
  }
  return line.take();
}

std::string line_of(const Record& record) {
  Line line("record");
  line.string("record", name_of(record.stream.kind));
  line.unless_empty("branch", record.stream.branch.text()).unless_empty("scope", record.stream.scope);
  line.number("number", record.number).integer("time_us", record.time.time_since_epoch().count());
  line.unless_empty("key", record.key).unless_empty("name", record.name);
  add_payload(line, record.payload);
  return line.take();
}

std::string line_of(const ArchiveEnd& end) {
  return Line("end")
      .number("sessions", end.counts.sessions)
      .number("branches", end.counts.branches)
      .number("turns", end.counts.turns)
      .number("messages", end.counts.messages)
      .number("records", end.counts.records)
      .number("bytes", end.counts.bytes)
      .string("sha256", end.sha256)
      .take();
}

Result<ArchiveItem> parse_item(std::string_view object) {
  TERTULIA_TRY_AS(const Json json, parse_json(std::string(object) + "}", kFormLimits));
  JsonReader in(json, "line");
  const std::string kind = in.required_string("kind");
  TERTULIA_TRY(in.finish());
  if (kind == "archive") return read_header(in);
  if (kind == "session") return read_session(in);
  if (kind == "branch") return read_branch(in);
  if (kind == "turn") return read_turn(in);
  if (kind == "record") return read_record(in);
  if (kind == "end") return read_end(in);
  return Error(ErrorCode::kOutOfRange,
               "there is no kind of line '" + sanitize_utf8(utf8_prefix(kind, 40)) + "'");
}

}  // namespace tertulia
