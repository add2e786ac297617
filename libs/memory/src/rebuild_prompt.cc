// A prompt made again from its receipt, the transcript, and the texts beside the receipt.
#include <algorithm>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/memory/memory.h"
#include "tertulia/memory/prompt.h"

namespace tertulia {
namespace {

Error gone(const ReceiptItem& item) {
  return Error(ErrorCode::kNotFound, "the prompt cannot be made again: the " +
                                         std::string(name_of(item.tier)) + " '" + item.id +
                                         "' that it showed was erased since");
}

Result<std::vector<ToolDefinition>> tools_of(std::string_view text) {
  TERTULIA_TRY_AS(const Json form, parse_json(text));
  std::vector<ToolDefinition> tools;
  for (const Json& one : form.as_array() != nullptr ? *form.as_array() : JsonArray()) {
    JsonReader reader(one, "tool");
    ToolDefinition tool{.name = reader.required_string("name"),
                        .description = reader.required_string("description"),
                        .parameters = {}};
    const std::string parameters = reader.required_string("parameters");
    TERTULIA_TRY(reader.finish());
    if (!parameters.empty()) {
      TERTULIA_TRY_AS(tool.parameters, JsonText::parse(parameters));
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

class Rebuilding {
 public:
  Rebuilding(Store& store, const SessionKey& key, const Receipt& receipt)
      : store_(store), key_(key), receipt_(receipt) {}

  Result<ModelRequest> make() {
    TERTULIA_TRY_AS(tokenizer_, tokenizer_named(receipt_.tokenizer));
    TERTULIA_TRY(read_branch());
    for (const ReceiptItem& item : receipt_.items) {
      if (item.fate != Fate::kDropped) TERTULIA_TRY(take(item));
    }
    return put_together();
  }

 private:
  Result<void> read_branch() {
    TERTULIA_TRY_AS(const std::vector<StoredTurn> turns,
                    read_turns(store_, key_, {.branch = receipt_.branch}));
    for (const StoredTurn& stored : turns) {
      transcript_.append(stored.turn, stored.revision);
      if (stored.turn.id() != receipt_.turn) continue;
      turn_ = stored.turn;
      break;
    }
    if (turn_) return {};
    return Error(ErrorCode::kNoTurn,
                 "turn " + receipt_.turn.text() + " is not on branch '" + receipt_.branch.text() + "'");
  }

  Result<PromptPart> part(const ReceiptItem& item) {
    Result<PromptPart> found = read_prompt_part(store_, key_, receipt_.branch, item.text);
    if (!found && found.error().code() == ErrorCode::kNotFound) return gone(item);
    return found;
  }

  Result<void> take(const ReceiptItem& item) {
    switch (item.tier) {
      case Tier::kSystem: {
        TERTULIA_TRY_AS(const PromptPart text, part(item));
        TERTULIA_TRY_AS(Message message, system_message(text.text, *tokenizer_));
        leading_.push_back(std::move(message));
        return {};
      }
      case Tier::kTools: {
        TERTULIA_TRY_AS(const PromptPart text, part(item));
        TERTULIA_TRY_AS(request_.tools, tools_of(text.text));
        return {};
      }
      case Tier::kProcedure:
      case Tier::kKnowledge:
      case Tier::kEpisode: {
        TERTULIA_TRY_AS(const PromptPart text, part(item));
        TERTULIA_TRY_AS(Message message, context_message(item.tier, text.source, text.text, {}, *tokenizer_));
        (history_seen_ ? trailing_ : leading_).push_back(std::move(message));
        return {};
      }
      case Tier::kHistory:
        return take_history(item);
      case Tier::kCurrent:
        return take_current(item);
    }
    return {};
  }

  Result<void> take_history(const ReceiptItem& item) {
    history_seen_ = true;
    if (!item.text.empty()) {
      TERTULIA_TRY_AS(const PromptPart text, part(item));
      TERTULIA_TRY_AS(Message message, summary_message(text.text, *tokenizer_));
      leading_.push_back(std::move(message));
      return {};
    }
    const MessageRange range{static_cast<std::size_t>(item.index),
                             static_cast<std::size_t>(item.index + item.more + 1)};
    if (range.end > transcript_.size()) return gone(item);
    if (item.fate == Fate::kTruncated) elided_.push_back(range);
    if (!ranges_.empty() && ranges_.back().end == range.begin) {
      ranges_.back().end = range.end;
    } else {
      ranges_.push_back(range);
    }
    return {};
  }

  Result<void> take_current(const ReceiptItem& item) {
    if (!item.text.empty()) {
      TERTULIA_TRY_AS(const PromptPart text, part(item));
      TERTULIA_TRY_AS(Message message, context_message(item.tier, {}, text.text, {}, *tokenizer_));
      trailing_.push_back(std::move(message));
      return {};
    }
    const auto messages = turn_->messages();
    const auto found = std::find_if(messages.begin(), messages.end(),
                                    [&](const Message& message) { return message.id().text() == item.id; });
    if (found == messages.end()) return gone(item);
    current_.push_back(*found);
    return {};
  }

  Result<ModelRequest> put_together() {
    TERTULIA_TRY_AS(View view, View::of(transcript_, std::move(ranges_)));
    for (const MessageRange& range : elided_) {
      for (std::size_t i = range.begin; i < range.end; ++i) {
        if (transcript_[i].role() != Role::kTool) continue;
        TERTULIA_TRY_AS(Message shorter, elided_result(transcript_[i], *tokenizer_));
        TERTULIA_TRY_AS(view, view.with_instead(i, std::move(shorter)));
      }
    }
    TERTULIA_TRY_AS(view, view.with_leading(std::move(leading_)));
    TERTULIA_TRY_AS(view, view.with_trailing(std::move(trailing_)));
    TERTULIA_TRY_AS(const Turn shown, Turn::from_messages(receipt_.turn, std::move(current_)));
    TurnDraft draft(receipt_.turn);
    TERTULIA_TRY(fill(draft, shown.messages()));
    request_.view = view.with_trailing(draft);
    request_.model = receipt_.model;
    if (hash_of_prompt(receipt_.model, request_.view, request_.tools) == receipt_.prompt_hash) {
      return std::move(request_);
    }
    for (const Message& message : request_.view) {
      if (is_erased(message)) return gone({.tier = Tier::kHistory, .id = message.id().text()});
    }
    return Error(ErrorCode::kDamaged,
                 "what is stored gives another prompt than the one that was sent in turn " +
                     receipt_.turn.text() + ": middleware has changed it, or the store is damaged");
  }

  // A turn's messages as a draft: groups stay groups.
  static Result<void> fill(TurnDraft& draft, std::span<const Message> messages) {
    for (std::size_t i = 0; i < messages.size();) {
      if (!messages[i].has_tool_calls()) {
        TERTULIA_TRY(draft.add(messages[i++]));
        continue;
      }
      std::size_t end = i + 1;
      while (end < messages.size() && messages[end].role() == Role::kTool) ++end;
      TERTULIA_TRY_AS(const ToolGroup group,
                      ToolGroup::close(messages[i], {messages.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                                     messages.begin() + static_cast<std::ptrdiff_t>(end)}));
      draft.add(group);
      i = end;
    }
    return {};
  }

  Store& store_;
  const SessionKey& key_;
  const Receipt& receipt_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Transcript transcript_;
  std::optional<Turn> turn_;
  bool history_seen_ = false;
  std::vector<Message> leading_;
  std::vector<Message> trailing_;
  std::vector<MessageRange> ranges_;
  std::vector<MessageRange> elided_;
  std::vector<Message> current_;
  ModelRequest request_;
};

Result<std::vector<Receipt>> receipts_in(const RecordPage& page) {
  std::vector<Receipt> receipts;
  for (const StoredRecord& stored : page.records) {
    if (is_prompt_part(stored.record)) continue;
    TERTULIA_TRY_AS(Receipt receipt, parse_form<Receipt>(stored.record.payload));
    receipts.push_back(std::move(receipt));
  }
  return receipts;
}

}  // namespace

Result<PromptPart> read_prompt_part(Store& store, const SessionKey& key, const BranchId& branch,
                                    const std::string& hash) {
  TERTULIA_TRY_AS(const RecordPage page, read_records(store, {.tenant = key.tenant,
                                                              .owner = key.owner,
                                                              .session = key.session,
                                                              .kind = RecordKind::kReceipt,
                                                              .branch = branch,
                                                              .name = hash,
                                                              .limit = 1}));
  if (page.records.empty()) {
    return Error(ErrorCode::kNotFound, "a text of a prompt was erased since it was shown");
  }
  return prompt_part_of(page.records.front().record);
}

Result<std::vector<Receipt>> read_receipts(Store& store, const SessionKey& key, const TurnId& turn) {
  TERTULIA_TRY_AS(const RecordPage page, read_records(store, {.tenant = key.tenant,
                                                              .owner = key.owner,
                                                              .session = key.session,
                                                              .kind = RecordKind::kReceipt,
                                                              .scope = turn.text(),
                                                              .limit = 1'000}));
  TERTULIA_TRY_AS(std::vector<Receipt> receipts, receipts_in(page));
  if (!receipts.empty()) return receipts;
  return Error(ErrorCode::kNoTurn,
               "session '" + key.session.text() + "' has no receipts of a turn " + turn.text());
}

Result<std::vector<Receipt>> read_last_receipts(Store& store, const SessionKey& key, const BranchId& branch) {
  TERTULIA_TRY_AS(const std::vector<StoredTurn> turns, read_turns(store, key, {.branch = branch}));
  for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn) {
    Result<std::vector<Receipt>> receipts = read_receipts(store, key, turn->turn.id());
    if (receipts || receipts.error().code() != ErrorCode::kNoTurn) return receipts;
  }
  return Error(ErrorCode::kNoTurn, "branch '" + branch.text() + "' has no turn that a model was asked in");
}

Result<ModelRequest> rebuild_prompt(Store& store, const SessionKey& key, const Receipt& receipt) {
  return Rebuilding(store, key, receipt).make();
}

}  // namespace tertulia
