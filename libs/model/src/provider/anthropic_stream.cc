// The stream of Anthropic's Messages.
#include <map>
#include <optional>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/model/provider_streams.h"

#include "provider/http_errors.h"
#include "provider/json_access.h"

namespace tertulia {
namespace {

std::optional<Finish> anthropic_finish(std::string_view reason) {
  if (reason == "end_turn" || reason == "stop_sequence" || reason == "pause_turn") return Finish::kStop;
  if (reason == "tool_use") return Finish::kToolCalls;
  if (reason == "max_tokens" || reason == "model_context_window_exceeded") return Finish::kLength;
  if (reason == "refusal") return Finish::kRefusal;
  return std::nullopt;
}

JsonText provider_extra(std::string_view redacted) {
  JsonObject extra{{"provider", "anthropic"}};
  if (!redacted.empty()) extra.set("redacted", redacted);
  return JsonText::of(Json(std::move(extra)));
}

class AnthropicStream final : public StreamParser {
 public:
  AnthropicStream(std::string model, std::string answer_tool, OnDelta on_delta, AnswerLimits limits)
      : answer_(std::move(on_delta), limits), answer_tool_(std::move(answer_tool)) {
    response_.model = std::move(model);
  }

  Result<void> take(std::string_view, std::string_view data) override {
    if (complete_) return {};
    Result<Json> parsed = parse_json(data);
    if (!parsed) return bad_stream("an event of the stream is not JSON: " + parsed.error().message());
    const Json& event = *parsed;
    const std::string_view type = text_at(&event, "type");
    if (type == "error")
      return error_of_words(text_at(&event, "error", "type"), "", text_at(&event, "error", "message"));
    if (type == "message_start") return take_start(event);
    // Also "ping", and what may be added.
    if (type != "content_block_start" && type != "content_block_delta" && type != "content_block_stop" &&
        type != "message_delta" && type != "message_stop")
      return {};
    if (!started_) return bad_stream("the stream does not begin with the start of a message");
    if (type == "message_delta") return take_message_delta(event);
    if (type == "message_stop") return take_stop();
    const std::optional<std::uint64_t> index = count_at(&event, "index");
    if (!index) return bad_stream("a block of the stream has no number");
    if (finish_) return bad_stream("the stream goes on after the answer was finished");
    if (type == "content_block_start") return begin_block(*index, event);
    if (type == "content_block_delta") return take_block_delta(*index, event);
    return end_block(*index);
  }

  bool complete() const override { return complete_; }

  Result<ModelResponse> finish() override {
    if (!complete_) return bad_stream("the stream ended before the answer was finished");
    response_.finish = *finish_;
    if (answer_.calls() > 0 && *finish_ == Finish::kStop) response_.finish = Finish::kToolCalls;
    // The tool that is the answer is no tool to the caller.
    if (answer_.calls() == 0 && *finish_ == Finish::kToolCalls) response_.finish = Finish::kStop;
    response_.parts = answer_.take();
    return std::move(response_);
  }

 private:
  enum class BlockKind : std::uint8_t { kText, kThinking, kCall, kIgnored };
  struct Block {
    BlockKind kind = BlockKind::kIgnored;
    std::size_t part = 0;
    bool open = true;
    // The input that a call begins with; used if no more of it comes.
    std::string input{};
  };

  Result<void> take_start(const Json& event) {
    if (std::exchange(started_, true)) return bad_stream("the message was started twice");
    const Json* message = member(&event, "message");
    response_.id = text_at(message, "id");
    if (const std::string_view model = text_at(message, "model"); !model.empty()) response_.model = model;
    take_usage(member(message, "usage"));
    return {};
  }

  // Counts stand in the first event and again, higher, in the last.
  void take_usage(const Json* usage) {
    if (usage == nullptr) return;
    if (const auto fresh = count_at(usage, "input_tokens")) {
      const std::uint64_t read = count_at(usage, "cache_read_input_tokens").value_or(0);
      const std::uint64_t written = count_at(usage, "cache_creation_input_tokens").value_or(0);
      const std::uint64_t total = *fresh + read + written;
      if (total >= response_.usage.input_tokens) {
        response_.usage.input_tokens = total;
        response_.usage.cached_tokens = read;
      }
    }
    if (const auto output = count_at(usage, "output_tokens")) response_.usage.output_tokens = *output;
  }

  Result<void> begin_block(std::uint64_t index, const Json& event) {
    if (blocks_.contains(index)) return bad_stream("a block of the stream begins twice");
    if (blocks_.size() >= kMostBlocks) return bad_stream("the answer has too many blocks");
    const Json* content = member(&event, "content_block");
    const std::string_view type = text_at(content, "type");
    Block block;
    if (type == "text") {
      block = {.kind = BlockKind::kText, .part = answer_.add(PartKind::kText)};
      TERTULIA_TRY(answer_.append(block.part, text_at(content, "text")));
    } else if (type == "thinking" || type == "redacted_thinking") {
      block = {.kind = BlockKind::kThinking, .part = answer_.add(PartKind::kReasoning)};
      answer_.part(block.part).extra = provider_extra(text_at(content, "data"));
      TERTULIA_TRY(answer_.append(block.part, text_at(content, "thinking")));
    } else if (type == "tool_use") {
      TERTULIA_TRY_AS(block, begin_call(content));
    }
    blocks_.emplace(index, std::move(block));
    return {};
  }

  Result<Block> begin_call(const Json* content) {
    const std::string_view name = text_at(content, "name");
    if (name.empty()) return bad_stream("a tool call has no name");
    Block block{.kind = BlockKind::kCall};
    const Json* input = member(content, "input");
    if (input != nullptr && input->as_object() != nullptr && !input->as_object()->empty())
      block.input = to_text(*input);
    if (!answer_tool_.empty() && name == answer_tool_) {
      block.part = answer_.add(PartKind::kText);
      return block;
    }
    TERTULIA_TRY_AS(block.part, answer_.add_call(text_at(content, "id"), name));
    return block;
  }

  Result<void> take_block_delta(std::uint64_t index, const Json& event) {
    const auto found = blocks_.find(index);
    if (found == blocks_.end() || !found->second.open)
      return bad_stream("a piece of the stream belongs to no open block");
    Block& block = found->second;
    const Json* delta = member(&event, "delta");
    const std::string_view type = text_at(delta, "type");
    const auto fits = [&](BlockKind kind) { return block.kind == kind; };
    if (type == "text_delta" && fits(BlockKind::kText))
      return answer_.append(block.part, text_at(delta, "text"));
    if (type == "thinking_delta" && fits(BlockKind::kThinking))
      return answer_.append(block.part, text_at(delta, "thinking"));
    if (type == "signature_delta" && fits(BlockKind::kThinking))
      return add_signature(block, text_at(delta, "signature"));
    if (type == "input_json_delta" && fits(BlockKind::kCall)) {
      const std::string_view json = text_at(delta, "partial_json");
      if (!json.empty()) block.input.clear();
      return answer_.append(block.part, json);
    }
    if (type == "text_delta" || type == "thinking_delta" || type == "input_json_delta")
      return fits(BlockKind::kIgnored) ? Result<void>()
                                       : bad_stream("a piece does not fit the block it belongs to");
    return {};
  }

  Result<void> add_signature(const Block& block, std::string_view signature) {
    std::string& kept = answer_.part(block.part).call_id;
    if (kept.size() + signature.size() > kMostSignature)
      return bad_stream("the signature of a thought is too long");
    kept += signature;
    return {};
  }

  Result<void> end_block(std::uint64_t index) {
    const auto found = blocks_.find(index);
    if (found == blocks_.end() || !found->second.open) return bad_stream("a block ends that is not open");
    found->second.open = false;
    return answer_.append(found->second.part, std::exchange(found->second.input, {}));
  }

  Result<void> take_message_delta(const Json& event) {
    take_usage(member(&event, "usage"));
    const std::string_view reason = text_at(&event, "delta", "stop_reason");
    if (reason.empty()) return {};
    const Finish finish = anthropic_finish(reason).value_or(Finish::kStop);
    if (finish_ && *finish_ != finish) return bad_stream("the answer was finished twice, in two ways");
    finish_ = finish;
    return {};
  }

  Result<void> take_stop() {
    if (!finish_) return bad_stream("the message stops without saying why");
    for (const auto& [index, block] : blocks_) {
      if (block.open) return bad_stream("the message stops while a block is open");
    }
    complete_ = true;
    return {};
  }

  static constexpr std::size_t kMostBlocks = 4096;
  static constexpr std::size_t kMostSignature = std::size_t{1} << 20;

  AnswerBuilder answer_;
  const std::string answer_tool_;
  ModelResponse response_;
  std::map<std::uint64_t, Block> blocks_;
  std::optional<Finish> finish_;
  bool started_ = false;
  bool complete_ = false;
};

}  // namespace

std::unique_ptr<StreamParser> anthropic_stream(std::string model, std::string answer_tool, OnDelta on_delta,
                                               AnswerLimits limits) {
  return std::make_unique<AnthropicStream>(std::move(model), std::move(answer_tool), std::move(on_delta),
                                           limits);
}

}  // namespace tertulia
