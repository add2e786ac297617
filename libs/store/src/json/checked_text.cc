#include "checked_text.h"

#include <cstdint>
#include <cstdio>
#include <utility>

#include "tertulia/base/check.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/store/crc32c.h"

namespace tertulia {
namespace {

constexpr std::size_t kDigits = 8;
constexpr std::string_view kDocumentStart = ",\n  \"crc\": \"";
constexpr std::string_view kDocumentEnd = "\"\n}\n";
constexpr std::string_view kLineStart = ",\"crc\":\"";
constexpr std::string_view kLineEnd = "\"}";

std::string digits_of(std::uint32_t sum) {
  std::string digits(kDigits, '0');
  for (std::size_t i = 0; i < kDigits; ++i) digits[i] = "0123456789abcdef"[(sum >> (28U - 4U * i)) & 0xFU];
  return digits;
}

bool is_whole(std::string_view place, std::string_view text, std::string_view start, std::string_view end) {
  const std::size_t tail = start.size() + kDigits + end.size();
  if (text.size() <= tail) return false;
  const std::string_view body = text.substr(0, text.size() - tail);
  std::string expected(start);
  expected += digits_of(record_checksum(place, body));
  expected += end;
  return text.substr(body.size()) == expected;
}

Error wrong_checksum(std::string_view what) {
  return Error(ErrorCode::kDamaged, std::string(what) + " does not fit its checksum");
}

}  // namespace

std::string sealed_document(std::string_view place, const JsonObject& value) {
  std::string text = to_pretty_text(Json(value));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  TERTULIA_CHECK(text.size() > 2 && text.ends_with("\n}"), "a document is an object with members");
  text.resize(text.size() - 2);
  const std::uint32_t sum = record_checksum(place, text);
  text += kDocumentStart;
  text += digits_of(sum);
  return text += kDocumentEnd;
}

std::string sealed_line(std::string_view place, std::string object) {
  TERTULIA_CHECK(object.size() > 2 && object.back() == '}', "a line is an object with members");
  object.pop_back();
  const std::uint32_t sum = record_checksum(place, object);
  object += kLineStart;
  object += digits_of(sum);
  object += kLineEnd;
  return object += '\n';
}

bool is_whole_document(std::string_view place, std::string_view text) {
  return is_whole(place, text, kDocumentStart, kDocumentEnd);
}

bool is_whole_line(std::string_view place, std::string_view line) {
  return is_whole(place, line, kLineStart, kLineEnd);
}

Result<Json> open_document(std::string_view place, std::string_view text) {
  if (!is_whole_document(place, text)) return wrong_checksum("the file");
  return parse_json(text, kFormLimits);
}

Result<Json> open_line(std::string_view place, std::string_view line) {
  if (!is_whole_line(place, line)) return wrong_checksum("the line");
  return parse_json(line, kFormLimits);
}

}  // namespace tertulia
