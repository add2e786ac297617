#include "tertulia/base/config.h"

#include <algorithm>

#include "tertulia/base/check.h"
#include "tertulia/base/nearest.h"
#include "tertulia/base/printable.h"

#include "config_value.h"

namespace tertulia {
namespace {

constexpr std::uint64_t kLargestFile = 256U << 10U;
constexpr std::size_t kMostProblems = 50;

bool is_empty(const SettingValue& value) {
  const std::string* text = std::get_if<std::string>(&value);
  return text != nullptr && text->empty();
}

RawSetting raw_of(const std::string& key, const ConfigNode& node) {
  RawSetting raw{.key = key,
                 .value = UnfitValue{"a date or time"},
                 .source = RawSetting::Source::kFile,
                 .origin = node.origin};
  if (const auto* flag = std::get_if<bool>(&node.value)) raw.value = *flag;
  if (const auto* number = std::get_if<std::int64_t>(&node.value)) raw.value = *number;
  if (const auto* text = std::get_if<std::string>(&node.value)) raw.value = *text;
  if (std::holds_alternative<double>(node.value)) raw.value = UnfitValue{"a fraction"};
  if (std::holds_alternative<ConfigNode::Table>(node.value)) raw.value = UnfitValue{"a table"};
  const auto* list = std::get_if<ConfigNode::List>(&node.value);
  if (list == nullptr) return raw;
  std::vector<std::string> texts;
  for (const ConfigNode& each : *list) {
    if (const auto* text = std::get_if<std::string>(&each.value)) texts.push_back(*text);
  }
  raw.value = UnfitValue{"a list of other things"};
  if (texts.size() == list->size()) raw.value = std::move(texts);
  return raw;
}

}  // namespace

Error bad_config(std::vector<std::string> problems) {
  const std::size_t count = problems.size();
  if (count > kMostProblems) {
    problems.resize(kMostProblems);
    problems.push_back("and " + std::to_string(count - kMostProblems) + " more");
  }
  std::string sentence = count == 1 ? "the configuration has a problem"
                                    : "the configuration has " + std::to_string(count) + " problems";
  for (const std::string& problem : problems) sentence += "\n  " + problem;
  return Error(ErrorCode::kBadConfig, std::move(sentence)).with("problems", std::move(problems));
}

// Collects what the sources say, in their order, and every problem on the way.
class ConfigLoader {
 public:
  ConfigLoader(const Settings& settings, FileSystem& files, const ConfigSources& sources)
      : settings_(settings),
        sources_(sources),
        context_{
            .files = files, .home = variable_or_empty(sources.environment, "HOME"), .file_directory = {}} {}

  Result<Config> load() {
    for (const Setting& setting : settings_.all()) {
      config_.entries_.push_back({setting, setting.fallback, "default"});
    }
    config_.home_ = context_.home;
    find_file();
    if (config_.file_) read_file_source();
    read_environment();
    read_flags();
    for (RawSetting& raw : values_) take(raw);
    for (const Config::Entry& entry : config_.entries_) check_required(entry);
    if (!problems_.empty()) return bad_config(std::move(problems_));
    return std::move(config_);
  }

 private:
  void find_file() {
    const std::string variable = variable_or_empty(sources_.environment, "TERTULIA_CONFIG");
    if (sources_.file) {
      config_.file_ = sources_.file;
    } else if (!variable.empty()) {
      config_.file_ = variable;
    } else if (const std::optional<Path> path = usual_file()) {
      const Result<FileInfo> there = context_.files.info(*path);
      // One that is there and cannot be read is told as such, not taken for none.
      if (there || there.error().code() != ErrorCode::kNotFound) config_.file_ = path;
    }
  }

  std::optional<Path> usual_file() const {
    const Path config_home = variable_or_empty(sources_.environment, "XDG_CONFIG_HOME");
    if (config_home.is_absolute()) return config_home / "tertulia/config.toml";
    const Path home = context_.home;
    if (home.is_absolute()) return home / ".config/tertulia/config.toml";
    return std::nullopt;
  }

  void read_file_source() {
    const Path& path = *config_.file_;
    Result<std::string> text = read_file(context_.files, path, kLargestFile);
    if (!text) {
      problems_.push_back("the configuration file cannot be read: " + printable(text.error().message()));
      return;
    }
    context_.file_directory = path.parent_path();
    const Result<FileInfo> info = context_.files.info(path);
    context_.file_is_world_readable = info && info->world_readable;
    TomlContent content = read_toml(*text, printable(path.string()), settings_, sources_.tables, problems_);
    values_ = std::move(content.values);
    config_.tables_ = std::move(content.tables);
    config_.file_is_world_readable_ = context_.file_is_world_readable;
    wipe(*text);
  }

  void read_environment() {
    std::vector<std::string> known = {"TERTULIA_CONFIG"};
    for (const Setting& setting : settings_.all()) {
      known.push_back(setting.variable());
      const std::string text = variable_or_empty(sources_.environment, known.back());
      if (!text.empty()) {
        values_.push_back({setting.key, text, RawSetting::Source::kEnvironment, known.back()});
      }
    }
    for (const auto& [name, text] : sources_.environment) {
      if (!name.starts_with("TERTULIA_") || std::ranges::find(known, name) != known.end()) continue;
      // Others that begin so may be meant for somebody else: the tests' own, a wrapper's.
      const std::optional<std::string> meant = nearest(name, known);
      if (meant && edit_distance(name, *meant) <= 2) {
        problems_.push_back("unknown variable '" + printable(name) + "' (did you mean '" + *meant + "'?)");
      }
    }
  }

  void read_flags() {
    std::vector<std::string> seen;
    for (const auto& [key, text] : sources_.flags) {
      const Setting* setting = settings_.find(key);
      if (setting == nullptr) {
        problems_.push_back("unknown flag for '" + printable(key) + "'" +
                            did_you_mean(key, settings_.keys()));
      } else if (std::ranges::find(seen, key) != seen.end()) {
        problems_.push_back(setting->flag() + ": given twice");
      } else {
        seen.push_back(key);
        values_.push_back({key, text, RawSetting::Source::kFlag, setting->flag()});
      }
    }
  }

  void take(RawSetting& raw) {
    const auto entry =
        std::ranges::find(config_.entries_, raw.key,
                          [](const Config::Entry& each) -> const std::string& { return each.setting.key; });
    Result<SettingValue> value = convert(entry->setting, raw, context_);
    std::string* text = std::get_if<std::string>(&raw.value);
    if (entry->setting.type == SettingType::kSecret && text != nullptr) wipe(*text);
    if (!value) {
      problems_.push_back(raw.origin + ": " + raw.key + ": " + value.error().message());
      return;
    }
    entry->value = *std::move(value);
    entry->origin = raw.origin;
  }

  void check_required(const Config::Entry& entry) {
    if (!entry.setting.is_required || !is_empty(entry.value)) return;
    problems_.push_back("'" + entry.setting.key + "' is not set: give " + entry.setting.flag() + " or " +
                        entry.setting.variable());
  }

  const Settings& settings_;
  const ConfigSources& sources_;
  ConversionContext context_;
  std::vector<RawSetting> values_;
  std::vector<std::string> problems_;
  Config config_;
};

Result<Config> load_config(const Settings& settings, FileSystem& files, const ConfigSources& sources) {
  return ConfigLoader(settings, files, sources).load();
}

const SettingValue& Config::value_of(std::string_view key, SettingType type) const {
  for (const Entry& entry : entries_) {
    if (entry.setting.key != key) continue;
    TERTULIA_CHECK(entry.setting.type == type, "setting '" + std::string(key) + "' is of another type");
    return entry.value;
  }
  check_failed(__FILE__, __LINE__, "declared", "setting '" + std::string(key) + "' was not declared");
}

bool Config::boolean(std::string_view key) const { return std::get<bool>(value_of(key, SettingType::kBool)); }

std::int64_t Config::integer(std::string_view key) const {
  return std::get<std::int64_t>(value_of(key, SettingType::kInt));
}

Duration Config::duration(std::string_view key) const {
  return Duration(std::get<std::int64_t>(value_of(key, SettingType::kDuration)));
}

std::int64_t Config::size(std::string_view key) const {
  return std::get<std::int64_t>(value_of(key, SettingType::kSize));
}

const std::string& Config::string(std::string_view key) const {
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& each) { return each.setting.key == key; });
  const bool is_choice = found != entries_.end() && found->setting.type == SettingType::kChoice;
  return std::get<std::string>(value_of(key, is_choice ? SettingType::kChoice : SettingType::kString));
}

Path Config::path(std::string_view key) const {
  return std::get<std::string>(value_of(key, SettingType::kPath));
}

const std::vector<std::string>& Config::strings(std::string_view key) const {
  return std::get<std::vector<std::string>>(value_of(key, SettingType::kStrings));
}

std::shared_ptr<const Secret> Config::secret(std::string_view key) const {
  return std::get<std::shared_ptr<const Secret>>(value_of(key, SettingType::kSecret));
}

const ConfigNode* ConfigNode::find(std::string_view name) const {
  const Table* members = std::get_if<Table>(&value);
  if (members == nullptr) return nullptr;
  const auto found = std::ranges::find(*members, name, &Table::value_type::first);
  return found == members->end() ? nullptr : &found->second;
}

const ConfigNode* Config::table(std::string_view name) const {
  const auto found = std::ranges::find(tables_, name, &ConfigNode::Table::value_type::first);
  return found == tables_.end() ? nullptr : &found->second;
}

Result<SettingValue> Config::read(const Setting& setting, const ConfigNode& node, FileSystem& files) const {
  return convert(setting, raw_of(setting.key, node),
                 {.files = files,
                  .home = home_,
                  .file_directory = file_ ? file_->parent_path() : Path(),
                  .file_is_world_readable = file_is_world_readable_});
}

std::string setting_text(const Setting& setting, const SettingValue& value) {
  return value_text(setting, value);
}

std::vector<ExplainedSetting> Config::explain() const {
  std::vector<ExplainedSetting> rows;
  rows.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    rows.push_back(
        {entry.setting.key, value_text(entry.setting, entry.value), entry.origin, entry.setting.doc});
  }
  return rows;
}

}  // namespace tertulia
