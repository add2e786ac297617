#include "tertulia/model/language_model.h"

#include "tertulia/model/ask_model.h"

namespace tertulia {

std::string_view name_of(Finish finish) {
  switch (finish) {
    case Finish::kStop:
      return "stop";
    case Finish::kToolCalls:
      return "tool_calls";
    case Finish::kLength:
      return "length";
    case Finish::kRefusal:
      return "refusal";
  }
  return "invalid";
}

Usage operator+(const Usage& one, const Usage& other) {
  return {.input_tokens = one.input_tokens + other.input_tokens,
          .cached_tokens = one.cached_tokens + other.cached_tokens,
          .output_tokens = one.output_tokens + other.output_tokens,
          .reasoning_tokens = one.reasoning_tokens + other.reasoning_tokens};
}

Result<ModelResponse> respond(LanguageModel& model, ModelCall call) {
  return wait<ModelResponse>(
      [&](Done<ModelResponse> done) { ask_model(model, std::move(call), first_answer(std::move(done))); });
}

}  // namespace tertulia
