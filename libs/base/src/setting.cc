#include "tertulia/base/setting.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "tertulia/base/check.h"

#include "config_value.h"

namespace tertulia {

std::string variable_or_empty(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

namespace {

bool is_key(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
  });
}

Path default_data_directory(const Environment& environment) {
  // The XDG rules ignore a relative path.
  const Path data_home = variable_or_empty(environment, "XDG_DATA_HOME");
  if (data_home.is_absolute()) return data_home / "tertulia";
  const Path home = variable_or_empty(environment, "HOME");
  return home.is_absolute() ? home / ".local/share/tertulia" : Path();
}

}  // namespace

Environment process_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::string_view describe(SettingType type) {
  switch (type) {
    case SettingType::kBool:
      return "true or false";
    case SettingType::kInt:
      return "a whole number";
    case SettingType::kDuration:
      return "a duration such as \"30s\"";
    case SettingType::kSize:
      return "a size such as \"4MiB\"";
    case SettingType::kString:
      return "a text";
    case SettingType::kChoice:
      return "one of a list of words";
    case SettingType::kPath:
      return "a path";
    case SettingType::kStrings:
      return "a list of texts";
    case SettingType::kSecret:
      return "a secret, or \"file:/path\"";
  }
  return "invalid";
}

Setting Setting::boolean(std::string key, bool fallback, std::string doc) {
  return {.key = std::move(key), .type = SettingType::kBool, .fallback = fallback, .doc = std::move(doc)};
}

Setting Setting::integer(std::string key, std::int64_t fallback, std::int64_t least, std::int64_t most,
                         std::string doc) {
  return {.key = std::move(key),
          .type = SettingType::kInt,
          .fallback = fallback,
          .doc = std::move(doc),
          .least = least,
          .most = most};
}

Setting Setting::duration(std::string key, Duration fallback, Duration least, Duration most,
                          std::string doc) {
  Setting setting = integer(std::move(key), fallback.count(), least.count(), most.count(), std::move(doc));
  setting.type = SettingType::kDuration;
  return setting;
}

Setting Setting::size(std::string key, std::int64_t fallback, std::int64_t least, std::int64_t most,
                      std::string doc) {
  Setting setting = integer(std::move(key), fallback, least, most, std::move(doc));
  setting.type = SettingType::kSize;
  return setting;
}

Setting Setting::string(std::string key, std::string fallback, std::string doc) {
  return {.key = std::move(key),
          .type = SettingType::kString,
          .fallback = std::move(fallback),
          .doc = std::move(doc)};
}

Setting Setting::choice(std::string key, std::string fallback, std::vector<std::string> choices,
                        std::string doc) {
  Setting setting = string(std::move(key), std::move(fallback), std::move(doc));
  setting.type = SettingType::kChoice;
  setting.choices = std::move(choices);
  return setting;
}

Setting Setting::path(std::string key, const Path& fallback, std::string doc) {
  Setting setting = string(std::move(key), fallback.string(), std::move(doc));
  setting.type = SettingType::kPath;
  return setting;
}

Setting Setting::strings(std::string key, std::vector<std::string> fallback, std::string doc) {
  return {.key = std::move(key),
          .type = SettingType::kStrings,
          .fallback = std::move(fallback),
          .doc = std::move(doc)};
}

Setting Setting::secret(std::string key, std::string doc) {
  return {.key = std::move(key),
          .type = SettingType::kSecret,
          .fallback = std::shared_ptr<const Secret>(),
          .doc = std::move(doc)};
}

Setting Setting::required() && {
  is_required = true;
  return std::move(*this);
}

std::string Setting::variable() const {
  std::string name = "TERTULIA_";
  for (char c : key) name += c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

std::string Setting::flag() const {
  std::string name = "--";
  for (char c : key) name += c == '.' || c == '_' ? '-' : c;
  return name;
}

void Settings::add(Setting setting) {
  TERTULIA_CHECK(is_key(setting.key), "a setting's key is lower-case words joined by dots and underscores");
  for (const Setting& other : settings_) {
    // Equal flags are the weakest condition: equal keys and equal variables imply them.
    TERTULIA_CHECK(other.flag() != setting.flag(), "two settings cannot be told apart on the command line");
  }
  settings_.push_back(std::move(setting));
}

const Setting* Settings::find(std::string_view key) const {
  const auto found = std::ranges::find(settings_, key, &Setting::key);
  return found == settings_.end() ? nullptr : &*found;
}

std::vector<std::string> Settings::keys() const {
  std::vector<std::string> keys;
  keys.reserve(settings_.size());
  for (const Setting& setting : settings_) keys.push_back(setting.key);
  return keys;
}

bool Settings::has_table(std::string_view table) const {
  return std::ranges::any_of(settings_, [&](const Setting& setting) {
    return setting.key.size() > table.size() && setting.key.starts_with(table) &&
           setting.key[table.size()] == '.';
  });
}

void add_base_settings(Settings& settings, const Environment& environment) {
  settings.add(Setting::path("data", default_data_directory(environment),
                             "The directory that holds the conversations.")
                   .required());
  settings.add(Setting::choice("log.level", "warn", {"debug", "info", "warn", "error", "off"},
                               "The lowest level of records that are written."));
  settings.add(
      Setting::choice("log.format", "human", {"human", "json"}, "For people, or one JSON object per line."));
}

}  // namespace tertulia
