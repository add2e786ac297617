#include "tertulia/memory/working_memory.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/memory/prompt.h"
#include "tertulia/memory/prompt_hasher.h"

#include "history_pruning.h"

namespace tertulia {
namespace {

// Of an old tool result, what is still shown.
constexpr std::size_t kElidedBytes = 160;
// Context never takes more than this share of what system prompt, tools and message leave.
constexpr std::uint64_t kContextShare = 2;

ReceiptItem item_of(Tier tier, std::string id, std::uint64_t tokens) {
  return {.tier = tier, .id = std::move(id), .tokens = Tokens{tokens}};
}

Result<Message> synthetic(Role role, Origin origin, std::string_view source, std::string_view text,
                          Tokens tokens, const Tokenizer& tokenizer) {
  return Message::make({.role = role,
                        .origin = origin,
                        .source = source,
                        .tokens = tokens,
                        .counted = counted_by(tokenizer),
                        .parts = {Part::text_of(text)}});
}

// What a model call may hold in all.
std::uint64_t most_of(const ViewParts& parts, const MemoryConfig& config) {
  const std::uint64_t wanted = number(parts.budget.value_or(config.max_working_memory_tokens));
  const std::uint64_t hard = number(parts.hard_limit);
  return hard > 0 ? std::min(wanted, hard) : wanted;
}

// What a message of the current turn costs.
std::uint64_t cost_of(const Message& message, const Tokenizer& tokenizer) {
  const bool known = message.counted() == counted_by(tokenizer);
  return number(known ? message.tokens() : count_tokens(message, tokenizer)) + kTokensPerMessage;
}

Error with_facts(Error error, std::uint64_t need, std::uint64_t have) {
  return std::move(error)
      .with("need", static_cast<std::int64_t>(need))
      .with("have", static_cast<std::int64_t>(have));
}

Error turn_too_long(std::uint64_t tokens, std::uint64_t need, std::uint64_t most) {
  return with_facts(Error(ErrorCode::kMessageExceedsContext,
                          "this turn alone holds " + std::to_string(tokens) +
                              " tokens, and a model call may hold " + std::to_string(most)),
                    need, most);
}

// One call of assemble_view.
class Assembly {
 public:
  Assembly(const ViewParts& parts, const MemoryConfig& config, const Tokenizer& tokenizer)
      : parts_(parts), config_(config), tokenizer_(tokenizer) {}

  Result<Assembled> make() {
    share_out();
    TERTULIA_TRY(add_system());
    add_tools();
    TERTULIA_TRY(add_shown());
    add_current();
    TERTULIA_TRY(check_fixed());
    TERTULIA_TRY(add_context());
    TERTULIA_TRY(add_history());
    return put_together();
  }

 private:
  void share_out() {
    total_ = most_of(parts_, config_);
    hard_ = number(parts_.hard_limit) > 0 ? number(parts_.hard_limit) : total_;
    reserve_ = std::min(number(config_.output_reserve), total_ / 4);
    Receipt& receipt = made_.receipt;
    receipt.budget = Tokens{total_};
    receipt.output_reserve = Tokens{reserve_};
    receipt.tokenizer = tokenizer_.name();
    receipt.exact = !tokenizer_.is_estimate();
  }

  Result<void> add_system() {
    if (parts_.system.empty()) return {};
    TERTULIA_TRY_AS(Message message, system_message(parts_.system, tokenizer_));
    system_tokens_ = number(message.tokens()) + kTokensPerMessage;
    ReceiptItem item = item_of(Tier::kSystem, "system", system_tokens_);
    item.text = add_part({}, {}, parts_.system);
    items_.push_back(std::move(item));
    leading_.push_back(std::move(message));
    return {};
  }

  void add_tools() {
    if (parts_.tools.empty()) return;
    for (const ToolDefinition& tool : parts_.tools) {
      tools_tokens_ += kTokensPerTool + tokenizer_.count(tool.name) + tokenizer_.count(tool.description) +
                       tokenizer_.count(tool.parameters.text());
    }
    ReceiptItem item = item_of(Tier::kTools, "tools", tools_tokens_);
    const ToolsText& shown = tools_text(parts_.tools);
    item.text = shown.hash;
    made_.parts.push_back({.hash = shown.hash, .item = {}, .source = {}, .text = shown.text});
    item.more = parts_.tools.size() - 1;
    tools_item_ = std::move(item);
  }

  void add_current() {
    for (const Message& message : parts_.current) {
      const std::uint64_t tokens = cost_of(message, tokenizer_);
      current_items_.push_back(item_of(Tier::kCurrent, message.id().text(), tokens));
      current_tokens_ += tokens;
    }
  }

  Result<void> add_shown() {
    for (const std::string& text : parts_.shown) {
      const Tokens tokens{tokenizer_.count(text)};
      TERTULIA_TRY_AS(Message message, context_message(Tier::kCurrent, {}, text, tokens, tokenizer_));
      ReceiptItem item =
          item_of(Tier::kCurrent, "shown", number(tokens) + kTokensPerMessage + kTokensPerContext);
      item.text = add_part({}, {}, text);
      current_tokens_ += number(item.tokens);
      current_items_.push_back(std::move(item));
      shown_.push_back(std::move(message));
    }
    return {};
  }

  std::uint64_t fixed() const { return system_tokens_ + tools_tokens_ + current_tokens_ + reserve_; }

  Result<void> check_fixed() const {
    if (fixed() <= total_) return {};
    if (current_tokens_ > total_) return turn_too_long(current_tokens_, fixed(), total_);
    return with_facts(
        Error(ErrorCode::kBudgetTooSmall, "system prompt, tools, message and answer need " +
                                              std::to_string(fixed()) + " tokens, and the budget is " +
                                              std::to_string(total_) + "; raise it, or show fewer tools"),
        fixed(), total_);
  }

  Result<void> add_context() {
    std::uint64_t room = (total_ - fixed()) / kContextShare;
    std::uint64_t knowledge = number(config_.semantic_max_tokens);
    for (const Tier tier : {Tier::kProcedure, Tier::kKnowledge, Tier::kEpisode}) {
      for (const ContextItem& candidate : parts_.context) {
        if (candidate.tier != tier) continue;
        const Tokens text{tokenizer_.count(candidate.text) + tokenizer_.count(candidate.source)};
        const std::uint64_t tokens = number(text) + kTokensPerMessage + kTokensPerContext;
        ReceiptItem item = item_of(tier, candidate.id, tokens);
        item.score = candidate.score;
        item.reason = candidate.reason;
        if (item.reason == FateReason::kFits && tier == Tier::kKnowledge && tokens > knowledge) {
          item.reason = FateReason::kTierLimit;
        }
        if (item.reason == FateReason::kFits && tokens > room) item.reason = FateReason::kBudget;
        item.fate = item.reason == FateReason::kFits ? Fate::kKept : Fate::kDropped;
        context_items_.push_back(std::move(item));
        if (context_items_.back().fate == Fate::kDropped) continue;
        TERTULIA_TRY_AS(Message message,
                        context_message(tier, candidate.source, candidate.text, text, tokenizer_));
        context_items_.back().text = add_part(candidate.id, candidate.source, candidate.text);
        context_.push_back(std::move(message));
        context_tokens_ += tokens;
        room -= tokens;
        if (tier == Tier::kKnowledge) knowledge -= tokens;
      }
    }
    return {};
  }

  // The whole groups of the pinned messages, in order.
  std::vector<MessageRange> pins() const {
    std::vector<MessageRange> pins;
    for (const std::uint64_t index : parts_.pins) {
      if (index >= parts_.history.size() || index < parts_.hidden_before) continue;
      const auto at = static_cast<std::size_t>(index);
      pins.push_back({parts_.history.group_start(at), parts_.history.group_end(at)});
    }
    std::sort(pins.begin(), pins.end(),
              [](const MessageRange& a, const MessageRange& b) { return a.begin < b.begin; });
    pins.erase(std::unique(pins.begin(), pins.end()), pins.end());
    return pins;
  }

  // Where the history begins that is not covered by a summary and not hidden.
  Result<void> add_summary() {
    from_ = static_cast<std::size_t>(std::min<std::uint64_t>(parts_.hidden_before, parts_.history.size()));
    const auto& summary = parts_.summary;
    if (!summary || summary->covers > parts_.history.size() || summary->covers <= from_) return {};
    TERTULIA_TRY_AS(summary_, summary_message(summary->text, tokenizer_));
    from_ = static_cast<std::size_t>(summary->covers);
    summary_tokens_ = number(summary_->tokens()) + kTokensPerMessage + kTokensPerContext;
    summary_item_ = item_of(Tier::kHistory, "summary", summary_tokens_);
    summary_item_->reason = FateReason::kSummarised;
    summary_item_->text = add_part({}, {}, summary->text);
    return {};
  }

  Result<void> add_history() {
    TERTULIA_TRY(add_summary());
    const std::vector<MessageRange> pinned = pins();
    const std::uint64_t taken = fixed() + context_tokens_ + summary_tokens_;
    std::uint64_t budget = total_ - std::min(total_, taken);
    if (parts_.policy != nullptr && parts_.policy->max_tokens) {
      budget = std::min(budget, number(*parts_.policy->max_tokens));
    }
    if (parts_.history_limit) budget = std::min(budget, number(*parts_.history_limit));
    PruneRequest request{.history = parts_.history,
                         .config = config_,
                         .tokenizer = tokenizer_,
                         .policy = parts_.policy,
                         .pins = pinned,
                         .budget = budget,
                         .steady_budget = total_ - reserve_ - system_tokens_ - tools_tokens_,
                         .from = from_,
                         .before = summary_ ? FateReason::kSummarised : FateReason::kFiltered};
    pruned_ = prune_history(request);
    history_tokens_ = summary_tokens_ + pruned_.tokens;
    if (config_.pruning == Pruning::kSummarize && leaves_out(pruned_)) {
      // More than must go, so that the next turns do not need another summary.
      request.budget = budget / 2;
      made_.summarise_before = end_of_left_out(prune_history(request));
    }
    return check_hard_limit();
  }

  static std::uint64_t end_of_left_out(const PrunedHistory& pruned) {
    std::uint64_t end = 0;
    for (const HistoryRun& run : pruned.runs) {
      if (run.fate == Fate::kDropped && run.reason == FateReason::kBudget) end = run.range.end;
    }
    return end;
  }
  static bool leaves_out(const PrunedHistory& pruned) { return end_of_left_out(pruned) > 0; }

  Result<void> check_hard_limit() const {
    const std::uint64_t need = fixed() + context_tokens_ + history_tokens_;
    const std::uint64_t hard = std::max(hard_, total_);
    if (need <= hard) return {};
    return with_facts(
        Error(ErrorCode::kBudgetTooSmall,
              "what must be shown needs " + std::to_string(need) +
                  " tokens with its pinned messages and the " + std::to_string(config_.min_history_messages) +
                  " newest ones, and the model takes " + std::to_string(hard) +
                  "; unpin messages, lower min_history_messages, or choose a model with a larger context"),
        need, hard);
  }

  void add_history_items() {
    if (summary_item_) items_.push_back(*std::move(summary_item_));
    for (const HistoryRun& run : pruned_.runs) {
      items_.push_back({.tier = Tier::kHistory,
                        .id = parts_.history[run.range.begin].id().text(),
                        .tokens = run.tokens,
                        .fate = run.fate,
                        .reason = run.reason,
                        .index = run.range.begin,
                        .more = run.range.end - run.range.begin - 1});
    }
  }

  void add_context_items() {
    std::move(context_items_.begin(), context_items_.end(), std::back_inserter(items_));
  }

  Result<Assembled> put_together() {
    TERTULIA_TRY_AS(View view, View::of(parts_.history, pruned_.kept));
    for (auto& [index, shorter] : pruned_.instead) {
      TERTULIA_TRY_AS(view, view.with_instead(index, std::move(shorter)));
    }
    const bool behind = config_.context_placement == ContextPlacement::kBeforeUser;
    if (!behind) add_context_items();
    add_history_items();
    if (behind) add_context_items();
    if (!behind) std::move(context_.begin(), context_.end(), std::back_inserter(leading_));
    if (summary_) leading_.push_back(*summary_);
    TERTULIA_TRY_AS(view, view.with_leading(std::move(leading_)));
    if (behind) {
      TERTULIA_TRY_AS(view, view.with_trailing(std::move(context_)));
    }
    TERTULIA_TRY_AS(view, view.with_trailing(std::move(shown_)));
    made_.view = std::move(view);
    std::move(current_items_.begin(), current_items_.end(), std::back_inserter(items_));
    if (tools_item_) items_.push_back(*std::move(tools_item_));
    Receipt& receipt = made_.receipt;
    receipt.items = std::move(items_);
    receipt.total = Tokens{fixed() - reserve_ + context_tokens_ + history_tokens_};
    return std::move(made_);
  }

  std::string add_part(std::string item, std::string source, std::string_view text) {
    std::string hash = hash_of(text);
    made_.parts.push_back(
        {.hash = hash, .item = std::move(item), .source = std::move(source), .text = std::string(text)});
    return hash;
  }

  const ViewParts& parts_;
  const MemoryConfig& config_;
  const Tokenizer& tokenizer_;
  std::uint64_t total_ = 0;
  std::uint64_t hard_ = 0;
  std::uint64_t reserve_ = 0;
  std::uint64_t system_tokens_ = 0;
  std::uint64_t tools_tokens_ = 0;
  std::uint64_t current_tokens_ = 0;
  std::uint64_t context_tokens_ = 0;
  std::uint64_t summary_tokens_ = 0;
  std::uint64_t history_tokens_ = 0;
  std::size_t from_ = 0;
  std::vector<ReceiptItem> items_;
  std::vector<ReceiptItem> context_items_;
  std::vector<ReceiptItem> current_items_;
  std::optional<ReceiptItem> summary_item_;
  std::optional<ReceiptItem> tools_item_;
  std::vector<Message> leading_;
  std::vector<Message> context_;
  std::vector<Message> shown_;
  std::optional<Message> summary_;
  PrunedHistory pruned_;
  Assembled made_;
};

}  // namespace

Result<Assembled> assemble_view(const ViewParts& parts, const MemoryConfig& config,
                                const Tokenizer& tokenizer) {
  return Assembly(parts, config, tokenizer).make();
}

Result<void> check_turn_fits(const ViewParts& parts, const MemoryConfig& config, const Tokenizer& tokenizer) {
  const std::uint64_t most = most_of(parts, config);
  std::uint64_t tokens = 0;
  for (const Message& message : parts.current) tokens += cost_of(message, tokenizer);
  if (tokens > most) return turn_too_long(tokens, tokens, most);
  return {};
}

Tokens count_tokens(const Message& message, const Tokenizer& tokenizer) {
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < message.part_count(); ++i) {
    const Part part = message.part(i);
    tokens += tokenizer.count(part.text) + tokenizer.count(part.name);
  }
  return Tokens{tokens};
}

Counted counted_by(const Tokenizer& tokenizer) {
  if (tokenizer.is_estimate()) return Counted::kEstimate;
  if (tokenizer.name() == "o200k_base") return Counted::kO200k;
  return tokenizer.name() == "cl100k_base" ? Counted::kCl100k : Counted::kOther;
}

std::string text_of_tools(std::span<const ToolDefinition> tools) {
  JsonArray array;
  for (const ToolDefinition& tool : tools) {
    array.push_back(JsonObject{{"name", tool.name},
                               {"description", tool.description},
                               {"parameters", std::string(tool.parameters.text())}});
  }
  return to_text(Json(std::move(array)));
}

Result<Message> context_message(Tier tier, std::string_view source, std::string_view text, Tokens tokens,
                                const Tokenizer& tokenizer) {
  const bool named = !source.empty() || tier == Tier::kCurrent;
  const std::string from = named ? std::string(source) : std::string(name_of(tier));
  return synthetic(Role::kContext, Origin::kSynthetic, from, text, tokens, tokenizer);
}

Result<Message> system_message(std::string_view text, const Tokenizer& tokenizer) {
  return synthetic(Role::kSystem, Origin::kSynthetic, {}, text, Tokens{tokenizer.count(text)}, tokenizer);
}

Result<Message> summary_message(std::string_view text, const Tokenizer& tokenizer) {
  return synthetic(Role::kContext, Origin::kSummary, "the earlier conversation, summarised", text,
                   Tokens{tokenizer.count(text)}, tokenizer);
}

Result<Message> elided_result(const Message& result, const Tokenizer& tokenizer) {
  MessageDraft draft{.id = result.id(),
                     .role = result.role(),
                     .time = result.time(),
                     .author = result.author(),
                     .origin = result.origin(),
                     .source = result.source(),
                     .source_id = result.source_id(),
                     .counted = counted_by(tokenizer),
                     .interrupted = result.interrupted(),
                     .internal = result.internal()};
  std::vector<std::string> texts;
  texts.reserve(result.part_count());
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < result.part_count(); ++i) {
    Part part = result.part(i);
    if (part.kind == PartKind::kToolResult && part.text.size() > 2 * kElidedBytes) {
      std::size_t cut = kElidedBytes;
      while (cut > 0 && (static_cast<unsigned char>(part.text[cut]) & 0xC0U) == 0x80U) --cut;
      texts.push_back(std::string(part.text.substr(0, cut)) + "… [the rest of this old result, " +
                      std::to_string(part.text.size()) + " bytes in all, is no longer shown]");
      part.text = texts.back();
    }
    tokens += tokenizer.count(part.text) + tokenizer.count(part.name);
    draft.parts.push_back(part);
  }
  draft.tokens = Tokens{tokens};
  return Message::make(draft);
}

}  // namespace tertulia
