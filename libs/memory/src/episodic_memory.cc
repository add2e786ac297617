#include "tertulia/memory/episodic_memory.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "tertulia/base/done.h"
#include "tertulia/base/log.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/base/uuid.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/memory/conversation_index.h"
#include "tertulia/memory/hybrid_index.h"
#include "tertulia/memory/prompt.h"
#include "tertulia/store/episode_store.h"

#include "asked_pieces.h"
#include "index_options.h"
#include "recently_used.h"

namespace tertulia {
namespace {

// Below this an episode has nothing to do with the question: chosen by episode_floor_test.cc.
constexpr double kLeastScore = 0.52;
// Below this a line of an episode that belongs to the question is not quoted.
constexpr double kLeastQuoteScore = 0.08;
// Owners whose episodes are held in RAM.
constexpr std::size_t kMostShelves = 4'096;
// Messages of an episode that are looked through for quotes.
constexpr std::size_t kMostQuotable = 400;

struct KnownEpisode {
  Episode episode;
  StreamId stream;
  std::uint64_t number = 0;
};

// The episodes of one owner, as they were last read.
struct Shelf {
  std::vector<KnownEpisode> episodes;  // the oldest first
  HybridIndex index;
  std::string newest;  // id of the last one that was read
  // Sessions whose episodes are not all here, because they are damaged.
  std::set<SessionId> damaged;
};
struct Span {
  std::vector<Message> messages;
  std::uint64_t turns = 0;
};
using ShelfPtr = std::shared_ptr<const Shelf>;
using OwnerKey = std::pair<TenantId, OwnerId>;

RecordQuery all_of(const TenantId& tenant, const OwnerId& owner) {
  return {.tenant = tenant, .owner = owner, .kind = RecordKind::kEpisode, .limit = 1'000};
}

// Up to which message a branch is in episodes, those that were forgotten included. Kept only when one is.
StreamId told_stream(const BranchId& branch) {
  return {
      .kind = RecordKind::kMemory, .branch = {}, .scope = "~told." + hash_of(branch.text()).substr(0, 32)};
}
constexpr std::string_view kToldName = "told";

std::string line_of(const Message& message) {
  const std::string who =
      message.author().empty() ? std::string(name_of(message.role())) : std::string(message.author());
  return who + ": " + message.text_content();
}

// It may be somebody else's: what it throws is an error of its own.
Result<std::string> summarised(const SummariseSpan& summarise, std::span<const Message> messages) {
  try {
    return summarise(messages);
  } catch (...) {
    return error_thrown("the summariser");
  }
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
  RecentlyUsed<OwnerKey, ShelfPtr> shelves TERTULIA_GUARDED_BY(mutex){kMostShelves};

  // None without an embedder, or with one that fails: words still find. An episode that is stored without a
  // vector stays without one; its summary and its words are in the index.
  std::vector<Vector> vectors_of(std::vector<std::string> texts, const CancelToken& cancel = {}) const {
    if (!embedder) return {};
    Result<std::vector<Vector>> vectors =
        embed(*embedder, EmbedCall{.texts = std::move(texts), .cancel = cancel});
    if (vectors) return *std::move(vectors);
    Log().component("memory").warn("the embedder has failed: words alone find what it was asked for",
                                   {{"reason", vectors.error().message()}});
    return {};
  }

  Vector vector_of(const std::string& text) const {
    if (text.empty()) return {};
    std::vector<Vector> vectors = vectors_of({text});
    return vectors.empty() ? Vector() : std::move(vectors.front());
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
      const ShelfPtr* known = shelves.find({tenant, owner});
      if (known != nullptr && (*known)->newest == last) return *known;
    }
    TERTULIA_TRY_AS(const ShelfPtr shelf, read_shelf(tenant, owner, last));
    MutexLock lock(mutex);
    shelves.put({tenant, owner}, shelf);
    shelves.trim([](const ShelfPtr&) { return true; });
    return shelf;
  }

  Result<ShelfPtr> read_shelf(const TenantId& tenant, const OwnerId& owner, const std::string& newest) const {
    auto shelf = std::make_shared<Shelf>();
    shelf->newest = newest;
    shelf->index = HybridIndex(index_options(embedder.get()));
    RecordQuery query = all_of(tenant, owner);
    do {
      TERTULIA_TRY_AS(RecordPage page, read_records(store, query));
      shelf->damaged.insert(page.damaged.begin(), page.damaged.end());
      for (const StoredRecord& stored : page.records) {
        Result<Episode> episode = parse_form<Episode>(stored.record.payload);
        if (!episode) {
          shelf->damaged.insert(stored.session);
          continue;
        }
        TERTULIA_TRY(add(*shelf, {*std::move(episode), stored.record.stream, stored.record.number}));
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
    // Made anew for each question: only the static embedder is quick enough for all of these lines.
    ConversationIndex index(embedder ? static_embedder() : nullptr);
    std::map<std::string, std::size_t> places;
    std::vector<IndexedMessage> indexed;
    std::string asked;
    for (std::size_t i = 0; i < std::min(messages.size(), kMostQuotable); ++i) {
      const Role role = messages[i].role();
      if ((role != Role::kUser && role != Role::kAssistant) || messages[i].internal()) continue;
      const std::string text = messages[i].text_content();
      if (text.empty()) continue;
      // An answer that repeats its question says the same twice.
      if (role == Role::kUser) asked = text;
      if (role == Role::kAssistant && !asked.empty() && text.find(asked) != std::string::npos) continue;
      places[messages[i].id().text()] = i;
      indexed.push_back(indexed_message(messages[i], episode.id.text(), i));
    }
    TERTULIA_TRY(index.add(std::move(indexed)));
    std::vector<std::size_t> chosen;
    for (const Found& found :
         index.search({.text = query.question, .top_k = query.quotes, .now = env.clock().now()})) {
      if (found.score >= kLeastQuoteScore) chosen.push_back(places[found.id]);
    }
    std::sort(chosen.begin(), chosen.end());
    std::vector<std::string> quotes;
    quotes.reserve(chosen.size());
    for (const std::size_t place : chosen) quotes.push_back(line_of(messages[place]));
    return quotes;
  }

  Result<Span> read_span(const SessionKey& key, const BranchHead& branch, std::uint64_t first) const {
    Span span;
    if (first >= branch.message_count) return span;
    TERTULIA_TRY_AS(
        const std::vector<StoredTurn> stored,
        read_turns(store, key, {.branch = branch.id, .begin = first, .end = branch.message_count}));
    for (const StoredTurn& one : stored) {
      std::uint64_t index = one.first_index;
      for (const Message& message : one.turn.messages()) {
        if (index++ >= first && index <= branch.message_count) span.messages.push_back(message);
      }
      ++span.turns;
    }
    return span;
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
        // One that cannot be read says of no message that it was told.
        const Result<Episode> episode = parse_form<Episode>(stored.record.payload);
        if (episode) first = std::max(first, episode->span.last + 1);
      }
      query.cursor = std::move(page.next);
    } while (!query.cursor.empty());
    TERTULIA_TRY_AS(const std::optional<Record> told, told_record(key, branch.id));
    return told ? std::max(first, told_before(*told)) : first;
  }

  Result<std::optional<Record>> told_record(const SessionKey& key, const BranchId& branch) const {
    TERTULIA_TRY_AS(RecordPage page, read_records(store, {.tenant = key.tenant,
                                                          .owner = key.owner,
                                                          .session = key.session,
                                                          .kind = RecordKind::kMemory,
                                                          .scope = told_stream(branch).scope,
                                                          .newest_first = true,
                                                          .limit = 1}));
    if (page.records.empty()) return std::optional<Record>();
    return std::optional<Record>(std::move(page.records.front().record));
  }

  // The first message behind all that was told. What cannot be read tells nothing.
  static std::uint64_t told_before(const Record& record) {
    std::uint64_t before = 0;
    std::from_chars(record.payload.data(), record.payload.data() + record.payload.size(), before);
    return before;
  }

  Result<KnownEpisode> find(const SessionKey& key, EpisodeId episode) {
    TERTULIA_TRY_AS(const ShelfPtr shelf, shelf_of(key.tenant, key.owner));
    for (const KnownEpisode& known : shelf->episodes) {
      if (known.episode.id == episode && known.episode.session == key.session) return known;
    }
    return Error(ErrorCode::kNotFound,
                 "session '" + key.session.text() + "' has no episode " + episode.text());
  }
};

EpisodicMemory::EpisodicMemory(Store& store, Env& env, std::shared_ptr<Embedder> embedder)
    : impl_(std::make_unique<Impl>(store, env, std::move(embedder))) {}
EpisodicMemory::~EpisodicMemory() = default;

void EpisodicMemory::set_summariser(SummariseSpan summarise) { impl_->summarise = std::move(summarise); }

Result<std::vector<Message>> EpisodicMemory::open_span(const SessionKey& key, const BranchHead& branch,
                                                       std::span<const Message> turn) const {
  TERTULIA_TRY_AS(const std::uint64_t first, impl_->first_open(key, branch));
  TERTULIA_TRY_AS(Span span, impl_->read_span(key, branch, first));
  span.messages.insert(span.messages.end(), turn.begin(), turn.end());
  return std::move(span.messages);
}

Result<std::optional<Record>> EpisodicMemory::record_of_span(const SessionKey& key, const BranchHead& branch,
                                                             EndReason reason, bool mask,
                                                             std::span<const Message> turn) {
  TERTULIA_TRY_AS(const std::uint64_t first, impl_->first_open(key, branch));
  TERTULIA_TRY_AS(Span span, impl_->read_span(key, branch, first));
  std::vector<Message>& messages = span.messages;
  std::uint64_t turns = span.turns;
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
    Result<std::string> said = summarised(impl_->summarise, messages);
    if (said && !said->empty()) episode.summary = mask ? mask_personal_data(*said) : *std::move(said);
    if (!said) {
      Log().component("memory").warn("the model wrote no summary; it was taken from what was said",
                                     {{"code", name_of(said.error().code())}});
    }
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
    const std::vector<std::string> pieces = pieces_of(query.question);
    for (const Found& found :
         search_pieces(shelf->index, pieces, impl_->vectors_of(pieces, query.cancel),
                       {.text = {},
                        .top_k = query.top_k,
                        .min_score = kLeastScore,
                        .now = impl_->env.clock().now(),
                        .filter = [&](std::string_view id) { return admitted.contains(id); }})) {
      recalled.push_back({*admitted.find(found.id)->second, found.score, {}});
    }
  }
  if (query.quotes == 0 || query.question.empty()) return recalled;
  for (RecalledEpisode& one : recalled) {
    TERTULIA_TRY(query.cancel.check());
    // An episode whose messages cannot be read is recalled without them.
    if (one.episode.archived) continue;
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

Result<std::vector<SessionId>> EpisodicMemory::damaged(const TenantId& tenant, const OwnerId& owner) {
  TERTULIA_TRY_AS(const ShelfPtr shelf, impl_->shelf_of(tenant, owner));
  return std::vector<SessionId>(shelf->damaged.begin(), shelf->damaged.end());
}

Result<void> EpisodicMemory::archive(const SessionKey& key, EpisodeId episode) {
  TERTULIA_TRY_AS(KnownEpisode known, impl_->find(key, episode));
  if (known.episode.archived) return {};
  known.episode.archived = true;
  drop_owner(key.tenant, key.owner);
  Record record{.stream = known.stream,
                .number = known.number + 1,
                .time = known.episode.closed_at,
                .key = episode.text(),
                .name = std::string(name_of(known.episode.end_reason)),
                .payload = to_json(known.episode)};
  return note(impl_->store, {.key = key,
                             .conditions = {},
                             .changes = {DropRecords{.stream = known.stream, .up_to = known.number},
                                         AddRecord{std::move(record)}}});
}

Result<void> EpisodicMemory::forget(const SessionKey& key, EpisodeId episode) {
  TERTULIA_TRY_AS(const KnownEpisode known, impl_->find(key, episode));
  const BranchId& branch = known.episode.branch;
  TERTULIA_TRY_AS(const std::optional<Record> told, impl_->told_record(key, branch));
  Note gone{.key = key, .conditions = {}, .changes = {DropRecords{.stream = known.stream}}};
  const std::uint64_t behind = known.episode.span.last + 1;
  if (!told || Impl::told_before(*told) < behind) {
    if (told) gone.changes.emplace_back(DropRecords{.stream = told->stream, .up_to = told->number});
    gone.changes.emplace_back(AddRecord{{.stream = told_stream(branch),
                                         .number = told ? told->number + 1 : 1,
                                         .time = impl_->env.clock().now(),
                                         .key = {},
                                         .name = std::string(kToldName),
                                         .payload = std::to_string(behind)}});
  }
  drop_owner(key.tenant, key.owner);
  return note(impl_->store, std::move(gone));
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
  const OwnerKey whose{tenant, owner};
  impl_->shelves.erase_if([&](const OwnerKey& each) { return each == whose; });
}

void EpisodicMemory::drop_all() {
  MutexLock lock(impl_->mutex);
  impl_->shelves.erase_if([](const OwnerKey&) { return true; });
}

}  // namespace tertulia
