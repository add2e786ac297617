// JSON with a checksum as its last member, in two shapes: a document (one file, for people to read) and a
// line of a file that only grows.
//
//   document  {
//               "session": { … },
//               "crc": "9ae0c8f1"
//             }
//   line      {"number":1,…,"crc":"9ae0c8f1"}
//
// The sum (record_checksum) covers the place and every byte before the comma of the last member; what follows
// that comma has one possible form. So no byte can change without being noticed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"

namespace tertulia {

// Ends with a line break. `value` has at least one member.
std::string sealed_document(std::string_view place, const JsonObject& value);
// Ends with a line break. `object` is the text of an object with at least one member.
std::string sealed_line(std::string_view place, std::string object);

// True if the text, given with (document) or without (line) its line break, is as it was written.
bool is_whole_document(std::string_view place, std::string_view text);
bool is_whole_line(std::string_view place, std::string_view line);

// kDamaged if it is not whole.
Result<Json> open_document(std::string_view place, std::string_view text);
Result<Json> open_line(std::string_view place, std::string_view line);

}  // namespace tertulia
