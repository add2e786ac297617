#include <algorithm>
#include <array>
#include <utility>

#include "tertulia/base/nearest.h"
#include "tertulia/base/printable.h"
#include "tertulia/base/units.h"
#include "tertulia/tools/mcp_config.h"

namespace tertulia {
namespace {

constexpr std::size_t kServerNameBytes = 32;

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kServerNameBytes && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// A path or an address as the address of a root.
std::string root_uri(const std::string& text) {
  if (text.find("://") != std::string::npos) return text;
  std::string uri = "file://";
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-_.~").find(c) != std::string_view::npos;
    if (plain) {
      uri += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    uri += '%';
    uri += "0123456789ABCDEF"[byte >> 4];
    uri += "0123456789ABCDEF"[byte & 0xF];
  }
  return uri;
}

class Reader {
 public:
  Reader(std::string_view name, const Environment& environment)
      : where_("mcp." + std::string(name)), environment_(environment) {}

  Result<McpConfig> read(std::string_view name, const Json& table) {
    McpConfig config{.name = std::string(name)};
    if (!is_name(name))
      return Error(ErrorCode::kBadConfig, in_quotes(where_) + ": the name of an MCP server has 1 to " +
                                              std::to_string(kServerNameBytes) +
                                              " of the characters A-Z, a-z, 0-9, '_' and '-'")
          .with("param", where_);
    const JsonObject* object = table.as_object();
    if (object == nullptr)
      return Error(ErrorCode::kBadConfig, where_ + " must be a table").with("param", where_);
    for (const auto& [key, value] : *object) member(config, key, value);
    check(config);
    if (problem_) return *std::move(problem_);
    return config;
  }

 private:
  void member(McpConfig& config, const std::string& key, const Json& value) {
    if (key == "command")
      config.command = text(key, value);
    else if (key == "args")
      config.args = texts(key, value);
    else if (key == "env")
      config.env = secrets(key, value);
    else if (key == "pass_env")
      config.pass_env = texts(key, value);
    else if (key == "directory" || key == "cwd")
      config.directory = text(key, value);
    else if (key == "url")
      config.url = expand(key, text(key, value));
    else if (key == "headers")
      config.headers = secrets(key, value);
    else if (key == "timeout")
      config.timeout = duration(key, value);
    else if (key == "call_timeout")
      config.call_timeout = duration(key, value);
    else if (key == "max_restarts")
      config.max_restarts = whole(key, value);
    else if (key == "tools")
      config.tools = texts(key, value);
    else if (key == "trust_annotations")
      config.trust_annotations = flag(key, value);
    else if (key == "roots")
      for (const std::string& root : texts(key, value)) config.roots.push_back({root_uri(root)});
    // What kind it is follows from the keys; other programs write it down.
    else if (key == "type" || key == "transport")
      (void)text(key, value);
    else
      unknown(key);
  }

  void check(const McpConfig& config) {
    if (config.command.empty() == config.url.empty()) return fail("", "needs either a command or a url");
    if (!config.url.empty() && !config.url.starts_with("http://") && !config.url.starts_with("https://"))
      return fail("url", "must begin with http:// or https://");
    for (const auto& [name, value] : config.env) {
      if (name.empty() || name.find('=') != std::string::npos) return fail("env", "has a name that is none");
    }
  }

  void fail(const std::string& key, const std::string& what) {
    const std::string place = key.empty() ? where_ : where_ + "." + key;
    if (!problem_) problem_ = Error(ErrorCode::kBadConfig, place + " " + what).with("param", place);
  }

  void unknown(const std::string& key) {
    static constexpr std::array<std::string_view, 13> kKeys = {
        "command", "args",         "env",          "pass_env", "directory",         "url",  "headers",
        "timeout", "call_timeout", "max_restarts", "tools",    "trust_annotations", "roots"};
    const std::vector<std::string> known(kKeys.begin(), kKeys.end());
    fail(printable(key, 60), "is not a key of an MCP server" + did_you_mean(key, known));
  }

  std::string text(const std::string& key, const Json& value) {
    if (const std::string* found = value.as_string(); found != nullptr && !found->empty()) {
      if (found->find('\0') == std::string::npos) return *found;
    }
    fail(key, "must be a text");
    return {};
  }

  std::vector<std::string> texts(const std::string& key, const Json& value) {
    std::vector<std::string> all;
    const JsonArray* list = value.as_array();
    if (list == nullptr) fail(key, "must be a list of texts");
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const std::string* found = (*list)[i].as_string();
      if (found == nullptr || found->find('\0') != std::string::npos) fail(key, "must be a list of texts");
      if (found != nullptr) all.push_back(*found);
    }
    return all;
  }

  std::map<std::string, McpSecret> secrets(const std::string& key, const Json& value) {
    std::map<std::string, McpSecret> all;
    const JsonObject* object = value.as_object();
    if (object == nullptr) fail(key, "must be a table of texts");
    for (std::size_t i = 0; object != nullptr && i < object->size(); ++i) {
      const auto& [name, member] = object->begin()[i];
      const std::string* found = member.as_string();
      if (found == nullptr || found->find_first_of(std::string_view("\0\r\n", 3)) != std::string::npos)
        fail(key + "." + printable(name, 60), "must be a text of one line");
      if (found == nullptr) continue;
      std::string expanded = expand(key + "." + printable(name, 60), *found);
      all[name] = std::make_shared<const Secret>(Secret::take(std::move(expanded)));
    }
    return all;
  }

  // "${NAME}" as the environment has it.
  std::string expand(const std::string& key, std::string_view text) {
    std::string out;
    while (true) {
      const std::size_t begin = text.find("${");
      const std::size_t end = begin == std::string_view::npos ? begin : text.find('}', begin);
      if (end == std::string_view::npos) return out += text;
      const std::string_view name = text.substr(begin + 2, end - begin - 2);
      out += text.substr(0, begin);
      const auto found = environment_.find(name);
      if (found == environment_.end()) {
        fail(key, "speaks of the variable " + in_quotes(name) + ", which is not set");
      } else {
        out += found->second;
      }
      text.remove_prefix(end + 1);
    }
  }

  Duration duration(const std::string& key, const Json& value) {
    const std::string* text = value.as_string();
    const Result<Duration> parsed =
        text == nullptr ? Result<Duration>(Duration::zero()) : parse_duration(*text);
    if (parsed && *parsed > Duration::zero()) return *parsed;
    fail(key, "must be a duration such as \"30s\"");
    return std::chrono::seconds(1);
  }

  int whole(const std::string& key, const Json& value) {
    const std::int64_t* number = value.as_int();
    if (number != nullptr && *number >= 0 && *number <= 1'000) return static_cast<int>(*number);
    fail(key, "must be a whole number from 0 to 1000");
    return 0;
  }

  bool flag(const std::string& key, const Json& value) {
    if (const bool* found = value.as_bool()) return *found;
    fail(key, "must be true or false");
    return false;
  }

  const std::string where_;
  const Environment& environment_;
  std::optional<Error> problem_;
};

}  // namespace

Result<McpConfig> parse_mcp_config(std::string_view name, const Json& table, const Environment& environment) {
  return Reader(name, environment).read(name, table);
}

Result<std::vector<McpConfig>> parse_mcp_configs(const Json& tables, const Environment& environment) {
  const JsonObject* object = tables.as_object();
  if (object == nullptr)
    return Error(ErrorCode::kBadConfig, "mcp must be a table of tables").with("param", "mcp");
  std::vector<McpConfig> all;
  for (const auto& [name, table] : *object) {
    TERTULIA_TRY_AS(McpConfig config, parse_mcp_config(name, table, environment));
    all.push_back(std::move(config));
  }
  return all;
}

}  // namespace tertulia
