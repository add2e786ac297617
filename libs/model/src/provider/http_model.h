// A model behind HTTP: builds a request, reads the stream, tells the deltas.
#pragma once

#include <memory>
#include <string>

#include "tertulia/base/http_client.h"
#include "tertulia/base/result.h"
#include "tertulia/model/answer_builder.h"
#include "tertulia/model/language_model.h"
#include "tertulia/model/provider_options.h"

namespace tertulia {

// What one provider speaks. Immutable.
class Protocol {
 public:
  virtual ~Protocol() = default;

  // What else is known of the model.
  virtual void complete_info(ModelInfo&) const {}
  // Behind the base URL: "/chat/completions".
  virtual std::string_view path() const = 0;
  virtual void add_headers(const ModelRequest& request, HttpRequest& http) const = 0;
  virtual Result<std::string> body(const ModelRequest& request) const = 0;
  virtual std::unique_ptr<StreamParser> new_stream(const ModelRequest& request, OnDelta on_delta) const = 0;
};

std::shared_ptr<LanguageModel> http_model(std::unique_ptr<Protocol> protocol, ProviderOptions options);

}  // namespace tertulia
