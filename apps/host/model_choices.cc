#include "model_choices.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/nearest.h"

namespace tertulia {
namespace {

// As the key of its table. No provider calls a model so.
constexpr std::string_view kChosen = "models.";

class ModelBesideChoices final : public LanguageModel {
 public:
  ModelBesideChoices(std::shared_ptr<LanguageModel> own, std::shared_ptr<const ModelChoices> choices)
      : own_(std::move(own)), choices_(std::move(choices)) {}

  ModelInfo info(std::string_view model) const override {
    if (!model.starts_with(kChosen)) return own_->info(model);
    const ModelChoice* const chosen = choices_->chosen_by(model);
    if (chosen == nullptr) return known_model(model);
    return chosen->made ? chosen->made->model->info(chosen->made->name) : known_model(chosen->model);
  }

  void respond(ModelCall call, Done<ModelResponse> done) override {
    if (!call.request.model.starts_with(kChosen)) return own_->respond(std::move(call), std::move(done));
    // A turn may come back to a configuration that has changed since.
    const Result<std::string> there = choices_->choose(call.request.model.substr(kChosen.size()));
    if (!there) return done(there.error());
    const ConfiguredModel& made = *choices_->chosen_by(*there)->made;
    call.request.model = made.name;
    made.model->respond(std::move(call), std::move(done));
  }

 private:
  const std::shared_ptr<LanguageModel> own_;
  const std::shared_ptr<const ModelChoices> choices_;
};

}  // namespace

ModelChoices::ModelChoices(const HostPlan& plan, Env& env) {
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

const ModelChoice* ModelChoices::chosen_by(std::string_view model_name) const {
  return model_name.starts_with(kChosen) ? find(model_name.substr(kChosen.size())) : nullptr;
}

Result<std::string> ModelChoices::choose(std::string_view name) const {
  if (const ModelChoice* const choice = find(name)) {
    if (!choice->made) return Error(choice->made.error()).in("model '" + choice->name + "'");
    return std::string(kChosen) + choice->name;
  }
  std::vector<std::string> known;
  for (const ModelChoice& choice : all_) known.push_back(choice.name);
  return Error(ErrorCode::kModelNotFound, "there is no model '" + std::string(name.substr(0, 80)) + "'" +
                                              did_you_mean(name, known) +
                                              "; models stand in [models.NAME] of the configuration")
      .with("param", "model")
      .with("known", std::move(known));
}

std::shared_ptr<LanguageModel> ModelChoices::beside(std::shared_ptr<LanguageModel> own) const {
  if (all_.empty()) return own;
  return std::make_shared<ModelBesideChoices>(std::move(own), shared_from_this());
}

}  // namespace tertulia
