#include "chat_model.h"

#include "settings.h"

namespace tertulia::cli {

Result<ConfiguredModel> chat_model(const Context& context, const std::string& name) {
  TERTULIA_TRY_AS(const Config settings, load_settings(context.config_flag, context.data_flag));
  ModelConfig config;
  config.name = name.empty() ? settings.string("model.name") : name;
  config.provider.base_url = settings.string("model.base_url");
  config.provider.key = settings.secret("model.key");
  config.environment = process_environment();
  return make_model(config);
}

}  // namespace tertulia::cli
