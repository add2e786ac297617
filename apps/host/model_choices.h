// The models that a turn may be given in place of its agent's own: those of [models], and for whoever sits at
// the machine any that its keys allow.
//
// What is chosen is kept by its name in RunOptions::model_name, and the agent's own model finds it behind
// that name. So a turn that a crash has cut goes on with the model that was chosen for it, and whatever wraps
// an agent's model (limits of a key, prices) wraps the chosen one as well.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/model/language_model.h"
#include "tertulia/model/model_catalog.h"

#include "host_plan.h"

namespace tertulia {

struct ModelChoice {
  // As in [models.NAME].
  std::string name{};
  // Empty if the configuration names none that is known; `made` says so.
  std::string provider{};
  // The provider's own name for it.
  std::string model{};
  std::uint64_t context_tokens = 0;
  // Or why it cannot speak: kModelKey, kModelNotFound, kBadConfig.
  Result<ConfiguredModel> made;
};

// Concurrency: any thread.
class ModelChoices : public std::enable_shared_from_this<ModelChoices> {
 public:
  // Nothing is sent to find out whether they answer. `env` must outlive it.
  ModelChoices(const HostPlan& plan, const Environment& environment, Env& env);

  // Those of [models], in the order of their names.
  const std::vector<ModelChoice>& all() const { return all_; }
  // What RunOptions::model_name is to be. kModelNotFound {known}, or why it cannot speak.
  Result<std::string> choose(std::string_view name) const;
  // The same, also for "offline" and for a provider and a model ("openai/gpt-4o") with the key of the
  // environment. Not for names that come over a network.
  Result<std::string> choose_any(std::string_view name) const;
  // The name that was chosen, from what choose() gave; empty for any other.
  static std::string_view chosen_name(std::string_view model_name);

  // `own`, which also speaks as each of them when it is asked for by what choose() gives.
  std::shared_ptr<LanguageModel> beside(std::shared_ptr<LanguageModel> own) const;
  // `model`, which is made by beside(), always asked as what choose() gave, whatever the request names: for a
  // turn that was begun with another one.
  static std::shared_ptr<LanguageModel> always(std::shared_ptr<LanguageModel> model, std::string model_name);
  // What speaks behind a name, or why it cannot. The same object each time.
  const Result<ConfiguredModel>& made(std::string_view name) const;

 private:
  const ModelChoice* find(std::string_view name) const;

  std::map<std::string, ModelConfig> models_;
  Environment environment_;
  Env& env_;
  std::vector<ModelChoice> all_;
  mutable Mutex mutex_;
  // By their names; only those that were asked for.
  mutable std::map<std::string, Result<ConfiguredModel>, std::less<>> made_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace tertulia
