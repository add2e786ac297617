#include "tertulia/model/fallback_model.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/check.h"
#include "tertulia/model/ask_model.h"

namespace tertulia {
namespace {

bool calls_for_another(ErrorCode code) {
  return code == ErrorCode::kModelUnavailable || code == ErrorCode::kRateLimited ||
         code == ErrorCode::kModelKey || code == ErrorCode::kModelNotFound || code == ErrorCode::kBadStream;
}

using Choices = std::vector<FallbackChoice>;

// One call through the chain; kept alive by the model that is asked.
class Chain : public std::enable_shared_from_this<Chain> {
 public:
  Chain(std::shared_ptr<const Choices> choices, ModelCall call, Done<ModelResponse> done)
      : choices_(std::move(choices)), call_(std::move(call)), done_(std::move(done)) {}

  void ask() {
    const FallbackChoice& choice = (*choices_)[next_++];
    ModelCall call{.request = call_.request,
                   .cancel = call_.cancel,
                   .deadline = call_.deadline,
                   .idle_timeout = call_.idle_timeout};
    if (!choice.name.empty()) call.request.model = choice.name;
    call.on_delta = [self = shared_from_this()](const ModelDelta& delta) { self->tell(delta); };
    ask_model(*choice.model, std::move(call),
              first_answer<ModelResponse>([self = shared_from_this()](Result<ModelResponse> result) {
                self->end(std::move(result));
              }));
  }

 private:
  // Attempts are numbered through the whole chain.
  void tell(ModelDelta delta) {
    if (delta.kind == ModelDelta::Kind::kRetry) delta.index = ++attempts_;
    if (call_.on_delta) call_.on_delta(delta);
  }

  void end(Result<ModelResponse> result) {
    const bool goes_on = !result && calls_for_another(result.error().code()) && next_ < choices_->size() &&
                         call_.request.service_thread.empty() && !call_.cancel.cancelled();
    if (!goes_on) return done_(std::move(result));
    const std::string why = result.error().message();
    tell({.kind = ModelDelta::Kind::kRetry, .text = why});
    ask();
  }

  const std::shared_ptr<const Choices> choices_;
  const ModelCall call_;
  const Done<ModelResponse> done_;
  std::size_t next_ = 0;
  std::uint32_t attempts_ = 0;
};

class FallbackModel final : public LanguageModel {
 public:
  explicit FallbackModel(Choices choices) : choices_(std::make_shared<const Choices>(std::move(choices))) {}

  ModelInfo info(std::string_view model) const override {
    ModelInfo info = info_of(choices_->front(), model);
    for (const FallbackChoice& choice : *choices_) {
      const ModelInfo other = info_of(choice, model);
      // 0 is "not known".
      const auto smaller = [](std::uint64_t a, std::uint64_t b) {
        return a == 0 || b == 0 ? a + b : std::min(a, b);
      };
      info.context_tokens = smaller(info.context_tokens, other.context_tokens);
      info.max_output_tokens = smaller(info.max_output_tokens, other.max_output_tokens);
      info.tools = info.tools && other.tools;
      info.images = info.images && other.images;
    }
    return info;
  }

  void respond(ModelCall call, Done<ModelResponse> done) override {
    std::make_shared<Chain>(choices_, std::move(call), std::move(done))->ask();
  }

 private:
  static ModelInfo info_of(const FallbackChoice& choice, std::string_view model) {
    return choice.model->info(choice.name.empty() ? model : std::string_view(choice.name));
  }

  const std::shared_ptr<const Choices> choices_;
};

}  // namespace

std::shared_ptr<LanguageModel> fallback_model(std::vector<FallbackChoice> choices) {
  TERTULIA_CHECK(!choices.empty(), "a chain of models has at least one");
  return std::make_shared<FallbackModel>(std::move(choices));
}

}  // namespace tertulia
