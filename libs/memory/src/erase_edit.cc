#include "erase_edit.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/memory/memory.h"
#include "tertulia/memory/overlay.h"
#include "tertulia/memory/prompt.h"

namespace tertulia {
namespace {

constexpr std::size_t kLeastTrace = 12;
constexpr std::string_view kErasedText = "[erased]";
constexpr std::string_view kErasedMark = "{\"erased\":true}";

bool contains(std::string_view bytes, std::string_view what) {
  return bytes.find(what) != std::string_view::npos;
}

// As it stands inside of a JSON text.
std::string form_of(std::string_view text) {
  std::string form = to_text(Json(std::string(text)));
  return form.substr(1, form.size() - 2);
}

// The same message with nothing in it. It keeps its place, its id and its part in a tool group.
Result<Message> erased(const Message& message) {
  MessageDraft draft{.id = message.id(),
                     .role = message.role(),
                     .time = message.time(),
                     .author = message.author(),
                     .origin = message.origin(),
                     .source = message.source(),
                     .internal = message.internal(),
                     .extra = kErasedMark};
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    const Part part = message.part(i);
    if (part.kind == PartKind::kToolCall) {
      draft.parts.push_back(Part::tool_call(part.call_id, part.name, "{}"));
    } else if (part.kind == PartKind::kToolResult) {
      draft.parts.push_back(Part::tool_result(part.call_id, part.name, kErasedText, part.outcome));
    }
  }
  if (draft.parts.empty()) draft.parts.push_back(Part::text_of(kErasedText));
  return Message::make(draft);
}

// The assets that a message refers to.
std::vector<std::string> assets_of(const Message& message) {
  std::vector<std::string> assets;
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    const Part part = message.part(i);
    if (part.kind != PartKind::kImage && part.kind != PartKind::kFile) continue;
    if (!part.call_id.empty()) assets.emplace_back(part.call_id);
  }
  return assets;
}

void drop_traced(MiddlewareState& state, const Traces& traces) {
  std::erase_if(state, [&](const auto& entry) { return traces.in(entry.second.text()); });
}

}  // namespace

bool is_erased(const Message& message) { return message.extra() == kErasedMark; }

void Traces::add(const Message& message) {
  const std::string id = message.id().text();
  ids_.push_back(id);
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    const Part part = message.part(i);
    if (part.text.size() < kLeastTrace) continue;
    texts_.emplace_back(part.text);
    forms_.push_back(form_of(part.text));
  }
}

bool Traces::in(std::string_view bytes) const {
  const auto holds = [&](const std::string& one) { return contains(bytes, one); };
  return std::any_of(ids_.begin(), ids_.end(), holds) || std::any_of(texts_.begin(), texts_.end(), holds) ||
         std::any_of(forms_.begin(), forms_.end(), holds);
}

bool Traces::in_title(std::string_view title) const {
  if (in(title)) return true;
  while (title.ends_with("…")) title.remove_suffix(std::string_view("…").size());
  while (title.ends_with('.') || title.ends_with(' ')) title.remove_suffix(1);
  if (title.size() < kLeastTrace) return false;
  return std::any_of(texts_.begin(), texts_.end(),
                     [&](const std::string& text) { return contains(text, title); });
}

Result<EraseEdit> EraseEdit::plan(Store& store, const SessionKey& key, std::span<const MessageId> messages) {
  EraseEdit edit;
  edit.messages_.insert(messages.begin(), messages.end());
  std::set<std::string> originals;
  for (const MessageId& id : messages) originals.insert(id.text());
  TERTULIA_TRY_AS(const SessionState state, load(store, key));
  std::set<MessageId> found;
  std::set<std::string> kept_assets;
  for (const BranchHead& head : state.branches) {
    TERTULIA_TRY_AS(const std::vector<StoredTurn> turns, read_turns(store, key, {.branch = head.id}));
    std::vector<Message>& all = edit.branches_[head.id];
    for (const StoredTurn& stored : turns) {
      for (const Message& message : stored.turn.messages()) {
        const bool copy = originals.contains(std::string(message.source_id()));
        if (copy) edit.messages_.insert(message.id());
        const bool goes = copy || edit.messages_.contains(message.id());
        (goes ? edit.assets_ : kept_assets).merge([&] {
          const std::vector<std::string> assets = assets_of(message);
          return std::set<std::string>(assets.begin(), assets.end());
        }());
        if (goes) {
          found.insert(message.id());
          edit.turns_.insert(stored.turn.id().text());
          edit.places_[head.id].push_back(all.size());
          edit.needed_ = edit.needed_ || !is_erased(message);
          if (!is_erased(message)) edit.traces_.add(message);
        }
        all.push_back(message);
      }
    }
  }
  for (const MessageId& id : messages) {
    if (found.contains(id)) continue;
    return Error(ErrorCode::kNoMessage, "session '" + key.session.text() + "' has no message " + id.text());
  }
  for (const std::string& asset : kept_assets) edit.assets_.erase(asset);
  TERTULIA_TRY(edit.read_receipts(store, key));
  return edit;
}

// Which texts of prompts are summaries, or what middleware had to say: they may hold what was erased in other
// words. A receipt that cannot be read names none, and unread() says so.
Result<void> EraseEdit::read_receipts(Store& store, const SessionKey& key) {
  RecordQuery query{.tenant = key.tenant,
                    .owner = key.owner,
                    .session = key.session,
                    .kind = RecordKind::kReceipt,
                    .limit = 1'000};
  do {
    TERTULIA_TRY_AS(RecordPage page, read_records(store, query));
    for (const StoredRecord& stored : page.records) {
      if (is_prompt_part(stored.record)) continue;
      const Result<Receipt> receipt = parse_form<Receipt>(stored.record.payload);
      if (!receipt) {
        unread_ = true;
        continue;
      }
      for (const ReceiptItem& item : receipt->items) {
        const bool made = item.tier == Tier::kHistory || item.tier == Tier::kCurrent;
        if (made && !item.text.empty()) made_texts_.insert(item.text);
      }
    }
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  return {};
}

bool EraseEdit::touches(const Episode& episode) const {
  const auto places = places_.find(episode.branch);
  if (places == places_.end()) return false;
  return std::any_of(places->second.begin(), places->second.end(), [&](std::uint64_t place) {
    return episode.span.first <= place && place <= episode.span.last;
  });
}

SessionEdit EraseEdit::edit(Remake remake, EraseCounts& counts) {
  counts.messages = messages_.size();
  return {.session = [this](Session& session) { erase_from(session); },
          .branch = [this, &counts](BranchHead& head) { erase_from(head, counts); },
          .turn = [this, &counts](Turn& turn, std::vector<ToolCallRecord>& calls) -> Result<void> {
            return erase_from(turn, calls, counts);
          },
          .record = [this, remake = std::move(remake), &counts](Record& record) -> Result<bool> {
            return erase_from(record, remake, counts);
          }};
}

Result<void> EraseEdit::erase_from(Turn& turn, std::vector<ToolCallRecord>& calls,
                                   EraseCounts& /*counts*/) const {
  if (!turns_.contains(turn.id().text())) return {};
  std::vector<Message> messages;
  // Calls are counted over the whole turn, and results stand in the order of their calls.
  std::uint32_t called = 0;
  std::uint32_t answered = 0;
  for (const Message& message : turn.messages()) {
    const bool goes = messages_.contains(message.id());
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      const PartKind kind = message.part(i).kind;
      if (kind != PartKind::kToolCall && kind != PartKind::kToolResult) continue;
      const std::uint32_t number = kind == PartKind::kToolCall ? called++ : answered++;
      for (ToolCallRecord& call : calls) {
        if (!goes || call.number != number) continue;
        if (kind == PartKind::kToolCall) call.input = JsonText::of(JsonObject());
        if (kind == PartKind::kToolResult) call.output = std::string(kErasedText);
        if (kind == PartKind::kToolResult && !call.error.empty()) call.error = std::string(kErasedText);
      }
    }
    TERTULIA_TRY_AS(Message put, goes ? erased(message) : Result<Message>(message));
    messages.push_back(std::move(put));
  }
  TERTULIA_TRY_AS(turn, Turn::from_messages(turn.id(), std::move(messages)));
  return {};
}

void EraseEdit::erase_from(BranchHead& head, EraseCounts& counts) const {
  Result<HistoryOverlay> overlay = overlay_in(head.state);
  const auto places = places_.find(head.id);
  if (overlay && overlay->summary && places != places_.end() &&
      places->second.front() < overlay->summary->covers) {
    overlay->summary.reset();
    put_overlay(head.state, *overlay);
    ++counts.summaries;
  }
  // Pins name messages and hold nothing of them.
  MiddlewareState others = head.state;
  others.erase(std::string(kOverlayState));
  drop_traced(others, traces_);
  std::erase_if(head.state, [&](const auto& entry) {
    return entry.first != kOverlayState && !others.contains(entry.first);
  });
  if (traces_.in_title(head.label)) head.label.clear();
  if (traces_.in_title(head.description)) head.description.clear();
}

void EraseEdit::erase_from(Session& session) const {
  std::vector<std::string> gone;
  for (const auto& [name, value] : session.metadata) {
    const std::string* text = value.as_string();
    if (text != nullptr ? traces_.in_title(*text) : traces_.in(to_text(value))) gone.push_back(name);
  }
  for (const std::string& name : gone) session.metadata.erase(name);
  drop_traced(session.state, traces_);
  std::erase_if(session.attachments, [&](const Attachment& one) { return assets_.contains(one.id.text()); });
}

bool EraseEdit::holds_made_text(const Record& part) const { return made_texts_.contains(part.name); }

Result<bool> EraseEdit::erase_from(Record& record, const Remake& remake, EraseCounts& counts) const {
  bool goes = false;
  switch (record.stream.kind) {
    case RecordKind::kEpisode: {
      const Result<Episode> episode = parse_form<Episode>(record.payload);
      // One that cannot be read cannot be written again without the words: it goes.
      if (!episode) {
        goes = true;
        break;
      }
      if (!touches(*episode)) return true;
      TERTULIA_TRY(remake_episode(record, remake));
      ++counts.episodes;
      return true;
    }
    case RecordKind::kReceipt:
      goes = is_prompt_part(record) && (holds_made_text(record) || traces_.in(record.payload));
      break;
    case RecordKind::kEvent:
      goes = turns_.contains(record.key);
      break;
    case RecordKind::kAsset:
      goes = assets_.contains(record.key) || assets_.contains(record.stream.scope);
      break;
    case RecordKind::kQuestion:
    case RecordKind::kCheckpoint:
    case RecordKind::kSubmission:
    case RecordKind::kMemory:
      goes = traces_.in(record.payload);
      break;
    case RecordKind::kJournal:
    case RecordKind::kLease:
    case RecordKind::kToolCall:
      break;
  }
  if (goes) ++counts.records;
  return !goes;
}

Result<void> EraseEdit::remake_episode(Record& record, const Remake& remake) const {
  TERTULIA_TRY_AS(const Episode before, parse_form<Episode>(record.payload));
  const std::vector<Message>& all = branches_.at(before.branch);
  std::vector<Message> span;
  for (std::uint64_t i = before.span.first; i <= before.span.last && i < all.size(); ++i) {
    const Message& message = all[static_cast<std::size_t>(i)];
    // What was erased has no words that could stand in a summary.
    if (!messages_.contains(message.id())) span.push_back(message);
  }
  TERTULIA_TRY_AS(const Episode after, remake(before, span));
  record.payload = to_json(after);
  return {};
}

}  // namespace tertulia
