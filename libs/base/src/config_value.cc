#include "config_value.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "tertulia/base/nearest.h"
#include "tertulia/base/printable.h"
#include "tertulia/base/units.h"
#include "tertulia/base/utf8.h"

namespace tertulia {
namespace {

constexpr std::uint64_t kLargestSecret = 64U << 10U;
constexpr std::size_t kShownValueBytes = 60;

std::string kind_of(const RawSetting& raw) {
  struct Namer {
    std::string operator()(bool) const { return "a boolean"; }
    std::string operator()(std::int64_t) const { return "a number"; }
    std::string operator()(const std::string& text) const {
      return "'" + printable(text, kShownValueBytes) + "'";
    }
    std::string operator()(const std::vector<std::string>&) const { return "a list"; }
    std::string operator()(const UnfitValue& unfit) const { return std::string(unfit.kind); }
  };
  return std::visit(Namer(), raw.value);
}

Error wrong_type(const Setting& setting, const RawSetting& raw) {
  // A secret of the wrong form may still be a secret: it is not shown.
  const std::string got = setting.type == SettingType::kSecret ? "something else" : kind_of(raw);
  return Error(ErrorCode::kWrongType, "must be " + std::string(describe(setting.type)) + ", not " + got);
}

Result<SettingValue> convert_bool(const Setting& setting, const RawSetting& raw) {
  if (const bool* value = std::get_if<bool>(&raw.value)) return SettingValue(*value);
  const std::string* text = std::get_if<std::string>(&raw.value);
  if (text != nullptr && raw.source != RawSetting::Source::kFile) {
    if (*text == "true" || *text == "1") return SettingValue(true);
    if (*text == "false" || *text == "0") return SettingValue(false);
  }
  return wrong_type(setting, raw);
}

std::string number_text(const Setting& setting, std::int64_t value) {
  if (setting.type == SettingType::kDuration) return duration_text(Duration(value));
  return setting.type == SettingType::kSize ? size_text(value) : std::to_string(value);
}

Result<SettingValue> check_range(const Setting& setting, std::int64_t value) {
  if (value >= setting.least && value <= setting.most) return SettingValue(value);
  return Error(ErrorCode::kOutOfRange, number_text(setting, value) + " is not between " +
                                           number_text(setting, setting.least) + " and " +
                                           number_text(setting, setting.most));
}

Result<SettingValue> convert_number(const Setting& setting, const RawSetting& raw) {
  const std::int64_t* number = std::get_if<std::int64_t>(&raw.value);
  // A bare number has no unit, and guessing one would be wrong by a factor of a thousand for somebody.
  if (number != nullptr && setting.type != SettingType::kDuration) return check_range(setting, *number);
  const std::string* text = std::get_if<std::string>(&raw.value);
  if (text == nullptr) return wrong_type(setting, raw);
  if (setting.type == SettingType::kDuration) {
    TERTULIA_TRY_AS(Duration duration, parse_duration(*text));
    return check_range(setting, duration.count());
  }
  if (setting.type == SettingType::kSize) {
    TERTULIA_TRY_AS(std::int64_t size, parse_size(*text));
    return check_range(setting, size);
  }
  std::int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [rest, problem] = std::from_chars(text->data(), end, value);
  if (problem == std::errc::result_out_of_range) {
    return Error(ErrorCode::kOutOfRange, kind_of(raw) + " is not between " +
                                             number_text(setting, setting.least) + " and " +
                                             number_text(setting, setting.most));
  }
  const bool is_number = raw.source != RawSetting::Source::kFile && problem == std::errc() && rest == end;
  return is_number ? check_range(setting, value) : wrong_type(setting, raw);
}

Result<SettingValue> convert_choice(const Setting& setting, const std::string& text) {
  if (std::ranges::find(setting.choices, text) != setting.choices.end()) return SettingValue(text);
  std::string list;
  for (const std::string& choice : setting.choices) list += (list.empty() ? "" : ", ") + choice;
  return Error(ErrorCode::kOutOfRange, "'" + printable(text, kShownValueBytes) + "' is not one of " + list +
                                           did_you_mean(text, setting.choices));
}

Path expanded(const std::string& text, const RawSetting& raw, const ConversionContext& context) {
  if (text.starts_with("~/") && !context.home.empty()) return Path(context.home) / text.substr(2);
  const Path path = text;
  const bool joins = raw.source == RawSetting::Source::kFile && path.is_relative() && !path.empty();
  return joins ? context.file_directory / path : path;
}

Result<SettingValue> secret_from_file(const Path& path, const ConversionContext& context) {
  const auto in_sentence = [&](const Error& error) {
    return Error(error.code(), "the secret file cannot be read: " + error.message());
  };
  Result<FileInfo> info = context.files.info(path);
  if (!info) return in_sentence(info.error());
  if (info->world_readable) {
    return Error(ErrorCode::kNotPermitted, "everybody may read the secret file '" + printable(path.string()) +
                                               "'; run chmod 600 on it");
  }
  Result<std::string> text = read_file(context.files, path, kLargestSecret);
  if (!text) return in_sentence(text.error());
  // Editors end a file with a newline; the secret does not have it.
  std::string& held = *text;
  if (held.ends_with('\n')) held.pop_back();
  if (held.ends_with('\r')) held.pop_back();
  if (held.empty()) {
    return Error(ErrorCode::kWrongType, "the secret file '" + printable(path.string()) + "' is empty");
  }
  return SettingValue(std::make_shared<const Secret>(Secret::take(std::move(held))));
}

Result<SettingValue> convert_secret(const std::string& text, const RawSetting& raw,
                                    const ConversionContext& context) {
  static constexpr std::string_view kFile = "file:";
  if (text.starts_with(kFile)) {
    return secret_from_file(expanded(text.substr(kFile.size()), raw, context), context);
  }
  if (raw.source == RawSetting::Source::kFlag) {
    return Error(ErrorCode::kNotPermitted,
                 "everybody can see a secret on the command line; write it to a file and give file:/path");
  }
  if (raw.source == RawSetting::Source::kFile && context.file_is_world_readable) {
    return Error(ErrorCode::kNotPermitted,
                 "everybody may read this file, so a secret cannot stand in it; run chmod 600 on it");
  }
  if (text.empty()) return SettingValue(std::shared_ptr<const Secret>());
  return SettingValue(std::make_shared<const Secret>(text));
}

Result<SettingValue> convert_strings(const Setting& setting, const RawSetting& raw) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&raw.value)) return SettingValue(*list);
  const std::string* text = std::get_if<std::string>(&raw.value);
  if (text == nullptr || raw.source == RawSetting::Source::kFile) return wrong_type(setting, raw);
  std::vector<std::string> list;
  for (std::size_t begin = 0; !text->empty() && begin <= text->size();) {
    const std::size_t end = std::min(text->find(',', begin), text->size());
    list.push_back(text->substr(begin, end - begin));
    begin = end + 1;
  }
  return SettingValue(std::move(list));
}

}  // namespace

Result<SettingValue> convert(const Setting& setting, const RawSetting& raw,
                             const ConversionContext& context) {
  const std::string* text = std::get_if<std::string>(&raw.value);
  if (text != nullptr && (!is_utf8(*text) || text->find('\0') != std::string::npos)) {
    return Error(ErrorCode::kBadUnicode, "is not well-formed UTF-8 text without NUL");
  }
  switch (setting.type) {
    case SettingType::kBool:
      return convert_bool(setting, raw);
    case SettingType::kInt:
    case SettingType::kDuration:
    case SettingType::kSize:
      return convert_number(setting, raw);
    case SettingType::kStrings:
      return convert_strings(setting, raw);
    case SettingType::kString:
    case SettingType::kChoice:
    case SettingType::kPath:
    case SettingType::kSecret:
      break;
  }
  if (text == nullptr) return wrong_type(setting, raw);
  if (setting.type == SettingType::kChoice) return convert_choice(setting, *text);
  if (setting.type == SettingType::kPath) return SettingValue(expanded(*text, raw, context).string());
  if (setting.type == SettingType::kSecret) return convert_secret(*text, raw, context);
  return SettingValue(*text);
}

std::string value_text(const Setting& setting, const SettingValue& value) {
  switch (setting.type) {
    case SettingType::kBool:
      return std::get<bool>(value) ? "true" : "false";
    case SettingType::kInt:
      return std::to_string(std::get<std::int64_t>(value));
    case SettingType::kDuration:
    case SettingType::kSize:
      return in_quotes(number_text(setting, std::get<std::int64_t>(value)));
    case SettingType::kString:
    case SettingType::kChoice:
    case SettingType::kPath:
      return in_quotes(std::get<std::string>(value));
    case SettingType::kStrings:
      break;
    case SettingType::kSecret:
      return std::get<std::shared_ptr<const Secret>>(value) != nullptr ? "set" : "not set";
  }
  std::string list;
  for (const std::string& text : std::get<std::vector<std::string>>(value)) {
    list += (list.empty() ? "" : ", ") + in_quotes(text);
  }
  return "[" + list + "]";
}

}  // namespace tertulia
