// The lines of files of records.
#include <utility>

#include "tertulia/base/base64.h"
#include "tertulia/base/utf8.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/crc32c.h"

#include "checked_text.h"
#include "names.h"
#include "stored_forms.h"

namespace tertulia {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
// JSON up to this size is written as what it is, so that a person can read it; larger text as a string.
constexpr std::size_t kLargestReadable = 64U << 10U;

// Only what reads back byte for byte.
bool is_plain_json(std::string_view payload) {
  if (payload.empty() || payload.size() > kLargestReadable) return false;
  if (payload.front() != '{' && payload.front() != '[') return false;
  const Result<Json> json = parse_json(payload);
  return json && to_text(*json) == payload;
}

void write_payload(JsonWriter& out, const Record& record) {
  if (is_plain_json(record.payload)) {
    out.key("value").raw(record.payload);
  } else if (!find_bad_utf8(record.payload)) {
    out.key("text").string(record.payload);
  } else {
    out.key("base64").string(to_base64(record.payload));
  }
}

void write_item(JsonWriter& out, const RecordItem& item) {
  const Record& record = item.record;
  out.begin_object();
  if (!record.stream.scope.empty()) out.key("scope").string(record.stream.scope);
  if (item.is_drop) {
    out.key("drop_up_to").number(record.number).end_object();
    return;
  }
  out.key("number").number(record.number).key("time_us").number(record.time.time_since_epoch().count());
  if (!record.key.empty()) out.key("key").string(record.key);
  if (!record.name.empty()) out.key("name").string(record.name);
  if (item.is_outside) {
    out.key("asset").begin_object().key("bytes").number(item.outside_bytes);
    out.key("sum").number(std::uint64_t{item.outside_sum}).end_object();
  } else {
    write_payload(out, record);
  }
  out.end_object();
}

Result<void> read_payload(JsonReader& in, RecordItem& item) {
  if (const Json* asset = in.optional("asset")) {
    JsonReader outside(*asset, "asset");
    item.is_outside = true;
    item.outside_bytes = static_cast<std::uint64_t>(outside.required_int("bytes", 0, kMaxRecordBytes));
    item.outside_sum = static_cast<std::uint32_t>(outside.required_int("sum", 0, 0xFFFFFFFF));
    return outside.finish();
  }
  if (const Json* value = in.optional("value")) {
    item.record.payload = to_text(*value);
    return {};
  }
  if (const Json* bytes = in.optional("base64"); bytes != nullptr && bytes->as_string() != nullptr) {
    std::optional<std::string> payload = from_base64(*bytes->as_string());
    if (!payload) return Error(ErrorCode::kDamaged, "the payload is not base64");
    item.record.payload = *std::move(payload);
    return {};
  }
  item.record.payload = in.required_string("text");
  return in.finish();
}

Result<RecordItem> read_item(const Json& json, const StreamId& stream) {
  JsonReader in(json, "record");
  RecordItem item;
  item.record.stream = stream;
  item.record.stream.scope = in.string_or("scope", "");
  if (in.optional("drop_up_to") != nullptr) {
    item.is_drop = true;
    item.record.number = static_cast<std::uint64_t>(in.required_int("drop_up_to", 0, kLargest));
    TERTULIA_TRY(in.finish());
    return item;
  }
  item.record.number = static_cast<std::uint64_t>(in.required_int("number", 1, kLargest));
  item.record.time = Time(Duration(in.required_int("time_us", kSmallest, kLargest)));
  item.record.key = in.string_or("key", "");
  item.record.name = in.string_or("name", "");
  TERTULIA_TRY(read_payload(in, item));
  TERTULIA_TRY(in.finish());
  return item;
}

}  // namespace

bool stands_outside(const Record& record) { return record.stream.kind == RecordKind::kAsset; }

std::uint32_t asset_checksum(const SessionKey& key, const Record& record, std::string_view payload) {
  return record_checksum(place_of(key, asset_path(record.stream, record.number)), payload);
}

std::string record_line(const SessionKey& key, std::string_view path, const std::vector<RecordItem>& items,
                        const ToldBeside& told) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  if (items.size() == 1) {
    write_item(out.key("record"), items.front());
  } else {
    out.key("records").begin_array();
    for (const RecordItem& item : items) write_item(out, item);
    out.end_array();
  }
  write_told(out, told);
  out.end_object();
  return sealed_line(place_of(key, path), std::move(text));
}

Result<RecordLine> read_record_line(const SessionKey& key, std::string_view path, const FileHeader& header,
                                    std::string_view line) {
  TERTULIA_TRY_AS(Json json, open_line(place_of(key, path), line));
  TERTULIA_TRY_AS(const RecordKind kind, record_kind_named(header.file));
  const StreamId stream{.kind = kind, .branch = header.branch};
  RecordLine result;
  JsonReader in(json, "line");
  result.told = read_told(in);
  const Json* one = in.optional("record");
  const Json* several = in.optional("records");
  TERTULIA_TRY(in.finish());
  if (one != nullptr) {
    TERTULIA_TRY_AS(RecordItem item, read_item(*one, stream));
    result.items.push_back(std::move(item));
    return result;
  }
  if (several == nullptr || several->as_array() == nullptr) {
    return Error(ErrorCode::kDamaged, "the line holds no record");
  }
  for (const Json& each : *several->as_array()) {
    TERTULIA_TRY_AS(RecordItem item, read_item(each, stream));
    result.items.push_back(std::move(item));
  }
  return result;
}

}  // namespace tertulia
