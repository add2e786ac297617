#include "tertulia/model/offline_model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tertulia/base/check.h"

#include "offline/reading.h"
#include "offline/reply.h"
#include "offline/schema_value.h"
#include "offline/tool_choice.h"

namespace tertulia {
namespace {

std::shared_ptr<const Tokenizer> o200k() {
  Result<std::shared_ptr<const Tokenizer>> tokenizer = tokenizer_named("o200k_base");
  TERTULIA_CHECK(tokenizer.ok(), "o200k_base is built in");
  return *std::move(tokenizer);
}

Result<void> check_request(const ModelRequest& request) {
  const auto refuse = [](std::string param) {
    const std::string sentence = "the offline model cannot honour '" + param + "': leave it out";
    return Error(ErrorCode::kUnsupportedParameter, sentence).with("param", std::move(param));
  };
  if (!request.service_thread.empty()) return refuse("service_thread");
  if (!request.options.reasoning_effort.empty()) return refuse("reasoning_effort");
  if (!request.options.extra.empty()) return refuse("extra");
  return {};
}

// A word with the space behind it.
std::string_view next_word(std::string_view text) {
  const std::size_t space = text.find(' ');
  const std::size_t behind =
      space == std::string_view::npos ? text.size() : text.find_first_not_of(' ', space);
  return text.substr(0, behind == std::string_view::npos ? text.size() : behind);
}

class OfflineModel final : public LanguageModel {
 public:
  explicit OfflineModel(OfflineOptions options) : options_(std::move(options)), tokenizer_(o200k()) {}

  ModelInfo info(std::string_view model) const override {
    return {.name = std::string(model),
            .context_tokens = options_.context_tokens,
            .max_output_tokens = 4096,
            .tokenizer = tokenizer_};
  }

  void respond(ModelCall call, Done<ModelResponse> done) override { done(answer(call)); }

 private:
  Result<ModelResponse> answer(const ModelCall& call) const {
    TERTULIA_TRY(call.cancel.check());
    TERTULIA_TRY(check_request(call.request));
    const ModelRequest& request = call.request;
    const offline::Reading reading = offline::read_view(request.view, request.assets.get());
    const offline::ToolBox tools(request.tools);
    offline::Reply reply = offline::reply_to(
        reading, tools,
        {.tool_choice = request.options.tool_choice, .parallel = request.options.parallel_tool_calls},
        options_);
    if (!request.options.answer_schema.empty() && reply.calls.empty()) {
      TERTULIA_TRY_AS(const Json value,
                      offline::value_for_schema(request.options.answer_schema.value(), reply.text));
      reply.text = to_text(value);
    }

    ModelResponse response{.model = request.model.empty() ? "offline" : request.model};
    TERTULIA_TRY(reply.calls.empty() ? say(call, std::move(reply.text), response)
                                     : call_tools(call, reply.calls, reading.calls, response));
    response.usage.input_tokens = count_input(request);
    return response;
  }

  Result<void> say(const ModelCall& call, std::string text, ModelResponse& response) const {
    for (const std::string& stop : call.request.options.stop) {
      if (!stop.empty()) text = text.substr(0, text.find(stop));
    }
    std::string said;
    std::string_view rest = text;
    while (!rest.empty()) {
      TERTULIA_TRY(call.cancel.check());
      const std::string_view word = next_word(rest);
      rest.remove_prefix(word.size());
      const std::optional<std::uint32_t> most = call.request.options.max_output_tokens;
      if (most && tokenizer_->count(said + std::string(word)) > *most) {
        response.finish = Finish::kLength;
        break;
      }
      said += word;
      if (call.on_delta) call.on_delta({.kind = ModelDelta::Kind::kText, .text = word});
    }
    response.usage.output_tokens = tokenizer_->count(said);
    response.parts.push_back({.kind = PartKind::kText, .text = std::move(said)});
    return {};
  }

  Result<void> call_tools(const ModelCall& call, const std::vector<offline::PlannedCall>& calls,
                          std::size_t calls_before, ModelResponse& response) const {
    response.finish = Finish::kToolCalls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      TERTULIA_TRY(call.cancel.check());
      AnswerPart part{.kind = PartKind::kToolCall,
                      .text = to_text(Json(calls[i].arguments)),
                      .name = calls[i].tool,
                      .call_id = "call_" + std::to_string(calls_before + i + 1)};
      const auto index = static_cast<std::uint32_t>(i);
      if (call.on_delta) {
        call.on_delta({.kind = ModelDelta::Kind::kToolCall,
                       .index = index,
                       .call_id = part.call_id,
                       .name = part.name});
        call.on_delta({.kind = ModelDelta::Kind::kToolArguments, .index = index, .text = part.text});
      }
      response.usage.output_tokens += tokenizer_->count(part.name) + tokenizer_->count(part.text);
      response.parts.push_back(std::move(part));
    }
    return {};
  }

  std::uint64_t count_input(const ModelRequest& request) const {
    std::uint64_t tokens = 0;
    for (const Message& message : request.view) {
      if (message.counted() == Counted::kO200k) {
        tokens += number(message.tokens());
        continue;
      }
      for (std::size_t i = 0; i < message.part_count(); ++i)
        tokens += tokenizer_->count(message.part(i).text);
    }
    for (const ToolDefinition& tool : request.tools) {
      tokens += tokenizer_->count(tool.name) + tokenizer_->count(tool.description) +
                tokenizer_->count(tool.parameters.text());
    }
    return tokens;
  }

  const OfflineOptions options_;
  const std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace

std::shared_ptr<LanguageModel> offline_model(OfflineOptions options) {
  return std::make_shared<OfflineModel>(std::move(options));
}

}  // namespace tertulia
