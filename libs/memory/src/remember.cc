// How facts come into a collection: what is known is not kept twice, and what no longer holds stays, closed.
#include <algorithm>
#include <utility>

#include "semantic_impl.h"

namespace tertulia {
namespace {

constexpr std::size_t kMaxFactBytes = 4'096;

// What the new fact means for those that are there.
struct Judgement {
  // The id of the fact that says the same; empty if none does.
  std::string same;
  std::vector<std::string> contradicted;
};

Judgement judge(const CollectionState& state, std::string_view text, const Vector& vector, Time from) {
  Judgement judgement;
  const auto is_current_fact = [&](std::string_view id) {
    const MemoryItem& item = state.items.find(id)->second.item;
    return item.kind == MemoryKind::kFact && (!item.valid_until || from < *item.valid_until);
  };
  // Near in words or in meaning: what is neither cannot stand in any relation to it.
  const IndexQuery by_words{
      .text = std::string(text), .vector = vector, .top_k = 64, .filter = is_current_fact};
  IndexQuery by_meaning = by_words;
  by_meaning.words = false;
  std::vector<Found> found = state.index.search(by_words);
  for (Found& one : state.index.search(by_meaning)) found.push_back(std::move(one));
  for (const Found& one : found) {
    const MemoryItem& item = state.items.find(one.id)->second.item;
    switch (relation_of(item.text, text, one.meaning)) {
      case FactRelation::kSame:
        if (judgement.same.empty()) judgement.same = one.id;
        break;
      case FactRelation::kContradicts:
        if (std::find(judgement.contradicted.begin(), judgement.contradicted.end(), one.id) ==
            judgement.contradicted.end()) {
          judgement.contradicted.push_back(one.id);
        }
        break;
      case FactRelation::kUnrelated:
        break;
    }
  }
  return judgement;
}

// The next record of an item in place of the one before it.
void put_change(std::vector<MemoryChange>& changes, const StoredItem& stored) {
  Record record = to_record(stored);
  if (stored.number > 1)
    changes.emplace_back(DropRecords{.stream = record.stream, .up_to = stored.number - 1});
  changes.emplace_back(AddRecord{std::move(record)});
}

}  // namespace

Result<Remembered> SemanticMemory::remember(const CollectionId& id, NewFact fact,
                                            const MemoryWriter& writer) {
  TERTULIA_TRY(check_writer(writer));
  if (fact.text.empty() || fact.text.size() > kMaxFactBytes) {
    return Error(ErrorCode::kOutOfRange, "a fact has 1 to " + std::to_string(kMaxFactBytes) +
                                             " bytes; longer texts are documents: ingest them");
  }
  TERTULIA_TRY_AS(std::shared_ptr<OpenCollection> collection, impl_->open(id));
  TERTULIA_TRY_AS(std::vector<Vector> vectors, embed(*impl_->embedder, {fact.text}));
  const std::lock_guard writing(collection->writing);
  TERTULIA_TRY(impl_->ensure_exists(id, *collection));
  CollectionState& state = collection->state;
  const Time from = fact.valid_from.value_or(impl_->env.clock().now());
  const Judgement judgement = judge(state, fact.text, vectors.front(), from);

  Remembered remembered;
  std::vector<StoredItem> written;
  if (!judgement.same.empty()) {
    StoredItem known = state.items.at(judgement.same);
    remembered.known = true;
    std::vector<MessageId>& sources = known.item.sources;
    bool grown = false;
    // A fact without messages is the writer's own and stays so.
    for (const MessageId& message : fact.sources) {
      if (sources.empty() || std::find(sources.begin(), sources.end(), message) != sources.end()) continue;
      sources.push_back(message);
      grown = true;
    }
    remembered.fact = fact_of(known.item);
    if (!grown) return remembered;
    ++known.number;
    TERTULIA_TRY_AS(std::vector<Vector> again, embed(*impl_->embedder, {known.item.text}));
    known.vector = std::move(again.front());
    written.push_back(std::move(known));
  } else {
    StoredItem stored{.tokens = impl_->options.tokenizer->count(fact.text),
                      .vector = std::move(vectors.front())};
    stored.item = {.id = impl_->ids.make().text(),
                   .kind = MemoryKind::kFact,
                   .text = std::move(fact.text),
                   .sources = std::move(fact.sources),
                   .writer = std::string(name_of(writer.kind)) + ":" + writer.name,
                   .time = from};
    remembered.fact = fact_of(stored.item);
    for (const std::string& old : judgement.contradicted) {
      StoredItem closed = state.items.at(old);
      closed.item.valid_until = std::max(from, closed.item.time);
      closed.item.superseded_by = stored.item.id;
      ++closed.number;
      TERTULIA_TRY_AS(std::vector<Vector> again, embed(*impl_->embedder, {closed.item.text}));
      closed.vector = std::move(again.front());
      written.push_back(std::move(closed));
      remembered.superseded.push_back(old);
    }
    written.push_back(std::move(stored));
  }

  std::vector<MemoryChange> changes;
  for (const StoredItem& stored : written) put_change(changes, stored);
  TERTULIA_TRY(write_changes(impl_->store, id, std::move(changes)));
  const std::unique_lock lock(collection->looking);
  for (StoredItem& stored : written) state.put(std::move(stored));
  return remembered;
}

}  // namespace tertulia
