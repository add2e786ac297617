#include "json_version.h"

#include <charconv>
#include <cstdint>
#include <optional>

#include "tertulia/conversation/json_forms.h"

namespace tertulia {
namespace {

struct Version {
  std::int64_t major = 0;
  std::int64_t minor = 0;
};

std::optional<Version> parse_version(std::string_view text) {
  Version version;
  const char* end = text.data() + text.size();
  const auto dot = std::from_chars(text.data(), end, version.major);
  if (dot.ec != std::errc() || dot.ptr == end || *dot.ptr != '.') return std::nullopt;
  const auto last = std::from_chars(dot.ptr + 1, end, version.minor);
  if (last.ec != std::errc() || last.ptr != end) return std::nullopt;
  if (std::to_string(version.major) + "." + std::to_string(version.minor) != text) return std::nullopt;
  if (version.major < 1 || version.minor < 0) return std::nullopt;
  return version;
}

}  // namespace

std::string own_version() { return std::to_string(kFormMajor) + "." + std::to_string(kFormMinor); }

Result<std::string> check_version(const Json& json) {
  const std::string* text = json.as_string();
  if (text == nullptr) {
    return Error(ErrorCode::kWrongType,
                 "must be a string such as \"1.0\", not " + std::string(json.type_name()) + ".")
        .with("expected", "a string")
        .with("got", std::string(json.type_name()));
  }
  const std::optional<Version> version = parse_version(*text);
  if (!version)
    return Error(ErrorCode::kOutOfRange, "is no version; a version is major.minor, for example \"1.0\".");
  if (version->major > kFormMajor) {
    return Error(ErrorCode::kNeedsVersion, "It is written in version " + *text +
                                               "; this program reads up to version " +
                                               std::to_string(kFormMajor) + ". Use a newer one.")
        .with("needs", *text)
        .with("have", own_version());
  }
  return version->major == kFormMajor && version->minor > kFormMinor ? *text : std::string();
}

std::string newer_version_in(const JsonObject& extra) {
  const Json* version = extra.find(kVersionKey);
  if (version == nullptr) return {};
  return check_version(*version).value_or({});
}

}  // namespace tertulia
