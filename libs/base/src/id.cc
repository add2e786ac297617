#include "tertulia/base/id.h"

#include <algorithm>

#include "tertulia/base/outside_name.h"

namespace tertulia {
namespace {

bool is_id_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '~' || c == '-';
}

// Names that some file systems take for devices, with or without an extension.
bool is_device_name(std::string_view text) {
  std::string stem(text.substr(0, text.find('.')));
  for (char& c : stem) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (stem == "CON" || stem == "PRN" || stem == "AUX" || stem == "NUL") return true;
  return stem.size() == 4 && (stem.starts_with("COM") || stem.starts_with("LPT")) && stem[3] >= '1' &&
         stem[3] <= '9';
}

std::string article(std::string_view kind) {
  const bool vowel = !kind.empty() && std::string_view("aeiou").find(kind.front()) != std::string_view::npos;
  return (vowel ? "an " : "a ") + std::string(kind);
}

}  // namespace

Result<void> check_id(std::string_view text, std::string_view kind) {
  const auto bad = [&](const std::string& problem) {
    return Error(ErrorCode::kBadId, "The id of " + article(kind) + " " + problem +
                                        ". Ids have 1 to 128 characters of A-Z a-z 0-9 . _ ~ - and do not "
                                        "begin with a dot.")
        .with("param", std::string(kind));
  };
  if (text.empty()) return bad("is empty");
  if (text.size() > kMaxIdBytes) {
    return bad("has " + std::to_string(text.size()) + " bytes")
        .with("limit", static_cast<std::int64_t>(kMaxIdBytes))
        .with("actual", static_cast<std::int64_t>(text.size()));
  }
  if (text.front() == '.') return bad("begins with a dot");
  if (is_device_name(text)) return bad("is the name of a device on some systems");
  const auto wrong = std::ranges::find_if_not(text, is_id_char);
  if (wrong == text.end()) return {};
  const auto offset = wrong - text.begin();
  return bad("has a character that is not allowed at position " + std::to_string(offset + 1))
      .with("offset", static_cast<std::int64_t>(offset));
}

Result<void> check_outside_id(std::string_view text, std::string_view kind) {
  TERTULIA_TRY(check_id(text, kind));
  if (!is_reserved(text)) return {};
  return Error(ErrorCode::kBadId, "The id of " + article(kind) +
                                      " begins with '~': such names are the program's own. Take another one.")
      .with("param", std::string(kind));
}

}  // namespace tertulia
