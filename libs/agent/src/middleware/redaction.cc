#include <re2/re2.h>

#include "tertulia/agent/builtin_middleware.h"

namespace tertulia {
namespace {

struct Pattern {
  std::unique_ptr<re2::RE2> expression;
  std::string replacement;
};

// RE2 reads \1 in a replacement as a group.
std::string literal(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

class RedactionMiddleware final : public Middleware {
 public:
  RedactionMiddleware(std::vector<Pattern> patterns, bool shown, bool stored)
      : patterns_(std::move(patterns)), shown_(shown), stored_(stored) {}
  std::string_view name() const override { return "redaction"; }

  Result<void> on_input(Message& message) override {
    if (!stored_) return {};
    TERTULIA_TRY_AS(std::optional<Message> clean, redacted(message));
    if (clean) message = *std::move(clean);
    return {};
  }

  Result<void> before_model_call(TurnContext& /*turn*/, ModelRequest& request) override {
    if (!shown_) return {};
    std::vector<Message> messages;
    bool changed = false;
    for (const Message& message : request.view) {
      TERTULIA_TRY_AS(std::optional<Message> clean, redacted(message));
      changed = changed || clean;
      messages.push_back(clean ? *std::move(clean) : message);
    }
    if (!changed) return {};
    TERTULIA_TRY_AS(request.view, view_of(messages));
    return {};
  }

  void around_model_call(const TurnInfo& /*turn*/, ModelCall call, NextModelCall next,
                         Done<ModelResponse> done) override {
    if (stored_) {
      call.on_delta = [tell = std::move(call.on_delta)](const ModelDelta& delta) {
        if (delta.kind == ModelDelta::Kind::kRetry) tell(delta);
      };
    }
    next(std::move(call), std::move(done));
  }

  Result<void> after_model_call(TurnContext& /*turn*/, ModelResponse& response) override {
    if (!stored_) return {};
    for (AnswerPart& part : response.parts) {
      if (part.kind == PartKind::kText) replace(part.text);
      if (part.kind == PartKind::kToolCall) part.text = arguments(part.text).value_or(part.text);
    }
    return {};
  }

  Result<void> after_tool_call(TurnContext& /*turn*/, const ToolCallPlan& /*call*/,
                               ToolAnswer& answer) override {
    if (stored_) replace(answer.text);
    return {};
  }

 private:
  bool replace(std::string& text) const {
    bool changed = false;
    for (const Pattern& pattern : patterns_) {
      changed = re2::RE2::GlobalReplace(&text, *pattern.expression, pattern.replacement) > 0 || changed;
    }
    return changed;
  }

  bool replace_in(Json& value) const {
    bool changed = false;
    if (const std::string* text = value.as_string()) {
      std::string clean = *text;
      changed = replace(clean);
      if (changed) value = std::move(clean);
    }
    if (JsonArray* array = value.as_array()) {
      for (Json& item : *array) changed = replace_in(item) || changed;
    }
    if (JsonObject* object = value.as_object()) {
      for (auto& [name, member] : *object) changed = replace_in(member) || changed;
    }
    return changed;
  }

  // Arguments stay JSON: only their strings are looked into, and all of it where it is none. Nothing: nothing
  // to change.
  std::optional<std::string> arguments(std::string_view text) const {
    Result<Json> parsed = parse_json(text);
    if (!parsed) {
      std::string clean(text);
      return replace(clean) ? std::optional(std::move(clean)) : std::nullopt;
    }
    if (!replace_in(*parsed)) return std::nullopt;
    return to_text(*parsed);
  }

  // Nothing: nothing to change. What a model has reasoned stays, because it is signed.
  Result<std::optional<Message>> redacted(const Message& message) const {
    std::vector<std::string> texts(message.part_count());
    std::vector<Part> parts;
    bool changed = false;
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      Part part = message.part(i);
      if (part.kind == PartKind::kText || part.kind == PartKind::kToolResult) {
        texts[i] = part.text;
        if (replace(texts[i])) {
          part.text = texts[i];
          changed = true;
        }
      } else if (part.kind == PartKind::kToolCall) {
        if (std::optional<std::string> clean = arguments(part.text)) {
          texts[i] = *std::move(clean);
          part.text = texts[i];
          changed = true;
        }
      }
      parts.push_back(part);
    }
    if (!changed) return std::optional<Message>();
    // The count is that of the text before, which is near enough for a budget and never asked for again.
    TERTULIA_TRY_AS(Message clean, Message::make({.id = message.id(),
                                                  .role = message.role(),
                                                  .time = message.time(),
                                                  .author = message.author(),
                                                  .origin = message.origin(),
                                                  .source = message.source(),
                                                  .source_id = message.source_id(),
                                                  .tokens = message.tokens(),
                                                  .counted = message.counted(),
                                                  .interrupted = message.interrupted(),
                                                  .internal = message.internal(),
                                                  .parts = std::move(parts),
                                                  .extra = message.extra()}));
    return std::optional(std::move(clean));
  }

  // The same messages in the same order, tool groups whole.
  static Result<View> view_of(std::span<const Message> messages) {
    View view;
    std::vector<Message> loose;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (!messages[i].has_tool_calls()) {
        loose.push_back(messages[i]);
        continue;
      }
      std::vector<Message> results;
      const Message& call = messages[i];
      while (i + 1 < messages.size() && messages[i + 1].role() == Role::kTool) {
        results.push_back(messages[++i]);
      }
      TERTULIA_TRY_AS(const ToolGroup group, ToolGroup::close(call, std::move(results)));
      TERTULIA_TRY_AS(view, view.with_trailing(std::exchange(loose, {})));
      TurnDraft draft{TurnId()};
      draft.add(group);
      view = view.with_trailing(draft);
    }
    return view.with_trailing(std::move(loose));
  }

  const std::vector<Pattern> patterns_;
  const bool shown_;
  const bool stored_;
};

}  // namespace

std::vector<RedactionRule> common_redaction_rules() {
  return {{.name = "email", .pattern = R"((?i)\b[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}\b)"},
          {.name = "card", .pattern = R"(\b\d(?:[ -]?\d){12,18}\b)"},
          {.name = "key", .pattern = R"(\b(?:sk|pk|rk|ghp|gho|xox[abp])[-_][A-Za-z0-9_-]{16,})"}};
}

Result<MiddlewarePtr> redaction_middleware(RedactionOptions options) {
  std::vector<Pattern> patterns;
  for (RedactionRule& rule : options.rules) {
    re2::RE2::Options how;
    how.set_log_errors(false);
    Pattern pattern{
        .expression = std::make_unique<re2::RE2>(rule.pattern, how),
        .replacement = literal(rule.replacement.empty() ? "[" + rule.name + "]" : rule.replacement)};
    if (!pattern.expression->ok()) {
      return Error(ErrorCode::kBadConfig,
                   "redaction rule '" + rule.name + "': " + pattern.expression->error());
    }
    if (re2::RE2::FullMatch("", *pattern.expression)) {
      return Error(ErrorCode::kBadConfig, "redaction rule '" + rule.name +
                                              "' also matches nothing at all, which would stand everywhere");
    }
    patterns.push_back(std::move(pattern));
  }
  return MiddlewarePtr(
      std::make_shared<RedactionMiddleware>(std::move(patterns), options.shown, options.stored));
}

}  // namespace tertulia
