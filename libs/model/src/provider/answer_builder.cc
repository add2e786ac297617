#include "tertulia/model/answer_builder.h"

#include <algorithm>
#include <utility>

namespace tertulia {
namespace {

Error beyond(std::string what, std::size_t limit) {
  return Error(ErrorCode::kBadStream,
               "the answer has more than " + std::to_string(limit) + " " + std::move(what))
      .with("limit", static_cast<std::int64_t>(limit));
}

}  // namespace

Error bad_stream(std::string sentence) { return Error(ErrorCode::kBadStream, std::move(sentence)); }

std::size_t AnswerBuilder::add(PartKind kind) {
  entries_.push_back({.part = {.kind = kind}});
  return entries_.size() - 1;
}

bool AnswerBuilder::is_taken(std::string_view id) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return entry.part.kind == PartKind::kToolCall && entry.part.call_id == id;
  });
}

Result<std::size_t> AnswerBuilder::add_call(std::string_view id, std::string_view name) {
  if (calls_ >= limits_.calls) return beyond("tool calls", limits_.calls);
  if (id.size() > limits_.name_bytes || name.size() > limits_.name_bytes)
    return beyond("bytes in the id or the name of a tool call", limits_.name_bytes);
  std::string own_id(id);
  for (std::size_t n = calls_ + 1; own_id.empty() || is_taken(own_id); ++n)
    own_id = "call_" + std::to_string(n);
  entries_.push_back(
      {.part = {.kind = PartKind::kToolCall, .name = std::string(name), .call_id = std::move(own_id)},
       .call = calls_++});
  const Entry& entry = entries_.back();
  tell({.kind = ModelDelta::Kind::kToolCall,
        .index = entry.call,
        .call_id = entry.part.call_id,
        .name = entry.part.name});
  return entries_.size() - 1;
}

Result<void> AnswerBuilder::append(std::size_t index, std::string_view text) {
  if (text.empty()) return {};
  bytes_ += text.size();
  if (bytes_ > limits_.bytes) return beyond("bytes", limits_.bytes);
  Entry& entry = entries_[index];
  entry.part.text += text;
  ModelDelta delta{.kind = ModelDelta::Kind::kText, .index = entry.call, .text = text};
  if (entry.part.kind == PartKind::kReasoning) delta.kind = ModelDelta::Kind::kReasoning;
  if (entry.part.kind == PartKind::kToolCall) delta.kind = ModelDelta::Kind::kToolArguments;
  tell(delta);
  return {};
}

Result<void> AnswerBuilder::append_to_last(PartKind kind, std::string_view text) {
  if (text.empty()) return {};
  const bool same = !entries_.empty() && entries_.back().part.kind == kind;
  return append(same ? entries_.size() - 1 : add(kind), text);
}

std::vector<AnswerPart> AnswerBuilder::take() {
  std::vector<AnswerPart> parts;
  for (Entry& entry : entries_) {
    AnswerPart& part = entry.part;
    if (part.kind == PartKind::kToolCall && part.text.empty()) part.text = "{}";
    if (!part.text.empty() || !part.extra.empty() || !part.call_id.empty()) parts.push_back(std::move(part));
  }
  entries_.clear();
  return parts;
}

}  // namespace tertulia
