// The stream of chat completions, as OpenAI, llama.cpp, Ollama and vLLM send it.
#include <optional>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/model/provider_streams.h"

#include "provider/http_errors.h"
#include "provider/json_access.h"

namespace tertulia {
namespace {

std::optional<Finish> chat_finish(std::string_view reason) {
  if (reason == "stop") return Finish::kStop;
  if (reason == "tool_calls" || reason == "function_call") return Finish::kToolCalls;
  if (reason == "length") return Finish::kLength;
  if (reason == "content_filter") return Finish::kRefusal;
  return std::nullopt;
}

class OpenAiChatStream final : public StreamParser {
 public:
  OpenAiChatStream(std::string model, OnDelta on_delta, AnswerLimits limits)
      : answer_(std::move(on_delta), limits) {
    response_.model = std::move(model);
  }

  Result<void> take(std::string_view, std::string_view data) override {
    if (complete_) return {};
    if (data == "[DONE]") {
      if (!finish_) return bad_stream("the stream was declared done before the answer was finished");
      complete_ = true;
      return {};
    }
    Result<Json> chunk = parse_json(data);
    if (!chunk) return bad_stream("a chunk of the stream is not JSON: " + chunk.error().message());
    if (const Json* error = member(&*chunk, "error"))
      return error_of_words(text_at(error, "type"), text_at(error, "code"), text_at(error, "message"));
    take_head(*chunk);
    for (const Json& choice : array_at(&*chunk, "choices")) {
      // Several choices are never asked for; what is said in others is not this answer.
      if (count_at(&choice, "index").value_or(0) != 0) continue;
      TERTULIA_TRY(take_delta(member(&choice, "delta")));
      TERTULIA_TRY(take_finish(text_at(&choice, "finish_reason")));
    }
    return {};
  }

  bool complete() const override { return complete_; }

  Result<ModelResponse> finish() override {
    if (!finish_) return bad_stream("the stream ended before the answer was finished");
    response_.finish = *finish_;
    if (answer_.calls() > 0 && *finish_ == Finish::kStop) response_.finish = Finish::kToolCalls;
    if (answer_.calls() == 0 && *finish_ == Finish::kToolCalls) response_.finish = Finish::kStop;
    if (refused_) response_.finish = Finish::kRefusal;
    response_.parts = answer_.take();
    return std::move(response_);
  }

 private:
  void take_head(const Json& chunk) {
    if (const std::string_view id = text_at(&chunk, "id"); !id.empty()) response_.id = id;
    if (const std::string_view model = text_at(&chunk, "model"); !model.empty()) response_.model = model;
    const Json* usage = member(&chunk, "usage");
    if (usage == nullptr) return;
    response_.usage = {
        .input_tokens = count_at(usage, "prompt_tokens").value_or(0),
        .cached_tokens = count_at(usage, "prompt_tokens_details", "cached_tokens").value_or(0),
        .output_tokens = count_at(usage, "completion_tokens").value_or(0),
        .reasoning_tokens = count_at(usage, "completion_tokens_details", "reasoning_tokens").value_or(0)};
  }

  Result<void> take_delta(const Json* delta) {
    if (delta == nullptr) return {};
    std::string_view reasoning = text_at(delta, "reasoning_content");
    if (reasoning.empty()) reasoning = text_at(delta, "reasoning");
    const std::string_view content = text_at(delta, "content");
    const std::string_view refusal = text_at(delta, "refusal");
    const JsonArray& calls = array_at(delta, "tool_calls");
    if (finish_ && (!reasoning.empty() || !content.empty() || !refusal.empty() || !calls.empty()))
      return bad_stream("the stream goes on after the answer was finished");
    TERTULIA_TRY(answer_.append_to_last(PartKind::kReasoning, reasoning));
    TERTULIA_TRY(answer_.append_to_last(PartKind::kText, content));
    TERTULIA_TRY(answer_.append_to_last(PartKind::kText, refusal));
    refused_ = refused_ || !refusal.empty();
    for (const Json& call : calls) TERTULIA_TRY(take_call(call));
    return {};
  }

  // A call comes in pieces that carry its number. Some servers leave the number out, or give 0 to all of
  // them: then a piece with an id that is not the last one's begins another call.
  Result<void> take_call(const Json& piece) {
    const std::optional<std::uint64_t> number = count_at(&piece, "index");
    const std::string_view id = text_at(&piece, "id");
    const std::string_view name = text_at(&piece, "function", "name");
    Call* call = find_call(number, id, name);
    if (call == nullptr) {
      if (name.empty()) return bad_stream("a piece of a tool call belongs to no call");
      TERTULIA_TRY_AS(const std::size_t part, answer_.add_call(id, name));
      calls_.push_back({.number = number, .id = std::string(id), .part = part});
      call = &calls_.back();
    }
    // Some send the arguments as an object.
    const Json* arguments = member(&piece, "function", "arguments");
    if (arguments != nullptr && arguments->as_object() != nullptr)
      return answer_.append(call->part, to_text(*arguments));
    return answer_.append(call->part, text_in(arguments));
  }

  struct Call {
    std::optional<std::uint64_t> number;
    std::string id;
    std::size_t part = 0;
  };

  Call* find_call(std::optional<std::uint64_t> number, std::string_view id, std::string_view name) {
    const bool begins = !name.empty() && !id.empty();
    for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
      if (number && call->number != number) continue;
      if (begins && call->id != id) return nullptr;
      return &*call;
    }
    return nullptr;
  }

  Result<void> take_finish(std::string_view reason) {
    if (reason.empty()) return {};
    const std::optional<Finish> finish = chat_finish(reason);
    if (finish_ && finish && *finish_ != *finish)
      return bad_stream("the answer was finished twice, in two ways");
    if (finish == Finish::kRefusal) refused_ = true;
    // A reason that we do not know is still an end.
    if (!finish_) finish_ = finish.value_or(Finish::kStop);
    return {};
  }

  AnswerBuilder answer_;
  ModelResponse response_;
  std::vector<Call> calls_;
  std::optional<Finish> finish_;
  bool refused_ = false;
  bool complete_ = false;
};

}  // namespace

std::unique_ptr<StreamParser> openai_chat_stream(std::string model, OnDelta on_delta, AnswerLimits limits) {
  return std::make_unique<OpenAiChatStream>(std::move(model), std::move(on_delta), limits);
}

}  // namespace tertulia
