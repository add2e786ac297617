// Any source of words can be a model: an engine of your own, a rule, another service.
#include <algorithm>
#include <iostream>

#include <tertulia/tertulia.h>

using namespace tertulia;

// custom_model
class Echo final : public LanguageModel {
 public:
  ModelInfo info(std::string_view model) const override {
    return {.name = std::string(model), .context_tokens = 8'000, .tokenizer = estimating_tokenizer()};
  }
  void respond(ModelCall call, Done<ModelResponse> done) override {
    std::string words = "You said: ";
    words += call.request.view.to_vector().back().text_content();
    call.on_delta({.kind = ModelDelta::Kind::kText, .text = words});
    done(ModelResponse{.parts = {{.text = words}}});
  }
};
// end

int main() {
  const Agent agent = AgentBuilder().with_model(std::make_shared<Echo>(), "echo").build().value();
  Branch branch = agent.create_session("talk").value().branch;
  for (const char* message : {"Hello", "Is anybody there?"}) {
    std::cout << agent.run(message, branch).result().value().text << "\n";
  }
  std::cout << branch.transcript.size() << " messages in memory\n";
}
