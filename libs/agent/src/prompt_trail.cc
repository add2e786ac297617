#include "prompt_trail.h"

#include <utility>

namespace tertulia {
namespace {

// Behind the messages that `view` begins with as `before` does, all of them; nothing if it does not.
std::optional<View::Iterator> behind(const View& before, const View& view) {
  if (view.size() < before.size()) return std::nullopt;
  View::Iterator message = view.begin();
  for (const Message& earlier : before) {
    if (!(earlier == *message)) return std::nullopt;
    ++message;
  }
  return message;
}

}  // namespace

PromptTrail::Followed PromptTrail::follow(const std::string& model, const View& view,
                                          std::span<const ToolDefinition> tools) {
  const ToolsText& shown = tools_text(tools);
  SentPrompt now{view, tools.empty() ? std::string() : shown.hash};
  Followed followed;
  std::optional<View::Iterator> rest;
  if (last_ && last_->model == model && last_->prompt.tools == now.tools) {
    rest = behind(last_->prompt.view, view);
  }
  if (last_ && !rest) followed.shared = shared_prefix(last_->prompt, now);
  Last next = rest ? *std::move(last_) : Last{.model = model, .hasher = PromptHasher(model, shown.text)};
  const std::uint64_t before = next.bytes;
  for (auto message = rest ? *rest : view.begin(); message != view.end(); ++message) {
    next.hasher.add(*message);
    next.bytes += prompt_bytes(*message);
  }
  if (rest) {
    followed.shared = next.bytes == 0 ? 0 : static_cast<double>(before) / static_cast<double>(next.bytes);
  }
  next.prompt = std::move(now);
  last_ = std::move(next);
  followed.hash = last_->hasher.hex();
  return followed;
}

}  // namespace tertulia
