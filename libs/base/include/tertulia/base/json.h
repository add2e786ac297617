// JSON as values and as text.
//
// Reading is strict, because what is read comes from models, clients and disks: depth is bounded while
// parsing, a key may stand once, text must be well-formed Unicode, numbers must be finite and are read
// exactly. Writing is canonical: shortest numbers that read back the same, no spaces, keys in the order they
// were given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tertulia/base/result.h"

namespace tertulia {

class Json;

using JsonArray = std::vector<Json>;

// Keys in the order in which they were added. Looking one up costs the number of keys: our objects are small.
class JsonObject {
 public:
  using Member = std::pair<std::string, Json>;

  JsonObject();
  JsonObject(std::initializer_list<Member> members);
  JsonObject(const JsonObject&);
  JsonObject(JsonObject&&) noexcept;
  JsonObject& operator=(const JsonObject&);
  JsonObject& operator=(JsonObject&&) noexcept;
  ~JsonObject();

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  const Member* begin() const;
  const Member* end() const;
  Member* begin();
  Member* end();

  // The value of `key`, or null.
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key);
  // Sets `key`, at the end if it is new.
  void set(std::string key, Json value);
  // Adds a key that is known not to be there.
  void append(std::string key, Json value);
  // True if it was there.
  bool erase(std::string_view key);

  bool operator==(const JsonObject&) const;

 private:
  std::vector<Member> members_;
};

// A JSON value. Integers keep their 64 bits; -0.0, 1 and 1.0 are told apart by kind, not by text.
class Json {
 public:
  using Variant = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string,
                               JsonArray, JsonObject>;
  // Implicit: a value is a Json as it stands. NOLINTBEGIN(google-explicit-constructor)
  Json() : value_(nullptr) {}
  Json(std::nullptr_t) : value_(nullptr) {}
  Json(bool value) : value_(value) {}
  Json(int value) : value_(std::int64_t{value}) {}
  Json(std::int64_t value) : value_(value) {}
  // Kept as a signed integer where it fits one.
  Json(std::uint64_t value);
  // One that is not finite is null: JSON has no way to write it.
  Json(double value);
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(JsonArray value) : value_(std::move(value)) {}
  Json(JsonObject value) : value_(std::move(value)) {}
  // NOLINTEND(google-explicit-constructor)
  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  // "null", "boolean", "integer", "number", "string", "array" or "object".
  std::string_view type_name() const;

  // Null when the value is of another type.
  const bool* as_bool() const { return std::get_if<bool>(&value_); }
  const std::int64_t* as_int() const { return std::get_if<std::int64_t>(&value_); }
  const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  const JsonArray* as_array() const { return std::get_if<JsonArray>(&value_); }
  const JsonObject* as_object() const { return std::get_if<JsonObject>(&value_); }
  JsonArray* as_array() { return std::get_if<JsonArray>(&value_); }
  JsonObject* as_object() { return std::get_if<JsonObject>(&value_); }

  const Variant& variant() const { return value_; }

  bool operator==(const Json&) const = default;

 private:
  Variant value_;
};

struct JsonLimits {
  // How deep arrays and objects may nest; 255 at most. Default: 64.
  std::size_t depth = 64;
  // How many values there may be in all. Default: 100,000.
  std::size_t values = 100'000;
};

// Reads one value that fills `text`; a byte order mark before it is passed over.
// kEmptyBody, kBadJson {line, column}, kTooDeep {limit}, kTooLarge {limit}, kDuplicateKey {param},
// kBadNumber, kBadUnicode {offset}.
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

// Ok if parse_json would accept the text.
Result<void> check_json(std::string_view text, const JsonLimits& limits = {});

// One line, no spaces. Strings must hold well-formed UTF-8: use sanitize_utf8 on what was not checked.
std::string to_text(const Json& value);
void append_text(std::string& out, const Json& value);
// Indented by two spaces, for people.
std::string to_pretty_text(const Json& value);

// RFC 8785 in spirit: keys sorted by bytes, shortest numbers. The same value gives the same text, so it can
// be hashed.
std::string to_canonical_text(const Json& value);

// Reads fields of an object and reports what is missing, of another type, out of range, or not known.
//
//   JsonReader in(object, "session");
//   SessionId id; in.required("id", id…)
//
// The first problem is kept and returned by finish(); later reads return defaults.
class JsonReader {
 public:
  // `where` leads each message: "session: field 'id' is missing". Refers to `value`, which must outlive it.
  JsonReader(const Json& value, std::string_view where);

  const Json* required(std::string_view key);
  const Json* optional(std::string_view key);

  std::string required_string(std::string_view key);
  std::string string_or(std::string_view key, std::string other);
  bool bool_or(std::string_view key, bool other);
  std::int64_t required_int(std::string_view key, std::int64_t least, std::int64_t most);
  std::int64_t int_or(std::string_view key, std::int64_t other, std::int64_t least, std::int64_t most);
  double double_or(std::string_view key, double other);
  const JsonArray& array_or_empty(std::string_view key);
  const JsonObject& object_or_empty(std::string_view key);

  // Notes a problem found by the caller.
  void fail(Error error);
  bool failed() const { return problem_.has_value(); }

  // The fields that were never asked for, in order: what a newer minor version added.
  JsonObject rest() const;

  // The first problem, if any.
  Result<void> finish();
  // As finish(), and kUnknownField if any field was never asked for.
  Result<void> finish_strict();

 private:
  const Json* take(std::string_view key);
  void wrong_type(std::string_view key, std::string_view expected, const Json& got);

  const JsonObject* object_ = nullptr;
  std::string where_;
  std::vector<bool> asked_;
  std::optional<Error> problem_;
};

// Writes JSON without building a value first.
//
//   JsonWriter out(text);
//   out.begin_object().key("role").string("user").key("tokens").number(12).end_object();
class JsonWriter {
 public:
  // Appends to `out`, which must outlive the writer.
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view key);
  JsonWriter& string(std::string_view value);
  JsonWriter& number(std::int64_t value);
  JsonWriter& number(std::uint64_t value);
  JsonWriter& number(int value) { return number(std::int64_t{value}); }
  JsonWriter& number(double value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& value(const Json& value);
  // Text that is JSON already.
  JsonWriter& raw(std::string_view json);

 private:
  void separate();

  std::string& out_;
  bool needs_comma_ = false;
};

}  // namespace tertulia
