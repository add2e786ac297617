// Any bytes as a configuration file, and as the text of a variable: a value or a named problem, nothing else.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tertulia/base/config.h"
#include "tertulia/base/testing/sim_env.h"
#include "tertulia/base/utf8.h"

namespace {

using namespace tertulia;

Settings settings() {
  Settings all;
  add_base_settings(all, {{"HOME", "/"}});
  all.add(Setting::boolean("a.flag", false, "A flag."));
  all.add(Setting::integer("a.number", 1, -5, 5, "A number."));
  all.add(Setting::duration("a.time", Duration(1), Duration(0), Duration::max(), "A duration."));
  all.add(Setting::size("a.size", 1, 0, 1 << 20, "A size."));
  all.add(Setting::strings("list", {}, "A list."));
  all.add(Setting::secret("key", "A secret."));
  return all;
}

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const Result<Config>& config) {
  if (!config) {
    require(config.error().code() == ErrorCode::kBadConfig);
    require(is_utf8(config.error().message()));
    return;
  }
  for (const ExplainedSetting& row : config->explain()) require(is_utf8(row.value));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Settings kSettings = settings();
  const std::string text(reinterpret_cast<const char*>(data), size);
  SimEnv env(1);
  if (!write_file_atomically(env.files(), "/config.toml", text)) std::abort();
  check(load_config(kSettings, env.files(), {.file = "/config.toml", .environment = {{"HOME", "/"}}}));
  for (const Setting& setting : kSettings.all()) {
    check(load_config(kSettings, env.files(), {.environment = {{"HOME", "/"}, {setting.variable(), text}}}));
  }
  return 0;
}
