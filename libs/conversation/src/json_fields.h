// One description of a struct serves both directions, so what is written is what is read:
//
//   template <class Fields>
//   void describe(Fields& fields, typename Fields::template Ref<Episode> episode) {
//     fields.form("episode", episode.extra);
//     fields.required("id", episode.id);
//     …
//   }
//
// required   always written, must be there
// setting    always written; keeps the default of the struct where it is not there
// optional   not written when it is empty; empty where it is not there
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/json_text.h"

#include "json_values.h"
#include "json_version.h"

namespace tertulia {

enum class Place { kAlone, kInside };

class FieldWriter {
 public:
  static constexpr bool kReads = false;
  template <class T>
  using Ref = const T&;

  FieldWriter(JsonWriter& out, Place place) : out_(out), place_(place) {}

  // Comes first: names the form, and gives what newer versions added to it.
  void form(std::string_view, const JsonText& extra) { begin(extra.text()); }
  // A form that never grows without a new major version, and so has no `extra`.
  void closed(std::string_view) { begin({}); }
  void begin(std::string_view extra);

  template <class T>
  void required(std::string_view key, const T& member) {
    write_value(named(key), member);
  }
  template <class T>
  void setting(std::string_view key, const T& member) {
    required(key, member);
  }
  template <class T>
  void optional(std::string_view key, const T& member) {
    if (member == T{}) {
      reserve(key);
    } else {
      required(key, member);
    }
  }

  // The writer, standing behind the key.
  JsonWriter& named(std::string_view key) {
    reserve(key);
    return out_.key(key);
  }
  // Keeps `key` from being written as an extra.
  void reserve(std::string_view key) {
    if (!extra_.empty()) known_.push_back(key);
  }

  void finish();

 private:
  JsonWriter& out_;
  Place place_;
  JsonObject extra_;
  std::vector<std::string_view> known_;
};

class FieldReader {
 public:
  static constexpr bool kReads = true;
  template <class T>
  using Ref = T&;

  FieldReader(const Json& value, Place place) : value_(value), place_(place) {}

  void form(std::string_view name, JsonText& extra) {
    extra_ = &extra;
    begin(name);
  }
  void closed(std::string_view name) { begin(name); }
  // Without an `extra`, a field that is not known is an error.
  void begin(std::string_view name);

  template <class T>
  void required(std::string_view key, T& member) {
    if (const Json* value = find<T>(key)) {
      read(key, *value, member);
    } else {
      in_->required(key);
    }
  }
  template <class T>
  void setting(std::string_view key, T& member) {
    if (const Json* value = find<T>(key)) read(key, *value, member);
  }
  template <class T>
  void optional(std::string_view key, T& member) {
    if (const Json* value = find<T>(key)) {
      read(key, *value, member);
    } else {
      member = T{};
    }
  }

  // The value of `key`, null if it is not there or null itself.
  const Json* peek(std::string_view key) { return in_->optional(key); }
  void fail(Error error) { in_->fail(std::move(error).in(name_)); }
  void missing(std::string_view key) { in_->required(key); }
  bool failed() const { return in_->failed(); }

  // The fields that were never asked for, with the version that brought them.
  JsonObject rest() const;
  // The first problem, not counting fields that are not known.
  Result<void> problem() { return in_->finish(); }
  Result<void> finish();

 private:
  // Free JSON may be null; for everything else null is as good as absent.
  template <class T>
  const Json* find(std::string_view key) {
    const Json* value = in_->optional(key);
    if constexpr (std::is_same_v<T, JsonText>) {
      if (const JsonObject* object = value_.as_object()) return object->find(key);
    }
    return value;
  }

  template <class T>
  void read(std::string_view key, const Json& value, T& member) {
    if (failed()) return;
    if (auto done = read_value(value, member); !done) fail(at(std::move(done).error(), std::string(key)));
  }

  const Json& value_;
  Place place_;
  JsonText* extra_ = nullptr;
  std::string name_;
  std::string newer_;  // the version that brought what is not known
  std::optional<JsonReader> in_;
};

template <class T>
concept Described = requires(FieldWriter& fields, const T& value) { describe(fields, value); };

template <class T>
void write_fields(JsonWriter& out, const T& value, Place place) {
  out.begin_object();
  FieldWriter fields(out, place);
  describe(fields, value);
  fields.finish();
  out.end_object();
}

template <class T>
Result<void> read_fields(const Json& json, T& value, Place place) {
  FieldReader fields(json, place);
  describe(fields, value);
  return fields.finish();
}

template <Described T>
void write_value(JsonWriter& out, const T& value) {
  write_fields(out, value, Place::kInside);
}

template <Described T>
Result<void> read_value(const Json& json, T& value) {
  return read_fields(json, value, Place::kInside);
}

// The two public functions of a described form.
#define TERTULIA_DEFINE_FORM(Type)                         \
  void append_json(std::string& out, const Type& value) {  \
    JsonWriter writer(out);                                \
    write_fields(writer, value, Place::kAlone);            \
  }                                                        \
  template <>                                              \
  Result<Type> from_json<Type>(const Json& form) {         \
    Type value;                                            \
    TERTULIA_TRY(read_fields(form, value, Place::kAlone)); \
    return value;                                          \
  }

}  // namespace tertulia
