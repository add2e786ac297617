// Configuration from a TOML file, the environment and flags; the later wins.
//
//   auto config = load_config(settings, env.files(), {.environment = process_environment(), .flags = flags});
//   if (!config) …                      // kBadConfig: every problem, each with its place
//   open_store(config->path("data"));
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/base/setting.h"

namespace tertulia {

struct ConfigSources {
  // From --config. Else $TERTULIA_CONFIG; else $XDG_CONFIG_HOME/tertulia/config.toml or
  // ~/.config/tertulia/config.toml, if there is such a file.
  std::optional<Path> file;
  // An empty variable counts as not set. A TERTULIA_ variable that belongs to no setting is a problem only if
  // it looks like a misspelt one: other programs set such variables too.
  Environment environment;
  // Key and text, for example {"log.level", "debug"}.
  std::vector<std::pair<std::string, std::string>> flags;
  // Tables of the file whose members have names of the user's own, such as [agents.helper]. They are kept as
  // they stand, for Config::table().
  std::vector<std::string> tables{};
};

// A value as it stands in the file, with its place.
struct ConfigNode {
  using List = std::vector<ConfigNode>;
  // In the order of the names.
  using Table = std::vector<std::pair<std::string, ConfigNode>>;

  // Nothing: a date or a time, which no setting is.
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Table> value{};
  // "config.toml:3:1".
  std::string origin{};

  // Null if it is no table, or has no such member.
  const ConfigNode* find(std::string_view name) const;
};

// One setting with where its value came from, for `config explain`.
struct ExplainedSetting {
  std::string key;
  // As it could be written in the file; "set" or "not set" for a secret.
  std::string value;
  // "default", "config.toml:3:1", "TERTULIA_LOG_LEVEL" or "--log-level".
  std::string origin;
  std::string doc;
};

// A value for each declared setting. Asking for a key that was not declared, or as another type, is a mistake
// of the program and ends it.
class Config {
 public:
  bool boolean(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;
  Duration duration(std::string_view key) const;
  std::int64_t size(std::string_view key) const;
  // A string or a choice.
  const std::string& string(std::string_view key) const;
  Path path(std::string_view key) const;
  const std::vector<std::string>& strings(std::string_view key) const;
  // Null if it is not set.
  std::shared_ptr<const Secret> secret(std::string_view key) const;

  // One of ConfigSources::tables, or null if the file has none of the name.
  const ConfigNode* table(std::string_view name) const;
  // What `node` says for a setting, by the rules of its type: ranges, choices, paths relative to the file,
  // secrets that may stand in a file of their own. The sentence of an error is what follows the place and the
  // key.
  Result<SettingValue> read(const Setting& setting, const ConfigNode& node, FileSystem& files) const;

  // In the order of declaration.
  std::vector<ExplainedSetting> explain() const;
  // The file that was read, if any.
  const std::optional<Path>& file() const { return file_; }

 private:
  friend class ConfigLoader;
  struct Entry {
    Setting setting;
    SettingValue value;
    std::string origin;
  };
  const SettingValue& value_of(std::string_view key, SettingType type) const;

  std::vector<Entry> entries_;
  std::optional<Path> file_;
  ConfigNode::Table tables_;
  // What reading a value needs to know of where it stands.
  std::string home_;
  bool file_is_world_readable_ = false;
};

// kBadConfig with these problems, in the sentence and one by one in the fact "problems".
Error bad_config(std::vector<std::string> problems);

// A value as it could stand in the file; "set" or "not set" for a secret.
std::string setting_text(const Setting& setting, const SettingValue& value);

// kBadConfig with every problem in the sentence, and one by one in the fact "problems". A problem names the
// file, line and column, the variable or the flag; the key; and the nearest known key where one was misspelt.
//
// Limits: a file of 256 KiB; a secret file of 64 KiB that not everybody may read; the first 50 problems.
Result<Config> load_config(const Settings& settings, FileSystem& files, const ConfigSources& sources);

}  // namespace tertulia
