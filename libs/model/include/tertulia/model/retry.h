// Asks a model again when it could not answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "tertulia/base/clock.h"
#include "tertulia/base/env.h"
#include "tertulia/model/language_model.h"

namespace tertulia {

// What is tried again: kModelUnavailable (no connection, too long a silence, status 408, 409, 425 and 5xx),
// kRateLimited (429) and kBadStream. Nothing else: a request that was refused would be refused again.
struct RetryPolicy {
  // How often it is asked in all. Default: 4.
  std::uint32_t attempts = 4;
  // The wait before the second attempt; doubled for each one after, up to `longest_delay`. Of each wait
  // between a half and the whole is taken, by chance, so that many callers do not come back at once.
  // Defaults: 500 ms, 30 s.
  Duration first_delay = std::chrono::milliseconds(500);
  Duration longest_delay = std::chrono::seconds(30);
  // A provider that asks for a longer wait than this is not waited for. Default: 60 s.
  Duration longest_retry_after = std::chrono::seconds(60);
  // Also after text was told, which is then void (ModelDelta::Kind::kRetry). Default: true.
  bool after_partial_text = true;
};

// Runs a job once the time has passed, on any thread.
using Later = std::function<void(Duration, std::function<void()>)>;

// The same model, asked again as the policy says. Before each further attempt a kRetry delta is told. The
// last error is the one that is returned. What the provider asks to wait (Retry-After) is waited, at least;
// an attempt that could not begin before the deadline is not waited for. A cancel ends a wait at once.
//
// `later` is for tests; without it a thread of the process waits.
std::shared_ptr<LanguageModel> with_retries(std::shared_ptr<LanguageModel> model, RetryPolicy policy = {},
                                            Env& env = real_env(), Later later = {});

}  // namespace tertulia
