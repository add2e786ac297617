// A chain of models: the next one is asked when one cannot be had.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tertulia/model/language_model.h"

namespace tertulia {

struct FallbackChoice {
  std::shared_ptr<LanguageModel> model;
  // What the model is called there. Empty: as in the request.
  std::string name;
};

// Goes on to the next for kModelUnavailable, kRateLimited, kModelKey, kModelNotFound and kBadStream, with a
// kRetry delta before it speaks. Other errors are the answer; if none can be had, the last error is. A
// request with a service thread goes to the first only, which alone knows the thread.
//
// info() is that of the first, with the smallest limits of all, so that what is built for it fits each. There
// must be at least one choice.
std::shared_ptr<LanguageModel> fallback_model(std::vector<FallbackChoice> choices);

}  // namespace tertulia
