// Values, and reading them. Boost.JSON finds the tokens; what it gets wrong or leaves open is settled here:
// numbers are read again exactly from their text, keys are checked for duplicates, integers that fit no
// 64 bits and non-finite numbers are refused, and an error names its line and column.
#include "tertulia/base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/src.hpp>

#include "tertulia/base/utf8.h"

namespace tertulia {

JsonObject::JsonObject() = default;
JsonObject::JsonObject(std::initializer_list<Member> members) {
  for (const Member& member : members) set(member.first, member.second);
}
JsonObject::JsonObject(const JsonObject&) = default;
JsonObject::JsonObject(JsonObject&&) noexcept = default;
JsonObject& JsonObject::operator=(const JsonObject&) = default;
JsonObject& JsonObject::operator=(JsonObject&&) noexcept = default;
JsonObject::~JsonObject() = default;

std::size_t JsonObject::size() const { return members_.size(); }
const JsonObject::Member* JsonObject::begin() const { return members_.data(); }
const JsonObject::Member* JsonObject::end() const { return members_.data() + members_.size(); }
JsonObject::Member* JsonObject::begin() { return members_.data(); }
JsonObject::Member* JsonObject::end() { return members_.data() + members_.size(); }
bool JsonObject::operator==(const JsonObject&) const = default;

const Json* JsonObject::find(std::string_view key) const {
  auto found = std::ranges::find(members_, key, &Member::first);
  return found == members_.end() ? nullptr : &found->second;
}

Json* JsonObject::find(std::string_view key) {
  return const_cast<Json*>(static_cast<const JsonObject*>(this)->find(key));
}

void JsonObject::set(std::string key, Json value) {
  if (Json* found = find(key)) {
    *found = std::move(value);
  } else {
    append(std::move(key), std::move(value));
  }
}

void JsonObject::append(std::string key, Json value) {
  members_.emplace_back(std::move(key), std::move(value));
}

bool JsonObject::erase(std::string_view key) {
  return std::erase_if(members_, [&](const Member& member) { return member.first == key; }) > 0;
}

Json::Json(std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    value_ = static_cast<std::int64_t>(value);
  } else {
    value_ = value;
  }
}

Json::Json(double value) {
  if (std::isfinite(value)) value_ = value;
}

std::string_view Json::type_name() const {
  static constexpr std::string_view kNames[] = {"null",   "boolean", "integer", "integer",
                                                "number", "string",  "array",   "object"};
  return kNames[value_.index()];
}

namespace {

namespace bj = boost::json;
using Code = boost::system::error_code;

// Above this many keys, duplicates are found by sorting instead of comparing each with each.
constexpr std::size_t kFewKeys = 12;

const std::string* find_duplicate_key(const JsonObject& object) {
  if (object.size() <= kFewKeys) {
    for (const auto* a = object.begin(); a != object.end(); ++a) {
      for (const auto* b = object.begin(); b != a; ++b) {
        if (a->first == b->first) return &a->first;
      }
    }
    return nullptr;
  }
  std::vector<const std::string*> keys;
  keys.reserve(object.size());
  for (const auto& member : object) keys.push_back(&member.first);
  std::ranges::sort(keys, {}, [](const std::string* key) -> const std::string& { return *key; });
  auto twice = std::ranges::adjacent_find(keys, [](const auto* a, const auto* b) { return *a == *b; });
  return twice == keys.end() ? nullptr : *twice;
}

// Receives the parser's tokens and builds the value. Stops the parser through `error_` and a failed Code.
class Builder {
 public:
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_array_begin(Code& code) { return open(JsonArray(), code); }
  bool on_object_begin(Code& code) { return open(JsonObject(), code); }
  bool on_array_end(std::size_t, Code&) {
    close();
    return true;
  }
  bool on_object_end(std::size_t, Code& code) {
    const JsonObject& object = *stack_.back().value.as_object();
    if (const std::string* key = find_duplicate_key(object)) {
      return refuse(Error(ErrorCode::kDuplicateKey,
                          "The key '" + printable(*key) + "' stands twice in one object; give each key once.")
                        .with("param", printable(*key)),
                    code);
    }
    close();
    return true;
  }
  bool on_key_part(bj::string_view part, std::size_t, Code&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_key(bj::string_view part, std::size_t, Code&) {
    text_.append(part.data(), part.size());
    stack_.back().key = std::exchange(text_, {});
    return true;
  }
  bool on_string_part(bj::string_view part, std::size_t, Code&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_string(bj::string_view part, std::size_t, Code& code) {
    text_.append(part.data(), part.size());
    return add(Json(std::exchange(text_, {})), code);
  }
  bool on_number_part(bj::string_view part, Code&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_int64(std::int64_t value, bj::string_view, Code& code) {
    text_.clear();
    return add(Json(value), code);
  }
  bool on_uint64(std::uint64_t value, bj::string_view, Code& code) {
    text_.clear();
    return add(Json(value), code);
  }
  bool on_double(double, bj::string_view part, Code& code) {
    text_.append(part.data(), part.size());
    const std::string text = std::exchange(text_, {});
    double value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = text.find_first_of(".eE") == std::string::npos;
    if (status != std::errc() || end != text.data() + text.size() || whole || !std::isfinite(value)) {
      return refuse(Error(ErrorCode::kBadNumber,
                          "The number " + std::string(utf8_prefix(text, 40)) +
                              " fits neither a 64-bit integer nor a finite double; send it as a string."),
                    code);
    }
    return add(Json(value), code);
  }
  bool on_bool(bool value, Code& code) { return add(Json(value), code); }
  bool on_null(Code& code) { return add(Json(), code); }
  bool on_comment_part(bj::string_view, Code&) { return true; }
  bool on_comment(bj::string_view, Code&) { return true; }

  Json take() { return std::move(root_); }
  std::optional<Error>& error() { return error_; }

 private:
  struct Frame {
    Json value;
    std::string key;
  };

  static std::string printable(const std::string& key) { return std::string(utf8_prefix(key, 80)); }

  bool refuse(Error error, Code& code) {
    error_ = std::move(error);
    code = bj::error::exception;
    return false;
  }

  bool count(Code& code) {
    if (++count_ <= limits_.values) return true;
    const auto limit = static_cast<std::int64_t>(limits_.values);
    return refuse(Error(ErrorCode::kTooLarge, "The JSON holds more than " + std::to_string(limit) +
                                                  " values; send it in smaller pieces.")
                      .with("limit", limit),
                  code);
  }

  template <class Container>
  bool open(Container container, Code& code) {
    if (!count(code)) return false;
    stack_.push_back({Json(std::move(container)), {}});
    return true;
  }

  void close() {
    Json value = std::move(stack_.back().value);
    stack_.pop_back();
    place(std::move(value));
  }

  bool add(Json value, Code& code) {
    if (!count(code)) return false;
    place(std::move(value));
    return true;
  }

  void place(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (JsonArray* array = stack_.back().value.as_array()) {
      array->push_back(std::move(value));
    } else {
      stack_.back().value.as_object()->append(std::move(stack_.back().key), std::move(value));
    }
  }

  const JsonLimits& limits_;
  std::size_t count_ = 0;
  Json root_;
  std::vector<Frame> stack_;
  std::string text_;  // the string, key or number that is being read
  std::optional<Error> error_;
};

struct Position {
  std::int64_t line = 1;
  std::int64_t column = 1;
};

Position position_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line_start = before.rfind('\n');
  return {1 + std::ranges::count(before, '\n'),
          static_cast<std::int64_t>(line_start == std::string_view::npos ? offset + 1 : offset - line_start)};
}

Error error_at(ErrorCode code, std::string_view sentence, std::string_view text, std::size_t offset) {
  const Position at = position_of(text, std::min(offset, text.size()));
  return Error(code, "JSON, line " + std::to_string(at.line) + ", column " + std::to_string(at.column) +
                         ": " + std::string(sentence))
      .with("line", at.line)
      .with("column", at.column)
      .with("offset", static_cast<std::int64_t>(offset));
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// True if the text up to `offset` ends in the \u escape of a leading surrogate, whose other half is missing.
bool ends_in_half_a_pair(std::string_view text, std::size_t offset) {
  if (offset < 6 || offset > text.size()) return false;
  const std::string_view escape = text.substr(offset - 6, 4);
  return escape.starts_with("\\u") && (escape[2] == 'd' || escape[2] == 'D') &&
         std::string_view("89abAB").find(escape[3]) != std::string_view::npos;
}

// What went wrong at `offset`, told by the parser's code and by what stands there.
Error syntax_error(std::string_view text, std::size_t offset, const Code& code, const JsonLimits& limits) {
  if (code == bj::error::too_deep) {
    return error_at(ErrorCode::kTooDeep,
                    "nested deeper than " + std::to_string(limits.depth) + " levels; flatten it", text,
                    offset)
        .with("limit", static_cast<std::int64_t>(limits.depth));
  }
  if (code == bj::error::illegal_leading_surrogate || code == bj::error::illegal_trailing_surrogate ||
      ends_in_half_a_pair(text, offset)) {
    return error_at(ErrorCode::kBadUnicode, "a \\u escape is half of a surrogate pair; send whole characters",
                    text, offset);
  }
  if (code == bj::error::exponent_overflow) {
    return error_at(ErrorCode::kBadNumber, "the number is too large; send it as a string", text, offset);
  }
  const std::string_view rest = text.substr(std::min(offset, text.size()));
  for (std::string_view word : {"NaN", "Infinity", "-Infinity", "nan", "inf", "-inf"}) {
    if (rest.starts_with(word) || (word.front() == '-' && rest.starts_with(word.substr(1)))) {
      return error_at(ErrorCode::kBadNumber, "JSON has no " + std::string(word) + "; send null or a string",
                      text, offset);
    }
  }
  const bool ended = code == bj::error::incomplete || rest.empty();
  return error_at(ErrorCode::kBadJson, ended ? "the text ends in the middle of a value" : code.message(),
                  text, offset);
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (std::ranges::all_of(text, is_space)) {
    return Error(ErrorCode::kEmptyBody, "There is no JSON here: the text is empty.");
  }
  if (const auto bad = find_bad_utf8(text)) {
    return error_at(ErrorCode::kBadUnicode, "the bytes here are not UTF-8", text, *bad);
  }
  bj::parse_options options;
  options.max_depth = static_cast<unsigned char>(std::min<std::size_t>(limits.depth, 255));
  bj::basic_parser<Builder> parser(options, limits);
  Code code;
  std::size_t end = parser.write_some(false, text.data(), text.size(), code);
  Builder& builder = parser.handler();
  if (builder.error()) return *std::move(builder.error());
  if (code) return syntax_error(text, end, code, limits);
  while (end < text.size() && is_space(text[end])) ++end;
  if (end < text.size()) {
    return error_at(ErrorCode::kBadJson, "more text follows the value; send one value", text, end);
  }
  return builder.take();
}

Result<void> check_json(std::string_view text, const JsonLimits& limits) {
  TERTULIA_TRY(parse_json(text, limits));
  return {};
}

}  // namespace tertulia
