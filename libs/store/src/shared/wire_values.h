// The values of conversations as bytes: `put` appends one, `take` reads it back.
//
// A WireReader remembers the first thing that was wrong; what is taken after that is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/base/error.h"
#include "tertulia/base/result.h"
#include "tertulia/store/store.h"

#include "../bytes.h"

namespace tertulia {

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() { return bytes_.varint(); }
  bool flag() { return number() != 0; }
  std::string text() { return std::string(bytes_.text()); }
  std::string_view view() { return bytes_.text(); }
  std::string_view take(std::uint64_t size) { return bytes_.take(size); }
  Time time() { return Time(Duration(static_cast<std::int64_t>(bytes_.u64()))); }
  // How many follow, each of at least one byte.
  std::size_t count();

  template <class T>
  T checked(Result<T> result) {
    if (result) return *std::move(result);
    if (!error_) error_ = std::move(result).error();
    return T();
  }
  // An enumerator, of which `last` is the last one.
  template <class E>
  E one_of(E last) {
    const std::uint64_t value = number();
    if (value <= static_cast<std::uint64_t>(last)) return static_cast<E>(value);
    bytes_.fail();
    return E();
  }

  bool ok() const { return bytes_.ok() && !error_; }
  // Ok if everything was read and was as it should be.
  Result<void> end() const;

 private:
  ByteReader bytes_;
  std::optional<Error> error_;
};

void put_time(std::string& out, Time time);
void put_json_text(std::string& out, const JsonText& text);
JsonText take_json_text(WireReader& in);

template <class Tag>
void put_name(std::string& out, const Name<Tag>& name) {
  put_text(out, name.text());
}
// Empty for none.
template <class Tag>
void take_name(WireReader& in, Name<Tag>& name) {
  const std::string_view text = in.view();
  name = text.empty() ? Name<Tag>() : in.checked(Name<Tag>::parse(text));
}

void put_uuid(std::string& out, const Uuid& uuid);
Uuid take_uuid(WireReader& in);

// None, or one that `put` writes and `take` reads.
template <class T, class Put>
void put_maybe(std::string& out, const std::optional<T>& value, Put put) {
  put_varint(out, value ? 1 : 0);
  if (value) put(out, *value);
}
template <class T, class Take>
void take_maybe(WireReader& in, std::optional<T>& value, Take take) {
  value.reset();
  if (in.flag()) value = take(in);
}

void put_key(std::string& out, const SessionKey& key);
SessionKey take_key(WireReader& in);
void put_state(std::string& out, const MiddlewareState& state);
MiddlewareState take_state(WireReader& in);
void put_branch_head(std::string& out, const BranchHead& head);
BranchHead take_branch_head(WireReader& in);
void put_turn(std::string& out, const Turn& turn);
Result<Turn> take_turn(WireReader& in);
void put_tool_call(std::string& out, const ToolCallRecord& call);
ToolCallRecord take_tool_call(WireReader& in);
void put_stream(std::string& out, const StreamId& stream);
StreamId take_stream(WireReader& in);
void put_record(std::string& out, const Record& record);
Record take_record(WireReader& in);
// By its JSON form. `key` fills in the ids that it lacks.
Result<void> put_session(std::string& out, const SessionKey& key, const Session& session);
Session take_session(WireReader& in);
void put_error(std::string& out, const Error& error);
Error take_error(WireReader& in);

}  // namespace tertulia
