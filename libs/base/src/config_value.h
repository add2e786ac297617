// What a source says about a setting, before and after it is understood.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tertulia/base/config.h"
#include "tertulia/base/result.h"
#include "tertulia/base/setting.h"

namespace tertulia {

// A variable that is empty or missing gives nothing.
std::string variable_or_empty(const Environment& environment, std::string_view name);

// A value of the file that no setting can have: a table, a date, a fraction, a mixed list.
struct UnfitValue {
  std::string_view kind;
};

struct RawSetting {
  enum class Source : std::uint8_t { kFile, kEnvironment, kFlag };

  std::string key;
  // Text from the environment and flags is a string here, whatever the setting's type.
  std::variant<bool, std::int64_t, std::string, std::vector<std::string>, UnfitValue> value;
  Source source = Source::kFile;
  // "config.toml:3:1", "TERTULIA_LOG_LEVEL", "--log-level".
  std::string origin;
};

struct ConversionContext {
  FileSystem& files;
  std::string home;
  // The directory and protection of the configuration file.
  Path file_directory;
  bool file_is_world_readable = false;
};

// The sentence of an error is what follows the place and the key. Never quotes a secret.
Result<SettingValue> convert(const Setting& setting, const RawSetting& raw, const ConversionContext& context);

// As it could stand in the file.
std::string value_text(const Setting& setting, const SettingValue& value);

// What a file says: values of settings, and the tables that are kept as they stand.
struct TomlContent {
  std::vector<RawSetting> values;
  ConfigNode::Table tables;
};

// Reads TOML. A problem goes to `problems`, with its place. `name` is how messages call the file. The top
// level tables named in `tables` are kept.
TomlContent read_toml(std::string_view text, const std::string& name, const Settings& settings,
                      const std::vector<std::string>& tables, std::vector<std::string>& problems);

}  // namespace tertulia
