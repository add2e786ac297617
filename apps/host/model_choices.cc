#include "model_choices.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/nearest.h"

#include "host.h"

namespace tertulia {
namespace {

// As the key of its table. No provider calls a model so.
constexpr std::string_view kChosen = "models.";

class ModelBesideChoices final : public LanguageModel {
 public:
  ModelBesideChoices(std::shared_ptr<LanguageModel> own, std::shared_ptr<const ModelChoices> choices)
      : own_(std::move(own)), choices_(std::move(choices)) {}

  ModelInfo info(std::string_view model) const override {
    const std::string_view name = ModelChoices::chosen_name(model);
    if (name.empty()) return own_->info(model);
    const Result<ConfiguredModel>& made = choices_->made(name);
    return made ? made->model->info(made->name) : known_model(name);
  }

  void respond(ModelCall call, Done<ModelResponse> done) override {
    const std::string_view name = ModelChoices::chosen_name(call.request.model);
    if (name.empty()) return own_->respond(std::move(call), std::move(done));
    // A turn may come back to a configuration that has changed since.
    const Result<ConfiguredModel>& made = choices_->made(name);
    if (!made) return done(made.error());
    call.request.model = made->name;
    made->model->respond(std::move(call), std::move(done));
  }

 private:
  const std::shared_ptr<LanguageModel> own_;
  const std::shared_ptr<const ModelChoices> choices_;
};

class ModelAskedAs final : public LanguageModel {
 public:
  ModelAskedAs(std::shared_ptr<LanguageModel> model, std::string name)
      : model_(std::move(model)), name_(std::move(name)) {}

  ModelInfo info(std::string_view /*model*/) const override { return model_->info(name_); }
  void respond(ModelCall call, Done<ModelResponse> done) override {
    call.request.model = name_;
    model_->respond(std::move(call), std::move(done));
  }

 private:
  const std::shared_ptr<LanguageModel> model_;
  const std::string name_;
};

}  // namespace

ModelChoices::ModelChoices(const HostPlan& plan, const Environment& environment, Env& env)
    : models_(plan.models), environment_(environment), env_(env) {
  for (const auto& [name, config] : plan.models) {
    if (name.empty()) continue;
    Result<ModelName> parsed = parse_model_name(config.name);
    ModelChoice choice{.name = name, .made = make_model(config, env)};
    if (parsed) {
      choice.provider = std::move(parsed->provider);
      choice.model = std::move(parsed->model);
    } else {
      choice.model = config.name;
    }
    choice.context_tokens =
        (choice.made ? choice.made->model->info(choice.model) : known_model(choice.model)).context_tokens;
    all_.push_back(std::move(choice));
  }
}

const ModelChoice* ModelChoices::find(std::string_view name) const {
  const auto found = std::ranges::find(all_, name, &ModelChoice::name);
  return found == all_.end() ? nullptr : &*found;
}

std::string_view ModelChoices::chosen_name(std::string_view model_name) {
  return model_name.starts_with(kChosen) ? model_name.substr(kChosen.size()) : std::string_view();
}

Result<std::string> ModelChoices::choose(std::string_view name) const {
  if (find(name) != nullptr) return choose_any(name);
  std::vector<std::string> known;
  known.reserve(all_.size());
  for (const ModelChoice& choice : all_) known.push_back(choice.name);
  return Error(ErrorCode::kModelNotFound, "there is no model '" + std::string(name.substr(0, 80)) + "'" +
                                              did_you_mean(name, known) +
                                              "; models stand in [models.NAME] of the configuration")
      .with("param", "model")
      .with("known", std::move(known));
}

Result<std::string> ModelChoices::choose_any(std::string_view name) const {
  const Result<ConfiguredModel>& there = made(name);
  if (!there) return there.error();
  return std::string(kChosen) + std::string(name);
}

const Result<ConfiguredModel>& ModelChoices::made(std::string_view name) const {
  MutexLock lock(mutex_);
  const auto found = made_.find(name);
  if (found != made_.end()) return found->second;
  const std::string key(name);
  if (const ModelChoice* const choice = find(name)) {
    Result<ConfiguredModel> there = choice->made;
    if (!there) there = std::move(there).error().in("model '" + key + "'");
    return made_.emplace(key, std::move(there)).first->second;
  }
  return made_.emplace(key, configured_model(models_, key, environment_, env_)).first->second;
}

std::shared_ptr<LanguageModel> ModelChoices::beside(std::shared_ptr<LanguageModel> own) const {
  return std::make_shared<ModelBesideChoices>(std::move(own), shared_from_this());
}

std::shared_ptr<LanguageModel> ModelChoices::always(std::shared_ptr<LanguageModel> model,
                                                    std::string model_name) {
  return std::make_shared<ModelAskedAs>(std::move(model), std::move(model_name));
}

}  // namespace tertulia
