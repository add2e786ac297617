#pragma once
#include "tertulia/base/secret.h"
#include "tertulia/base/setting.h"
#include "tertulia/model/language_model.h"
namespace tertulia { struct ModelConfig { std::string name; struct { std::shared_ptr<const Secret> key; std::string base_url; } provider; Environment environment; }; struct ConfiguredModel { std::shared_ptr<LanguageModel> model; std::string name; };
inline Result<ConfiguredModel> make_model(const ModelConfig&) { return Error(ErrorCode::kModelNotFound, "stub"); } }
