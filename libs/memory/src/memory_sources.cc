#include "memory_sources.h"

#include <chrono>
#include <utility>

namespace tertulia {

std::string day_of(Time time) {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(time));
  const auto two = [](unsigned number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  return std::to_string(static_cast<int>(day.year())) + "-" + two(static_cast<unsigned>(day.month())) + "-" +
         two(static_cast<unsigned>(day.day()));
}

Result<std::vector<ContextItem>> ProcedureSource::retrieve(const ContextRequest& request) {
  std::vector<ContextItem> items;
  if (!request.config.procedural_enabled) return items;
  TERTULIA_TRY_AS(const std::optional<MatchedProcedure> match,
                  procedures_.match(request.key.tenant, request.agent, request.question,
                                    request.config.procedural_min_score, request.cancel));
  if (!match) return items;
  items.push_back({.tier = Tier::kProcedure,
                   .id = "procedure:" + match->procedure.name,
                   .source = "procedure " + match->procedure.name,
                   .text = text_of(match->procedure),
                   .score = match->score});
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
                     .top_k = config.episodic_top_k,
                     .cancel = request.cancel};
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
      for (const std::string& quote : one.quotes) {
        item.text += "\n> " + (config.episodic_pii_detection ? mask_personal_data(quote) : quote);
      }
    }
    if (!item.text.empty()) items.push_back(std::move(item));
  }
  return items;
}

}  // namespace tertulia
