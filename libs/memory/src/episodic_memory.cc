#include "tertulia/memory/episodic_memory.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "tertulia/base/thread_annotations.h"
#include "tertulia/base/uuid.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/memory/conversation_index.h"
#include "tertulia/memory/hybrid_index.h"
#include "tertulia/store/episode_store.h"

namespace tertulia {
namespace {

// Below this an episode has nothing to do with the question: chosen by episode_floor_test.cc.
constexpr double kLeastScore = 0.10;
// Below this a line of an episode that belongs to the question is not quoted.
constexpr double kLeastQuoteScore = 0.03;
// Messages of an episode that are looked through for quotes.
constexpr std::size_t kMostQuotable = 400;

struct KnownEpisode {
  Episode episode;
  StreamId stream;
};

// The episodes of one owner, as they were last read.
struct Shelf {
  std::vector<KnownEpisode> episodes;  // the oldest first
  HybridIndex index;
  std::string newest;  // id of the last one that was read
};
using ShelfPtr = std::shared_ptr<const Shelf>;
using OwnerKey = std::pair<TenantId, OwnerId>;

RecordQuery all_of(const TenantId& tenant, const OwnerId& owner) {
  return {.tenant = tenant, .owner = owner, .kind = RecordKind::kEpisode, .limit = 1'000};
}

HybridOptions shelf_options(const Embedder* embedder) {
  if (embedder == nullptr) return {};
  const EmbedderInfo& info = embedder->info();
  return {.dimensions = info.dimensions, .unrelated = info.unrelated, .same = info.same};
}

std::string line_of(const Message& message) {
  const std::string who =
      message.author().empty() ? std::string(name_of(message.role())) : std::string(message.author());
  return who + ": " + message.text_content();
}

}  // namespace

struct EpisodicMemory::Impl {
  Impl(Store& durable, Env& environment, std::shared_ptr<Embedder> vectors)
      : store(durable), env(environment), embedder(std::move(vectors)), uuids(env.clock(), env.random()) {}

  Store& store;
  Env& env;
  std::shared_ptr<Embedder> embedder;
  UuidMaker uuids;
  SummariseSpan summarise;
  Mutex mutex;
  std::map<OwnerKey, ShelfPtr> shelves TERTULIA_GUARDED_BY(mutex);

  Vector vector_of(const std::string& text) const {
    if (!embedder || text.empty()) return {};
    Result<std::vector<Vector>> vectors = embed(*embedder, std::vector<std::string>{text});
    return vectors && !vectors->empty() ? std::move(vectors->front()) : Vector();
  }

  // What is stored is looked at each time, and read again only if there is something new.
  Result<ShelfPtr> shelf_of(const TenantId& tenant, const OwnerId& owner) {
    RecordQuery query = all_of(tenant, owner);
    query.newest_first = true;
    query.limit = 1;
    TERTULIA_TRY_AS(const RecordPage newest, read_records(store, query));
    const std::string last = newest.records.empty() ? std::string() : newest.records.front().record.key;
    {
      MutexLock lock(mutex);
      const auto known = shelves.find({tenant, owner});
      if (known != shelves.end() && known->second->newest == last) return known->second;
    }
    TERTULIA_TRY_AS(const ShelfPtr shelf, read_shelf(tenant, owner, last));
    MutexLock lock(mutex);
    shelves[{tenant, owner}] = shelf;
    return shelf;
  }

  Result<ShelfPtr> read_shelf(const TenantId& tenant, const OwnerId& owner, const std::string& newest) const {
    auto shelf = std::make_shared<Shelf>();
    shelf->newest = newest;
    shelf->index = HybridIndex(shelf_options(embedder.get()));
    RecordQuery query = all_of(tenant, owner);
    do {
      TERTULIA_TRY_AS(RecordPage page, read_records(store, query));
      for (const StoredRecord& stored : page.records) {
        TERTULIA_TRY_AS(Episode episode, parse_form<Episode>(stored.record.payload));
        TERTULIA_TRY(add(*shelf, {std::move(episode), stored.record.stream}));
      }
      query.cursor = std::move(page.next);
    } while (!query.cursor.empty());
    return ShelfPtr(std::move(shelf));
  }

  Result<void> add(Shelf& shelf, KnownEpisode known) const {
    const Episode& episode = known.episode;
    IndexItem item{.id = episode.id.text(), .text = text_of_episode(episode), .time = episode.closed_at};
    // Vectors of another embedder are not compared with: that one is then found by its words.
    if (embedder && episode.embedding.embedder == embedder->info().name)
      item.vector = episode.embedding.values;
    TERTULIA_TRY(shelf.index.add(std::move(item)));
    shelf.episodes.push_back(std::move(known));
    return {};
  }

  Result<std::vector<std::string>> quotes_of(const TenantId& tenant, const OwnerId& owner,
                                             const Episode& episode, const EpisodeQuery& query) const {
    const SessionKey key{tenant, owner, episode.session};
    TERTULIA_TRY_AS(const std::vector<Message> messages, get_episode_messages(store, key, episode.id));
    ConversationIndex index(embedder);
    std::map<std::string, std::size_t> places;
    std::vector<IndexedMessage> indexed;
    for (std::size_t i = 0; i < std::min(messages.size(), kMostQuotable); ++i) {
      const Role role = messages[i].role();
      if ((role != Role::kUser && role != Role::kAssistant) || messages[i].internal()) continue;
      if (messages[i].text_content().empty()) continue;
      places[messages[i].id().text()] = i;
      indexed.push_back(indexed_message(messages[i], episode.id.text(), i));
    }
    TERTULIA_TRY(index.add(std::move(indexed)));
    std::vector<std::size_t> chosen;
    for (const Found& found : index.search(query.question, query.quotes)) {
      if (found.score >= kLeastQuoteScore) chosen.push_back(places[found.id]);
    }
    std::sort(chosen.begin(), chosen.end());
    std::vector<std::string> quotes;
    quotes.reserve(chosen.size());
    for (const std::size_t place : chosen) quotes.push_back(line_of(messages[place]));
    return quotes;
  }

  // The first message of the branch that is in no episode.
  Result<std::uint64_t> first_open(const SessionKey& key, const BranchHead& branch) const {
    std::uint64_t first = branch.forked_from ? branch.forked_from->at_index + 1 : 0;
    RecordQuery query = all_of(key.tenant, key.owner);
    query.session = key.session;
    query.branch = branch.id;
    do {
      TERTULIA_TRY_AS(RecordPage page, read_records(store, query));
      for (const StoredRecord& stored : page.records) {
        TERTULIA_TRY_AS(const Episode episode, parse_form<Episode>(stored.record.payload));
        first = std::max(first, episode.span.last + 1);
      }
      query.cursor = std::move(page.next);
    } while (!query.cursor.empty());
    return first;
  }
};

EpisodicMemory::EpisodicMemory(Store& store, Env& env, std::shared_ptr<Embedder> embedder)
    : impl_(std::make_unique<Impl>(store, env, std::move(embedder))) {}
EpisodicMemory::~EpisodicMemory() = default;

void EpisodicMemory::set_summariser(SummariseSpan summarise) { impl_->summarise = std::move(summarise); }

Result<std::optional<Record>> EpisodicMemory::record_of_span(const SessionKey& key, const BranchHead& branch,
                                                             EndReason reason, bool mask,
                                                             std::span<const Message> turn) {
  TERTULIA_TRY_AS(const std::uint64_t first, impl_->first_open(key, branch));
  std::vector<Message> messages;
  std::uint64_t turns = 0;
  if (first < branch.message_count) {
    TERTULIA_TRY_AS(
        const std::vector<StoredTurn> stored,
        read_turns(impl_->store, key, {.branch = branch.id, .begin = first, .end = branch.message_count}));
    for (const StoredTurn& one : stored) {
      std::uint64_t index = one.first_index;
      for (const Message& message : one.turn.messages()) {
        if (index++ >= first && index <= branch.message_count) messages.push_back(message);
      }
      ++turns;
    }
  }
  messages.insert(messages.end(), turn.begin(), turn.end());
  if (!turn.empty()) ++turns;
  if (messages.empty()) return std::optional<Record>();
  Episode episode = make_episode({.id = EpisodeId(impl_->uuids.make()),
                                  .session = key.session,
                                  .branch = branch.id,
                                  .first = first,
                                  .messages = messages,
                                  .turns = turns,
                                  .reason = reason,
                                  .closed_at = impl_->env.clock().now(),
                                  .mask_personal_data = mask});
  if (impl_->summarise) {
    Result<std::string> said = impl_->summarise(messages);
    if (said && !said->empty()) episode.summary = mask ? mask_personal_data(*said) : *std::move(said);
  }
  if (Vector vector = impl_->vector_of(text_of_episode(episode)); !vector.empty()) {
    episode.embedding = {.embedder = impl_->embedder->info().name, .values = std::move(vector)};
  }
  return std::optional<Record>(
      {.stream = {.kind = RecordKind::kEpisode, .branch = branch.id, .scope = episode.id.text()},
       .number = 1,
       .time = episode.closed_at,
       .key = episode.id.text(),
       .name = std::string(name_of(reason)),
       .payload = to_json(episode)});
}

Result<std::vector<RecalledEpisode>> EpisodicMemory::recall(const EpisodeQuery& query) {
  TERTULIA_TRY_AS(const ShelfPtr shelf, impl_->shelf_of(query.tenant, query.owner));
  std::map<std::string, const Episode*, std::less<>> admitted;
  for (const KnownEpisode& known : shelf->episodes) {
    if (query.session && known.episode.session != *query.session) continue;
    if (query.except && known.episode.session == *query.except) continue;
    admitted[known.episode.id.text()] = &known.episode;
  }
  std::vector<RecalledEpisode> recalled;
  if (query.mode == RecallMode::kRecency || query.question.empty()) {
    for (auto known = shelf->episodes.rbegin(); known != shelf->episodes.rend(); ++known) {
      if (recalled.size() == query.top_k) break;
      if (admitted.contains(known->episode.id.text())) recalled.push_back({known->episode, 0, {}});
    }
  } else {
    for (const Found& found :
         shelf->index.search({.text = query.question,
                              .vector = impl_->vector_of(query.question),
                              .top_k = query.top_k,
                              .min_score = kLeastScore,
                              .filter = [&](std::string_view id) { return admitted.contains(id); }})) {
      recalled.push_back({*admitted.find(found.id)->second, found.score, {}});
    }
  }
  if (query.quotes == 0 || query.question.empty()) return recalled;
  for (RecalledEpisode& one : recalled) {
    // An episode whose messages cannot be read is recalled without them.
    Result<std::vector<std::string>> quotes = impl_->quotes_of(query.tenant, query.owner, one.episode, query);
    if (quotes) one.quotes = *std::move(quotes);
  }
  return recalled;
}

Result<std::vector<Episode>> EpisodicMemory::list(const TenantId& tenant, const OwnerId& owner) {
  TERTULIA_TRY_AS(const ShelfPtr shelf, impl_->shelf_of(tenant, owner));
  std::vector<Episode> episodes;
  for (auto known = shelf->episodes.rbegin(); known != shelf->episodes.rend(); ++known) {
    episodes.push_back(known->episode);
  }
  return episodes;
}

Result<EpisodeUpkeep> EpisodicMemory::tidy(const TenantId& tenant, const OwnerId& owner,
                                           const MemoryConfig& config) {
  const Time now = impl_->env.clock().now();
  const Time deleted_before = now - std::chrono::hours(24 * config.episodic_delete_days);
  const Time archived_before = now - std::chrono::hours(24 * config.episodic_retention_days);
  TERTULIA_TRY_AS(const ShelfPtr shelf, impl_->shelf_of(tenant, owner));
  EpisodeUpkeep upkeep;
  for (const KnownEpisode& known : shelf->episodes) {
    if (known.episode.closed_at < deleted_before) {
      TERTULIA_TRY(forget({tenant, owner, known.episode.session}, known.episode.id));
      ++upkeep.deleted;
    } else if (known.episode.closed_at < archived_before) {
      ++upkeep.archived;
    }
  }
  return upkeep;
}

Result<void> EpisodicMemory::forget(const SessionKey& key, EpisodeId episode) {
  TERTULIA_TRY_AS(const ShelfPtr shelf, impl_->shelf_of(key.tenant, key.owner));
  const auto known =
      std::find_if(shelf->episodes.begin(), shelf->episodes.end(), [&](const KnownEpisode& one) {
        return one.episode.id == episode && one.episode.session == key.session;
      });
  if (known == shelf->episodes.end()) {
    return Error(ErrorCode::kNotFound,
                 "session '" + key.session.text() + "' has no episode " + episode.text());
  }
  drop_owner(key.tenant, key.owner);
  return note(impl_->store,
              {.key = key, .conditions = {}, .changes = {DropRecords{.stream = known->stream}}});
}

Result<Episode> EpisodicMemory::remake(const Episode& episode, std::span<const Message> left) const {
  Episode made = episode;
  made.summary = extractive_summary(left);
  made.key_facts = key_facts_of(left);
  const std::string told = text_of_episode(episode);
  if (told.find("[email]") != std::string::npos || told.find("[number]") != std::string::npos) {
    made.summary = mask_personal_data(made.summary);
    for (std::string& fact : made.key_facts) fact = mask_personal_data(fact);
  }
  made.embedding = {};
  if (Vector vector = impl_->vector_of(text_of_episode(made)); !vector.empty()) {
    made.embedding = {.embedder = impl_->embedder->info().name, .values = std::move(vector)};
  }
  return made;
}

Result<std::size_t> EpisodicMemory::forget_messages(const SessionKey& key,
                                                    std::span<const MessageId> messages) {
  TERTULIA_TRY_AS(const ShelfPtr shelf, impl_->shelf_of(key.tenant, key.owner));
  std::size_t count = 0;
  for (const KnownEpisode& known : shelf->episodes) {
    if (known.episode.session != key.session) continue;
    TERTULIA_TRY_AS(const std::vector<Message> span,
                    get_episode_messages(impl_->store, key, known.episode.id));
    const bool touched = std::any_of(span.begin(), span.end(), [&](const Message& message) {
      return std::find(messages.begin(), messages.end(), message.id()) != messages.end();
    });
    if (!touched) continue;
    TERTULIA_TRY(forget(key, known.episode.id));
    ++count;
  }
  return count;
}

void EpisodicMemory::drop_owner(const TenantId& tenant, const OwnerId& owner) {
  MutexLock lock(impl_->mutex);
  impl_->shelves.erase({tenant, owner});
}

}  // namespace tertulia
