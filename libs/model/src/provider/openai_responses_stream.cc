// The stream of OpenAI's Responses.
#include <map>
#include <optional>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/model/provider_streams.h"

#include "provider/http_errors.h"
#include "provider/json_access.h"

namespace tertulia {
namespace {

std::string joined_text(const JsonArray& parts, std::string_view between) {
  std::string text;
  for (const Json& part : parts) {
    std::string_view piece = text_at(&part, "text");
    if (piece.empty()) piece = text_at(&part, "refusal");
    if (!text.empty()) text += between;
    text += piece;
  }
  return text;
}

class ResponsesStream final : public StreamParser {
 public:
  ResponsesStream(std::string model, bool keeps, std::string conversation, OnDelta on_delta,
                  AnswerLimits limits)
      : answer_(std::move(on_delta), limits), keeps_(keeps), conversation_(std::move(conversation)) {
    response_.model = std::move(model);
  }

  Result<void> take(std::string_view, std::string_view data) override {
    if (complete_ || data == "[DONE]") return {};
    Result<Json> parsed = parse_json(data);
    if (!parsed) return bad_stream("an event of the stream is not JSON: " + parsed.error().message());
    const Json& event = *parsed;
    const std::string_view type = text_at(&event, "type");
    if (type == "error") return report(member(&event, "error") != nullptr ? member(&event, "error") : &event);
    if (type == "response.failed") return report(member(&event, "response", "error"));
    if (type == "response.created") take_response(member(&event, "response"));
    if (type == "response.completed" || type == "response.incomplete") return take_end(event);
    const std::optional<std::uint64_t> index = count_at(&event, "output_index");
    if (type == "response.output_item.added" || type == "response.output_item.done") {
      if (!index) return bad_stream("an item of the stream has no number");
      TERTULIA_TRY(begin_item(*index, member(&event, "item")));
      return type == "response.output_item.done" ? end_item(*index, member(&event, "item")) : Result<void>();
    }
    if (type == "response.refusal.delta") refused_ = true;
    if (type == "response.output_text.delta" || type == "response.refusal.delta")
      return take_delta(index, ItemKind::kMessage, event);
    if (type == "response.function_call_arguments.delta") return take_delta(index, ItemKind::kCall, event);
    if (type == "response.reasoning_summary_text.delta" || type == "response.reasoning_text.delta")
      return take_delta(index, ItemKind::kReasoning, event);
    if (type == "response.reasoning_summary_part.added") return begin_summary(index);
    return {};
  }

  bool complete() const override { return complete_; }

  Result<ModelResponse> finish() override {
    if (!complete_) return bad_stream("the stream ended before the answer was finished");
    response_.finish = finish_;
    if (finish_ == Finish::kStop && answer_.calls() > 0) response_.finish = Finish::kToolCalls;
    if (finish_ == Finish::kStop && refused_) response_.finish = Finish::kRefusal;
    if (!conversation_.empty()) {
      response_.service_thread = conversation_;
    } else if (keeps_) {
      response_.service_thread = response_.id;
    }
    response_.parts = answer_.take();
    return std::move(response_);
  }

 private:
  enum class ItemKind : std::uint8_t { kMessage, kReasoning, kCall, kIgnored };
  struct Item {
    ItemKind kind = ItemKind::kIgnored;
    std::size_t part = 0;
    bool open = true;
  };

  static Error report(const Json* error) {
    return error_of_words(text_at(error, "type"), text_at(error, "code"), text_at(error, "message"));
  }

  void take_response(const Json* response) {
    if (const std::string_view id = text_at(response, "id"); !id.empty()) response_.id = id;
    if (const std::string_view model = text_at(response, "model"); !model.empty()) response_.model = model;
    const Json* usage = member(response, "usage");
    if (usage == nullptr) return;
    response_.usage = {
        .input_tokens = count_at(usage, "input_tokens").value_or(0),
        .cached_tokens = count_at(usage, "input_tokens_details", "cached_tokens").value_or(0),
        .output_tokens = count_at(usage, "output_tokens").value_or(0),
        .reasoning_tokens = count_at(usage, "output_tokens_details", "reasoning_tokens").value_or(0)};
  }

  // Some servers send only the end of an item; then this begins it too.
  Result<void> begin_item(std::uint64_t index, const Json* item) {
    if (items_.contains(index)) return {};
    if (items_.size() >= kMostItems) return bad_stream("the answer has too many items");
    const std::string_view type = text_at(item, "type");
    Item begun;
    if (type == "message") {
      begun = {.kind = ItemKind::kMessage, .part = answer_.add(PartKind::kText)};
    } else if (type == "reasoning") {
      begun = {.kind = ItemKind::kReasoning, .part = answer_.add(PartKind::kReasoning)};
    } else if (type == "function_call") {
      const std::string_view name = text_at(item, "name");
      if (name.empty()) return bad_stream("a tool call has no name");
      begun.kind = ItemKind::kCall;
      TERTULIA_TRY_AS(begun.part, answer_.add_call(text_at(item, "call_id"), name));
    }
    items_.emplace(index, begun);
    return {};
  }

  Result<void> take_delta(std::optional<std::uint64_t> index, ItemKind kind, const Json& event) {
    const auto found = index ? items_.find(*index) : items_.end();
    if (found == items_.end() || !found->second.open || found->second.kind != kind)
      return bad_stream("a piece of the stream belongs to no open item");
    return answer_.append(found->second.part, text_at(&event, "delta"));
  }

  Result<void> begin_summary(std::optional<std::uint64_t> index) {
    const auto found = index ? items_.find(*index) : items_.end();
    if (found == items_.end() || found->second.kind != ItemKind::kReasoning) return {};
    return answer_.part(found->second.part).text.empty() ? Result<void>()
                                                         : answer_.append(found->second.part, "\n\n");
  }

  // The end of an item holds all of it: what was not told yet is told now, and nothing may differ.
  Result<void> end_item(std::uint64_t index, const Json* item) {
    Item& known = items_.at(index);
    if (!std::exchange(known.open, false)) return bad_stream("an item of the stream ends twice");
    if (known.kind == ItemKind::kIgnored) return {};
    if (known.kind == ItemKind::kReasoning) return end_reasoning(known, item);
    const std::string whole = known.kind == ItemKind::kCall ? std::string(text_at(item, "arguments"))
                                                            : joined_text(array_at(item, "content"), "");
    const std::string told = answer_.part(known.part).text;
    if (whole.empty()) return {};
    if (!whole.starts_with(told)) return bad_stream("an item of the stream differs from its pieces");
    return answer_.append(known.part, std::string_view(whole).substr(told.size()));
  }

  // The item is given back whole in the next request, encrypted content included.
  Result<void> end_reasoning(const Item& known, const Json* item) {
    if (item != nullptr && item->as_object() != nullptr) {
      AnswerPart& part = answer_.part(known.part);
      part.call_id = text_at(item, "id");
      JsonObject kept = *item->as_object();
      kept.erase("status");
      part.extra =
          JsonText::of(Json(JsonObject{{"provider", "openai-responses"}, {"item", std::move(kept)}}));
    }
    if (!answer_.part(known.part).text.empty()) return {};
    std::string summary = joined_text(array_at(item, "summary"), "\n\n");
    if (summary.empty()) summary = joined_text(array_at(item, "content"), "\n\n");
    return answer_.append(known.part, summary);
  }

  Result<void> take_end(const Json& event) {
    const Json* response = member(&event, "response");
    take_response(response);
    for (const auto& [index, item] : items_) {
      if (item.open && item.kind != ItemKind::kIgnored)
        return bad_stream("the response is declared complete while an item is open");
    }
    const std::string_view reason = text_at(response, "incomplete_details", "reason");
    if (reason == "content_filter") {
      finish_ = Finish::kRefusal;
    } else if (!reason.empty() || text_at(&event, "type") == "response.incomplete") {
      finish_ = Finish::kLength;
    }
    complete_ = true;
    return {};
  }

  static constexpr std::size_t kMostItems = 4096;

  AnswerBuilder answer_;
  const bool keeps_;
  const std::string conversation_;
  ModelResponse response_;
  std::map<std::uint64_t, Item> items_;
  Finish finish_ = Finish::kStop;
  bool refused_ = false;
  bool complete_ = false;
};

}  // namespace

std::unique_ptr<StreamParser> openai_responses_stream(std::string model, bool keeps, std::string conversation,
                                                      OnDelta on_delta, AnswerLimits limits) {
  return std::make_unique<ResponsesStream>(std::move(model), keeps, std::move(conversation),
                                           std::move(on_delta), limits);
}

}  // namespace tertulia
