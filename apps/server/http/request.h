// A Request: one HTTP request as its handler sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/base/result.h"

namespace tertulia::server {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOptions, kOther };
std::string_view name_of(Method method);

// The views point into the buffer of the connection and live until the answer is given.
struct Request {
  struct Field {
    std::string_view name;
    std::string_view value;
  };

  Method method = Method::kOther;
  // As sent: "/api/v1/sessions?limit=3".
  std::string_view target{};
  // Before the '?', not decoded; and what is behind it.
  std::string_view path{};
  std::string_view query{};
  // 10 or 11.
  int version = 11;
  std::vector<Field> fields{};
  std::string body{};

  // The value of a header, whatever its case; empty if it is absent.
  std::string_view header(std::string_view name) const;
  std::size_t count(std::string_view name) const;

  void clear();
};

// True if both are the same but for the case of ASCII letters.
bool equal_but_case(std::string_view one, std::string_view other);

// Decodes %XX once. Nothing if it is malformed, or gives something that is not UTF-8, or a control character.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space = false);

// The parameters behind the '?'. Whoever reads them asks for each it knows; others are kUnknownField.
class Query {
 public:
  // kBadUnicode, kDuplicateKey {param}.
  static Result<Query> parse(std::string_view text);

  // Null if it is absent.
  const std::string* find(std::string_view name);
  std::string text_or(std::string_view name, const std::string& other);
  // kOutOfRange {param} if it is no whole number from `least` to `most`.
  Result<std::optional<std::uint64_t>> number(std::string_view name, std::uint64_t least, std::uint64_t most);
  // "true" or "false"; kWrongType {param} otherwise.
  Result<bool> flag(std::string_view name);
  // Those whose name begins with `prefix`, which is taken off.
  std::vector<std::pair<std::string, std::string>> with_prefix(std::string_view prefix);

  Result<void> finish() const;

 private:
  struct Parameter {
    std::string name;
    std::string value;
    bool asked = false;
  };
  std::vector<Parameter> parameters_;
};

}  // namespace tertulia::server
