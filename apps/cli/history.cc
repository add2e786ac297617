#include "history.h"

#include <algorithm>
#include <charconv>

#include "tertulia/conversation/branch_rules.h"
#include "tertulia/store/commit_rules.h"

#include "words.h"

namespace tertulia::cli {

namespace {

constexpr std::uint64_t kPage = 1'024;

Error no_message(const BranchHead& branch, const std::string& text) {
  return Error(ErrorCode::kNoMessage, "branch '" + branch.id.text() + "' has no message '" + one_line(text) +
                                          "'; it has " + counted(branch.message_count, "message") +
                                          (branch.message_count > 0 ? ", numbered from 0" : ""));
}

}  // namespace

Result<const BranchHead*> choose_branch(const SessionState& state, const std::string& name) {
  std::optional<BranchId> wanted;
  if (!name.empty()) {
    TERTULIA_TRY_AS(wanted, BranchId::parse(name));
  }
  auto choice = resolve_branch(infos_of(state.branches), wanted);
  if (!choice && choice.error().code() == ErrorCode::kAmbiguousBranch) {
    return std::move(choice).error().in("name one with --branch");
  }
  if (!choice) return std::move(choice).error();
  const auto found = std::find_if(state.branches.begin(), state.branches.end(),
                                  [&](const BranchHead& head) { return head.id == choice->id; });
  if (found == state.branches.end()) return Error(ErrorCode::kNoBranch, "the session has no branches yet");
  return &*found;
}

Result<std::vector<PlacedMessage>> read_messages(Store& store, const SessionKey& key,
                                                 const BranchHead& branch, std::uint64_t begin,
                                                 std::uint64_t end) {
  std::vector<PlacedMessage> placed;
  if (begin >= end) return placed;
  TERTULIA_TRY_AS(const auto turns,
                  read_turns(store, key, {.branch = branch.id, .begin = begin, .end = end}));
  for (const StoredTurn& turn : turns) {
    std::uint64_t index = turn.first_index;
    for (const Message& message : turn.turn.messages()) {
      if (index >= begin && index < end) placed.push_back({index, turn.revision, message});
      ++index;
    }
  }
  return placed;
}

Result<Transcript> read_transcript(Store& store, const SessionKey& key, const BranchHead& branch) {
  Transcript transcript;
  while (transcript.size() < branch.message_count) {
    const std::uint64_t begin = transcript.size();
    const std::uint64_t end = std::min(branch.message_count, begin + kPage);
    TERTULIA_TRY_AS(const auto turns,
                    read_turns(store, key, {.branch = branch.id, .begin = begin, .end = end}));
    if (turns.empty())
      return Error(ErrorCode::kSessionDamaged, "the branch ends too early; run: tertulia verify");
    for (const StoredTurn& turn : turns) TERTULIA_TRY(transcript.try_append(turn.turn, turn.revision));
  }
  return transcript;
}

Result<std::uint64_t> message_index(Store& store, const SessionKey& key, const BranchHead& branch,
                                    const std::string& text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc() && end == text.data() + text.size()) {
    if (number < 0) number += static_cast<std::int64_t>(branch.message_count);
    if (number < 0 || static_cast<std::uint64_t>(number) >= branch.message_count)
      return no_message(branch, text);
    return static_cast<std::uint64_t>(number);
  }
  const auto id = MessageId::parse(text);
  for (std::uint64_t begin = 0; id && begin < branch.message_count; begin += kPage) {
    TERTULIA_TRY_AS(const auto page,
                    read_messages(store, key, branch, begin, std::min(branch.message_count, begin + kPage)));
    for (const PlacedMessage& placed : page) {
      if (placed.message.id() == *id) return placed.index;
    }
  }
  return no_message(branch, text);
}

std::string preview(const Message& message) {
  std::string text = one_line(message.text_content());
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    const Part part = message.part(i);
    std::string piece;
    if (part.kind == PartKind::kToolCall) piece = "→ " + one_line(part.name) + " " + one_line(part.text);
    if (part.kind == PartKind::kToolResult) piece = "← " + one_line(part.text);
    if (part.kind == PartKind::kImage) piece = "[image]";
    if (part.kind == PartKind::kFile) piece = "[file]";
    if (!piece.empty()) text += (text.empty() ? "" : " ") + piece;
  }
  return text;
}

}  // namespace tertulia::cli
