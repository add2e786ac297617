#include "tertulia/memory/semantic_memory.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tertulia/base/check.h"

#include "asked_pieces.h"
#include "semantic_impl.h"
#include "sentences.h"
#include "terms.h"

namespace tertulia {
namespace {

std::shared_ptr<const Tokenizer> default_tokenizer() {
  Result<std::shared_ptr<const Tokenizer>> tokenizer = tokenizer_named("o200k_base");
  TERTULIA_CHECK(tokenizer.ok(), "the library holds o200k_base");
  return *std::move(tokenizer);
}

bool wanted(const MemoryItem& item, const RecallOptions& options, Time as_of) {
  if (!options.kinds.empty() &&
      std::find(options.kinds.begin(), options.kinds.end(), item.kind) == options.kinds.end()) {
    return false;
  }
  if (item.kind != MemoryKind::kFact) return true;
  return item.time <= as_of && (!item.valid_until || as_of < *item.valid_until);
}

// The text of a chunk with those around it; what two of them share stands once.
std::string joined_text(const CollectionState& state, const std::string& id, std::size_t reach) {
  const StoredItem& self = state.items.at(id);
  if (reach == 0 || self.item.kind != MemoryKind::kChunk) return self.item.text;
  const auto& chunks = state.chunks.at(self.item.source);
  auto first = chunks.find(self.item.place);
  auto last = first;
  for (std::size_t i = 0; i < reach && first != chunks.begin(); ++i) --first;
  for (std::size_t i = 0; i < reach && std::next(last) != chunks.end(); ++i) ++last;
  std::string text;
  std::uint64_t end = 0;
  for (auto at = first;; ++at) {
    const StoredItem& chunk = state.items.at(at->second);
    const std::uint64_t shared = text.empty() || end <= chunk.offset ? 0 : end - chunk.offset;
    if (shared < chunk.item.text.size()) text += chunk.item.text.substr(shared);
    end = chunk.offset + chunk.item.text.size();
    if (at == last) return text;
  }
}

// Its first chunk tells for all: they are written together.
DocumentInfo document_of(const CollectionState& state, const std::string& source,
                         const std::map<std::uint64_t, std::string>& chunks) {
  DocumentInfo document{.source = source, .chunks = chunks.size()};
  for (const auto& [place, id] : chunks) document.tokens += state.items.at(id).tokens;
  const MemoryItem& first = state.items.at(chunks.begin()->second).item;
  document.time = first.time;
  document.writer = first.writer;
  document.metadata = first.metadata;
  return document;
}

// How many times as many are looked at as are wanted.
constexpr std::size_t kReranked = 4;
// How much the words of one sentence count beside the rest.
constexpr double kSentenceShare = 0.5;

// How strongly it was found beside it (Found::strength).
using Strong = std::pair<double, Recalled>;

void strongest_first(std::vector<Strong>& all) {
  std::sort(all.begin(), all.end(), [](const Strong& one, const Strong& other) {
    return one.first != other.first ? one.first > other.first : one.second.item.id < other.second.item.id;
  });
}

// Adds to their strength how much of the question stands in one of their sentences.
void rerank(std::vector<Strong>& all, std::string_view question) {
  const std::vector<std::string> asked = read_terms(question).terms;
  const std::set<std::string> wanted_terms(asked.begin(), asked.end());
  if (wanted_terms.empty()) return;
  const auto best_sentence = [&](std::string_view text) {
    double best = 0;
    for (const std::string& sentence : sentences_of(text)) {
      std::set<std::string> found;
      for (std::string& term : read_terms(sentence).terms) {
        if (wanted_terms.contains(term)) found.insert(std::move(term));
      }
      best = std::max(best, static_cast<double>(found.size()) / static_cast<double>(wanted_terms.size()));
    }
    return best;
  };
  for (auto& [strength, one] : all) strength += kSentenceShare * best_sentence(one.item.text);
}

}  // namespace

std::string_view name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kChunk:
      return "chunk";
    case MemoryKind::kFact:
      return "fact";
    case MemoryKind::kTurn:
      return "turn";
  }
  return "invalid";
}

SemanticMemory::Impl::Impl(Store& the_store, Env& the_env, std::shared_ptr<Embedder> the_embedder,
                           SemanticOptions the_options)
    : store(the_store),
      env(the_env),
      embedder(std::move(the_embedder)),
      options(std::move(the_options)),
      ids(env.clock(), env.random()),
      collections(options.open_collections) {
  if (!options.tokenizer) options.tokenizer = default_tokenizer();
}

Result<std::shared_ptr<OpenCollection>> SemanticMemory::Impl::open(const CollectionId& id) {
  while (true) {
    std::uint64_t seen = 0;
    {
      const std::lock_guard lock(mutex);
      if (const auto* found = collections.find(id)) return *found;
      seen = let_go;
    }
    // Two that come at once both read it; one of the two is kept.
    TERTULIA_TRY_AS(CollectionState state, load_collection(store, id, embedder->info()));
    auto opened = std::make_shared<OpenCollection>(std::move(state));
    const std::lock_guard lock(mutex);
    if (const auto* found = collections.find(id)) return *found;
    if (let_go != seen) continue;
    collections.put(id, opened);
    // One that somebody works with stays: there must not be two of it.
    if (collections.trim([](const auto& each) { return each.use_count() == 1; })) ++let_go;
    return opened;
  }
}

Result<void> SemanticMemory::Impl::reload(const CollectionId& id, OpenCollection& collection) {
  TERTULIA_TRY_AS(CollectionState state, load_collection(store, id, embedder->info()));
  const std::unique_lock lock(collection.looking);
  collection.state = std::move(state);
  return {};
}

Result<void> SemanticMemory::Impl::ensure_exists(const CollectionId& id, OpenCollection& collection) {
  if (collection.state.exists) return {};
  Result<void> made = create_collection(store, id, embedder->info(), env.clock().now());
  if (!made && made.error().code() != ErrorCode::kSessionExists) return made;
  return reload(id, collection);
}

SemanticMemory::SemanticMemory(Store& store, Env& env, std::shared_ptr<Embedder> embedder,
                               SemanticOptions options)
    : impl_(std::make_unique<Impl>(store, env, std::move(embedder), std::move(options))) {}
SemanticMemory::~SemanticMemory() = default;

const EmbedderInfo& SemanticMemory::embedder() const { return impl_->embedder->info(); }

Result<std::vector<Recalled>> SemanticMemory::recall(std::span<const CollectionId> collections,
                                                     std::string_view question,
                                                     const RecallOptions& options) {
  const std::vector<std::string> pieces = pieces_of(question);
  TERTULIA_TRY_AS(const std::vector<Vector> vectors,
                  embed(*impl_->embedder,
                        EmbedCall{.texts = pieces, .cancel = options.cancel, .deadline = options.deadline}));
  const Time as_of = options.as_of.value_or(impl_->env.clock().now());
  std::vector<Strong> all;
  for (const CollectionId& id : collections) {
    TERTULIA_TRY(options.cancel.check());
    TERTULIA_TRY_AS(std::shared_ptr<OpenCollection> collection, impl_->open(id));
    const std::shared_lock lock(collection->looking);
    const CollectionState& state = collection->state;
    const IndexQuery query{.text = {},
                           .top_k = options.rerank ? options.top_k * kReranked : options.top_k,
                           .min_score = options.min_score,
                           .words = options.hybrid,
                           .now = as_of,
                           .filter = [&](std::string_view item) {
                             return wanted(state.items.find(item)->second.item, options, as_of);
                           }};
    for (const Found& found : search_pieces(state.index, pieces, vectors, query)) {
      const StoredItem& stored = state.items.at(found.id);
      std::string text = joined_text(state, found.id, options.neighbours);
      const std::size_t tokens =
          options.neighbours == 0 ? stored.tokens : impl_->options.tokenizer->count(text);
      all.emplace_back(found.strength, Recalled{id, stored.item, std::move(text), tokens, found.score});
    }
  }
  if (options.rerank) rerank(all, question);
  strongest_first(all);
  std::vector<Recalled> kept;
  std::size_t tokens = 0;
  for (auto& [strength, one] : all) {
    if (kept.size() == options.top_k) break;
    if (options.max_tokens > 0 && tokens + one.tokens > options.max_tokens) continue;
    tokens += one.tokens;
    kept.push_back(std::move(one));
  }
  return kept;
}

Result<void> SemanticMemory::prepare(const CollectionId& id) {
  TERTULIA_TRY(impl_->open(id));
  return {};
}

Result<ItemPage> SemanticMemory::list(const CollectionId& id, std::size_t limit, std::string_view cursor) {
  TERTULIA_TRY_AS(std::shared_ptr<OpenCollection> collection, impl_->open(id));
  const std::shared_lock lock(collection->looking);
  ItemPage page;
  for (auto at = collection->state.items.upper_bound(cursor); at != collection->state.items.end(); ++at) {
    if (page.items.size() == limit) {
      page.next = page.items.empty() ? "" : page.items.back().id;
      break;
    }
    page.items.push_back(at->second.item);
  }
  return page;
}

Result<DocumentPage> SemanticMemory::documents(const CollectionId& id, std::size_t limit,
                                               std::string_view cursor) {
  TERTULIA_TRY_AS(std::shared_ptr<OpenCollection> collection, impl_->open(id));
  const std::shared_lock lock(collection->looking);
  const CollectionState& state = collection->state;
  DocumentPage page;
  for (auto at = state.chunks.upper_bound(cursor); at != state.chunks.end(); ++at) {
    if (page.documents.size() == limit) {
      page.next = page.documents.empty() ? "" : page.documents.back().source;
      break;
    }
    page.documents.push_back(document_of(state, at->first, at->second));
  }
  return page;
}

Result<CollectionCounts> SemanticMemory::count(const CollectionId& id) {
  TERTULIA_TRY_AS(std::shared_ptr<OpenCollection> collection, impl_->open(id));
  const std::shared_lock lock(collection->looking);
  const CollectionState& state = collection->state;
  const auto facts = std::count_if(state.items.begin(), state.items.end(), [](const auto& entry) {
    return entry.second.item.kind == MemoryKind::kFact;
  });
  return CollectionCounts{.items = state.items.size(),
                          .documents = state.chunks.size(),
                          .facts = static_cast<std::size_t>(facts)};
}

Result<std::vector<Fact>> SemanticMemory::facts(const CollectionId& id, std::optional<Time> as_of) {
  TERTULIA_TRY_AS(std::shared_ptr<OpenCollection> collection, impl_->open(id));
  const Time time = as_of.value_or(impl_->env.clock().now());
  const std::shared_lock lock(collection->looking);
  std::vector<Fact> facts;
  for (const auto& [name, stored] : collection->state.items) {
    if (stored.item.kind != MemoryKind::kFact) continue;
    if (Fact fact = fact_of(stored.item); fact.holds_at(time)) facts.push_back(std::move(fact));
  }
  return facts;
}

Result<EraseReport> SemanticMemory::forget_all(const CollectionId& id) {
  TERTULIA_TRY_AS(EraseReport report, erase(impl_->store, {id.tenant, id.owner, id.session}));
  drop(id);
  return report;
}

void SemanticMemory::Impl::let_go_of(const CollectionId& id) {
  const std::lock_guard lock(mutex);
  collections.erase_if([&](const CollectionId& each) { return each == id; });
  ++let_go;
}

void SemanticMemory::drop(const CollectionId& id) { impl_->let_go_of(id); }

void SemanticMemory::drop_owner(const TenantId& tenant, const OwnerId& owner) {
  const std::lock_guard lock(impl_->mutex);
  impl_->collections.erase_if(
      [&](const CollectionId& each) { return each.tenant == tenant && each.owner == owner; });
  ++impl_->let_go;
}

void SemanticMemory::drop_all() {
  const std::lock_guard lock(impl_->mutex);
  impl_->collections.erase_if([](const CollectionId&) { return true; });
  ++impl_->let_go;
}

}  // namespace tertulia
