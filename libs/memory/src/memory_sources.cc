#include "memory_sources.h"

#include <chrono>
#include <ctime>
#include <utility>

namespace tertulia {
namespace {

// What was found besides, told in the receipt with the reason why it is not shown.
constexpr std::size_t kAlsoFound = 3;

std::string day_of(Time time) {
  const auto day = std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(time));
  std::string text = std::to_string(static_cast<int>(day.year())) + "-";
  const unsigned month = static_cast<unsigned>(day.month());
  const unsigned number = static_cast<unsigned>(day.day());
  text += (month < 10 ? "0" : "") + std::to_string(month) + "-";
  return text + (number < 10 ? "0" : "") + std::to_string(number);
}

std::string source_of(const Recalled& found) {
  if (found.item.kind == MemoryKind::kFact) return "what is known since " + day_of(found.item.time);
  std::string source = found.item.source;
  for (const std::string& heading : found.item.heading_path) source += " › " + heading;
  return source;
}

}  // namespace

Result<std::vector<ContextItem>> ProcedureSource::retrieve(const ContextRequest& request) {
  std::vector<ContextItem> items;
  if (!request.config.procedural_enabled) return items;
  TERTULIA_TRY_AS(const std::optional<MatchedProcedure> match,
                  procedures_.match(request.key.tenant, request.agent, request.question,
                                    request.config.procedural_min_score));
  if (!match) return items;
  items.push_back({.tier = Tier::kProcedure,
                   .id = "procedure:" + match->procedure.name,
                   .source = "procedure " + match->procedure.name,
                   .text = text_of(match->procedure),
                   .score = match->score});
  return items;
}

Result<std::vector<ContextItem>> KnowledgeSource::retrieve(const ContextRequest& request) {
  std::vector<ContextItem> items;
  const MemoryConfig& config = request.config;
  if (!config.semantic_enabled || config.semantic_top_k == 0) return items;
  TERTULIA_TRY_AS(const std::vector<CollectionId> collections,
                  memory_.collections(request.key, request.agent));
  TERTULIA_TRY_AS(const std::vector<Recalled> found,
                  memory_.semantic().recall(collections, request.question,
                                            {.top_k = config.semantic_top_k + kAlsoFound,
                                             .hybrid = config.semantic_hybrid,
                                             .cancel = request.cancel}));
  for (const Recalled& one : found) {
    ContextItem item{.tier = Tier::kKnowledge,
                     .id = one.item.id,
                     .source = source_of(one),
                     .text = one.text,
                     .score = one.score};
    if (one.score < config.semantic_min_score) item.reason = FateReason::kLowScore;
    if (items.size() >= config.semantic_top_k && item.reason == FateReason::kFits) {
      item.reason = FateReason::kTierLimit;
    }
    items.push_back(std::move(item));
  }
  return items;
}

Result<std::vector<ContextItem>> EpisodeSource::retrieve(const ContextRequest& request) {
  std::vector<ContextItem> items;
  const MemoryConfig& config = request.config;
  if (!config.episodic_enabled || config.episodic_top_k == 0) return items;
  EpisodeQuery query{.tenant = request.key.tenant,
                     .owner = request.key.owner,
                     .question = request.question,
                     .mode = config.episodic_recall,
                     .top_k = config.episodic_top_k};
  // What this session has said before is in its history already.
  if (!request.history_hidden) query.except = request.key.session;
  const Time oldest_quoted = env_.clock().now() - std::chrono::hours(24 * config.episodic_retention_days);
  TERTULIA_TRY_AS(const std::vector<RecalledEpisode> recalled, episodes_.recall(query));
  for (const RecalledEpisode& one : recalled) {
    ContextItem item{.tier = Tier::kEpisode,
                     .id = one.episode.id.text(),
                     .source = "a conversation on " + day_of(one.episode.closed_at),
                     .text = text_of_episode(one.episode),
                     .score = one.score};
    if (one.episode.closed_at >= oldest_quoted) {
      for (const std::string& quote : one.quotes) item.text += "\n> " + quote;
    }
    if (!item.text.empty()) items.push_back(std::move(item));
  }
  return items;
}

}  // namespace tertulia
