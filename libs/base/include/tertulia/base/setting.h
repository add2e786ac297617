// A Setting: one thing that can be configured, declared once, with its type, limits, default and a line of
// help.
//
//   Settings settings;
//   add_base_settings(settings, environment);
//   settings.add(Setting::duration("turn.timeout", 10min, 1s, 24h, "How long a turn may take."));
//
// A setting "turn.timeout" is `timeout` in the table [turn] of the file, TERTULIA_TURN_TIMEOUT in the
// environment and --turn-timeout on the command line.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/file_system.h"
#include "tertulia/base/secret.h"

namespace tertulia {

// The variables of a process. Passed in, so that nothing below main reads them behind one's back.
using Environment = std::map<std::string, std::string, std::less<>>;
Environment process_environment();

enum class SettingType : std::uint8_t {
  kBool,
  kInt,
  kDuration,  // "30s"
  kSize,      // "4MiB", or a number of bytes
  kString,
  kChoice,   // one of a list of words
  kPath,     // "~/" is the home directory; in a file, relative to the directory of that file
  kStrings,  // a list; "a,b,c" in the environment and on the command line
  kSecret,   // the text itself, or "file:/path" to read it from there
};

// "true or false", "a whole number", …: what a value of the type looks like, for messages and help.
std::string_view describe(SettingType type);

// A duration is held in microseconds, a size in bytes. A secret that is not set is null.
using SettingValue =
    std::variant<bool, std::int64_t, std::string, std::vector<std::string>, std::shared_ptr<const Secret>>;

struct Setting {
  std::string key;
  SettingType type = SettingType::kString;
  SettingValue fallback;
  std::string doc;
  // For integers, durations and sizes: both ends are allowed.
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::vector<std::string> choices;
  // The value may not be empty, the default included.
  bool is_required = false;

  static Setting boolean(std::string key, bool fallback, std::string doc);
  static Setting integer(std::string key, std::int64_t fallback, std::int64_t least, std::int64_t most,
                         std::string doc);
  static Setting duration(std::string key, Duration fallback, Duration least, Duration most, std::string doc);
  static Setting size(std::string key, std::int64_t fallback, std::int64_t least, std::int64_t most,
                      std::string doc);
  static Setting string(std::string key, std::string fallback, std::string doc);
  static Setting choice(std::string key, std::string fallback, std::vector<std::string> choices,
                        std::string doc);
  static Setting path(std::string key, const Path& fallback, std::string doc);
  static Setting strings(std::string key, std::vector<std::string> fallback, std::string doc);
  static Setting secret(std::string key, std::string doc);

  Setting required() &&;

  // "TERTULIA_TURN_TIMEOUT".
  std::string variable() const;
  // "--turn-timeout".
  std::string flag() const;
};

// What can be configured. Each layer adds its own.
class Settings {
 public:
  // Key, variable and flag must be new; the key is lower-case words joined by dots and underscores.
  void add(Setting setting);

  const Setting* find(std::string_view key) const;
  // In the order in which they were added.
  const std::vector<Setting>& all() const { return settings_; }
  std::vector<std::string> keys() const;
  // True if some key begins with "table.".
  bool has_table(std::string_view table) const;

 private:
  std::vector<Setting> settings_;
};

// data, log.level and log.format. The default of `data` is $XDG_DATA_HOME/tertulia, else
// ~/.local/share/tertulia; without a home directory it must be set.
void add_base_settings(Settings& settings, const Environment& environment);

}  // namespace tertulia
