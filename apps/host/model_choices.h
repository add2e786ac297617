// The models of [models] that a turn may be given in place of its agent's own.
//
// What is chosen is kept by its name in RunOptions::model_name, and the agent's own model finds it behind
// that name. So a turn that a crash has cut goes on with the model that was chosen for it, and whatever wraps
// an agent's model (limits of a key, prices) wraps the chosen one as well.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/result.h"
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

// Concurrency: any thread; nothing changes after it is made.
class ModelChoices : public std::enable_shared_from_this<ModelChoices> {
 public:
  // Nothing is sent to find out whether they answer.
  ModelChoices(const HostPlan& plan, Env& env);

  // In the order of their names.
  const std::vector<ModelChoice>& all() const { return all_; }
  // What RunOptions::model_name is to be. kModelNotFound {known}, or why it cannot speak.
  Result<std::string> choose(std::string_view name) const;
  // `own`, which also speaks as each of them when it is asked for by what choose() gives.
  std::shared_ptr<LanguageModel> beside(std::shared_ptr<LanguageModel> own) const;
  // What stands behind a name that choose() gave; null for any other.
  const ModelChoice* chosen_by(std::string_view model_name) const;

 private:
  const ModelChoice* find(std::string_view name) const;

  std::vector<ModelChoice> all_;
};

}  // namespace tertulia
