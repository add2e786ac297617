// A model that answers by a rule: the same request gets the same answer, however often it is asked.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tertulia/model/language_model.h"

namespace tertulia {

class RuleModel final : public LanguageModel {
 public:
  using Rule = std::function<Result<ModelResponse>(const ModelRequest&)>;
  explicit RuleModel(Rule rule) : rule_(std::move(rule)) {}

  ModelInfo info(std::string_view model) const override {
    return {.name = std::string(model), .tokenizer = estimating_tokenizer()};
  }
  void respond(ModelCall call, Done<ModelResponse> done) override {
    ++calls;
    done(rule_(call.request));
  }

  std::atomic<int> calls = 0;

 private:
  const Rule rule_;
};

inline ModelResponse response_saying(std::string text) { return {.parts = {{.text = std::move(text)}}}; }

// Says who it is and how many messages it was shown; first uses `tool`, if there is one.
inline std::shared_ptr<RuleModel> counting_model(const std::string& id, const std::string& tool = {}) {
  return std::make_shared<RuleModel>([id, tool](const ModelRequest& request) -> Result<ModelResponse> {
    const std::vector<Message> seen = request.view.to_vector();
    const Message& last = seen.back();
    if (!tool.empty() && last.role() == Role::kUser) {
      return ModelResponse{
          .parts = {{.kind = PartKind::kToolCall, .text = "{}", .name = tool, .call_id = "c"}},
          .finish = Finish::kToolCalls};
    }
    return response_saying(id + " heard " + std::to_string(seen.size()) + ", last: " + last.text_content());
  });
}

}  // namespace tertulia
