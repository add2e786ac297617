#include "http/request.h"

#include <algorithm>
#include <charconv>

#include "tertulia/base/utf8.h"

namespace tertulia::server {

std::string_view name_of(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kHead:
      return "HEAD";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
    case Method::kOptions:
      return "OPTIONS";
    case Method::kOther:
      return "OTHER";
  }
  return {};
}

bool equal_but_case(std::string_view one, std::string_view other) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return one.size() == other.size() && std::equal(one.begin(), one.end(), other.begin(),
                                                  [&](char a, char b) { return lower(a) == lower(b); });
}

std::string_view Request::header(std::string_view name) const {
  for (const Field& field : fields) {
    if (equal_but_case(field.name, name)) return field.value;
  }
  return {};
}

std::size_t Request::count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      fields.begin(), fields.end(), [&](const Field& field) { return equal_but_case(field.name, name); }));
}

constexpr std::size_t kKeptBodyBytes = 64U << 10U;

void Request::clear() {
  // What comes next may be no request, and is not refused as if it had the method of this one.
  method = Method::kOther;
  version = 11;
  fields.clear();
  // A long one leaves no memory behind with a connection that may never need it again.
  if (body.capacity() > kKeptBodyBytes) body = std::string();
  body.clear();
  target = path = query = {};
}

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus_is_space) c = ' ';
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return std::nullopt;
    decoded.push_back(c);
  }
  if (find_bad_utf8(decoded)) return std::nullopt;
  return decoded;
}

Result<Query> Query::parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    std::optional<std::string> name = percent_decoded(pair.substr(0, equals), true);
    std::optional<std::string> value = percent_decoded(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value) {
      return Error(ErrorCode::kBadUnicode,
                   "the query is not well-formed: each name and value must be percent-encoded UTF-8");
    }
    for (const Parameter& other : query.parameters_) {
      if (other.name != *name) continue;
      return Error(ErrorCode::kDuplicateKey, "the query parameter '" + *name + "' stands twice")
          .with("param", *name);
    }
    query.parameters_.push_back({*std::move(name), *std::move(value)});
  }
  return query;
}

const std::string* Query::find(std::string_view name) {
  for (Parameter& parameter : parameters_) {
    if (parameter.name != name) continue;
    parameter.asked = true;
    return &parameter.value;
  }
  return nullptr;
}

std::string Query::text_or(std::string_view name, const std::string& other) {
  const std::string* found = find(name);
  return found == nullptr ? other : *found;
}

Result<std::optional<std::uint64_t>> Query::number(std::string_view name, std::uint64_t least,
                                                   std::uint64_t most) {
  const std::string* text = find(name);
  if (text == nullptr) return std::optional<std::uint64_t>();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < least || value > most) {
    return Error(ErrorCode::kOutOfRange, "the query parameter '" + std::string(name) +
                                             "' must be a whole number from " + std::to_string(least) +
                                             " to " + std::to_string(most))
        .with("param", std::string(name));
  }
  return std::optional(value);
}

Result<bool> Query::flag(std::string_view name) {
  const std::string* text = find(name);
  if (text == nullptr || *text == "false") return false;
  if (*text == "true") return true;
  return Error(ErrorCode::kWrongType, "the query parameter '" + std::string(name) + "' must be true or false")
      .with("param", std::string(name));
}

std::vector<std::pair<std::string, std::string>> Query::with_prefix(std::string_view prefix) {
  std::vector<std::pair<std::string, std::string>> found;
  for (Parameter& parameter : parameters_) {
    if (!parameter.name.starts_with(prefix)) continue;
    parameter.asked = true;
    found.emplace_back(parameter.name.substr(prefix.size()), parameter.value);
  }
  return found;
}

Result<void> Query::finish() const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.asked) continue;
    return Error(ErrorCode::kUnknownField, "there is no query parameter '" + parameter.name + "' here")
        .with("param", parameter.name);
  }
  return {};
}

}  // namespace tertulia::server
