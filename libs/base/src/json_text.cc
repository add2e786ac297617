// Writing JSON.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "tertulia/base/json.h"

namespace tertulia {
namespace {

// For each byte: 0 if it stands for itself in a string, 'u' for \u00XX, else the letter after the backslash.
constexpr std::array<char, 256> kEscapes = [] {
  std::array<char, 256> escapes{};
  for (std::size_t c = 0; c < 0x20; ++c) escapes[c] = 'u';
  escapes['\b'] = 'b';
  escapes['\f'] = 'f';
  escapes['\n'] = 'n';
  escapes['\r'] = 'r';
  escapes['\t'] = 't';
  escapes['"'] = '"';
  escapes['\\'] = '\\';
  escapes[0x7F] = 'u';
  return escapes;
}();

void append_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  std::size_t plain = 0;  // where the run of bytes that need no escape began
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const char escape = kEscapes[byte];
    if (escape == 0) continue;
    out.append(text, plain, i - plain);
    plain = i + 1;
    out.push_back('\\');
    out.push_back(escape);
    if (escape == 'u') out.append({'0', '0', kHex[byte >> 4U], kHex[byte & 15U]});
  }
  out.append(text, plain, text.size() - plain);
  out.push_back('"');
}

template <class Number>
void append_number(std::string& out, Number value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

void append_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const std::size_t start = out.size();
  append_number(out, value);
  // A double stays a double when it is read again.
  if (out.find_first_of(".e", start) == std::string::npos) out += ".0";
}

// Up to here every whole double is an integer that reads back as the same double.
constexpr double kMaxExactInteger = 9007199254740992.0;

enum class Form { kCompact, kPretty, kCanonical };

class TextBuilder {
 public:
  TextBuilder(std::string& out, Form form) : out_(out), form_(form) {}

  void append(const Json& value) {
    std::visit([this](const auto& held) { append_held(held); }, value.variant());
  }

 private:
  void append_held(std::nullptr_t) { out_ += "null"; }
  void append_held(bool value) { out_ += value ? "true" : "false"; }
  void append_held(std::int64_t value) { append_number(out_, value); }
  void append_held(std::uint64_t value) { append_number(out_, value); }
  void append_held(double value) {
    if (form_ == Form::kCanonical && std::abs(value) <= kMaxExactInteger && std::trunc(value) == value) {
      append_number(out_, static_cast<std::int64_t>(value));
    } else {
      append_double(out_, value);
    }
  }
  void append_held(const std::string& value) { append_string(out_, value); }

  void append_held(const JsonArray& array) {
    out_.push_back('[');
    ++depth_;
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (i > 0) out_.push_back(',');
      new_line();
      append(array[i]);
    }
    --depth_;
    if (!array.empty()) new_line();
    out_.push_back(']');
  }

  void append_held(const JsonObject& object) {
    std::vector<const JsonObject::Member*> members;
    members.reserve(object.size());
    for (const auto& member : object) members.push_back(&member);
    if (form_ == Form::kCanonical) {
      std::ranges::sort(members, {}, [](const auto* member) -> const std::string& { return member->first; });
    }
    out_.push_back('{');
    ++depth_;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out_.push_back(',');
      new_line();
      append_string(out_, members[i]->first);
      out_ += form_ == Form::kPretty ? ": " : ":";
      append(members[i]->second);
    }
    --depth_;
    if (!members.empty()) new_line();
    out_.push_back('}');
  }

  void new_line() {
    if (form_ != Form::kPretty) return;
    out_.push_back('\n');
    out_.append(2 * depth_, ' ');
  }

  std::string& out_;
  Form form_;
  std::size_t depth_ = 0;
};

std::string text_in(const Json& value, Form form) {
  std::string out;
  TextBuilder(out, form).append(value);
  return out;
}

}  // namespace

std::string to_text(const Json& value) { return text_in(value, Form::kCompact); }
std::string to_pretty_text(const Json& value) { return text_in(value, Form::kPretty); }
std::string to_canonical_text(const Json& value) { return text_in(value, Form::kCanonical); }
void append_text(std::string& out, const Json& value) { TextBuilder(out, Form::kCompact).append(value); }

void JsonWriter::separate() {
  if (needs_comma_) out_.push_back(',');
  needs_comma_ = true;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  out_.push_back('{');
  needs_comma_ = false;
  return *this;
}
JsonWriter& JsonWriter::end_object() {
  out_.push_back('}');
  needs_comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::begin_array() {
  separate();
  out_.push_back('[');
  needs_comma_ = false;
  return *this;
}
JsonWriter& JsonWriter::end_array() {
  out_.push_back(']');
  needs_comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::key(std::string_view key) {
  separate();
  append_string(out_, key);
  out_.push_back(':');
  needs_comma_ = false;
  return *this;
}
JsonWriter& JsonWriter::string(std::string_view value) {
  separate();
  append_string(out_, value);
  return *this;
}
JsonWriter& JsonWriter::number(std::int64_t value) {
  separate();
  append_number(out_, value);
  return *this;
}
JsonWriter& JsonWriter::number(std::uint64_t value) {
  separate();
  append_number(out_, value);
  return *this;
}
JsonWriter& JsonWriter::number(double value) {
  separate();
  append_double(out_, value);
  return *this;
}
JsonWriter& JsonWriter::boolean(bool value) { return raw(value ? "true" : "false"); }
JsonWriter& JsonWriter::null() { return raw("null"); }
JsonWriter& JsonWriter::value(const Json& value) {
  separate();
  append_text(out_, value);
  return *this;
}
JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

}  // namespace tertulia
