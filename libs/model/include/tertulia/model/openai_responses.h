// Models behind OpenAI's Responses endpoint, which can keep the conversation itself.
#pragma once

#include <memory>

#include "tertulia/model/language_model.h"
#include "tertulia/model/provider_options.h"

namespace tertulia {

struct OpenAiResponsesOptions {
  // base_url defaults to https://api.openai.com/v1.
  ProviderOptions provider{};
  // The provider keeps responses, so that a service thread can be gone on from: ModelRequest::service_thread
  // is the id of a response ("resp_…") or of a conversation ("conv_…"). A conversation has the calls of a
  // view, and what stands before them, from their own response: it is sent what follows. Without `store`
  // every request carries all, reasoning included, in encrypted form. Default: false.
  bool store = false;
  // As in OpenAiChatOptions. Default: false.
  bool strict_schemas = false;
};

// Sends one request a call and never retries: with_retries (retry.h) does. kUnsupportedParameter for stop,
// seed, and service threads unless `store` is set.
std::shared_ptr<LanguageModel> openai_responses_model(OpenAiResponsesOptions options);

}  // namespace tertulia
