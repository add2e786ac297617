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
  // Those that it ends.
  std::vector<std::string> ended;
  // What was told first of all that was told later and ends it; empty if nothing does.
  std::string ended_by;
};

Judgement judge(const CollectionState& state, std::string_view text, const Vector& vector, Time from) {
  Judgement judgement;
  const auto item_named = [&](std::string_view id) -> const MemoryItem& {
    return state.items.find(id)->second.item;
  };
  const auto is_current_fact = [&](std::string_view id) {
    const MemoryItem& item = item_named(id);
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
    const MemoryItem& item = item_named(one.id);
    // What was told later decides, whichever of the two was learned first.
    const bool later = item.time > from;
    const FactRelation relation =
        later ? relation_of(text, item.text, one.meaning) : relation_of(item.text, text, one.meaning);
    if (relation == FactRelation::kSame && judgement.same.empty()) judgement.same = one.id;
    if (relation != FactRelation::kContradicts) continue;
    if (later) {
      const std::string& first = judgement.ended_by;
      if (first.empty() || item.time < item_named(first).time) judgement.ended_by = one.id;
    } else if (std::ranges::find(judgement.ended, one.id) == judgement.ended.end()) {
      judgement.ended.push_back(one.id);
    }
  }
  // Said again after something else had held in between: the two are not one.
  if (!judgement.same.empty() && !judgement.ended_by.empty() &&
      item_named(judgement.ended_by).time < item_named(judgement.same).time) {
    judgement.same.clear();
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

// One fact on its way into a collection that nobody else writes to.
class Remembering {
 public:
  Remembering(const CollectionState& state, Embedder& embedder) : state_(state), embedder_(embedder) {}

  // It is known, in these or other words: perhaps not by whom, or not since when.
  Result<void> know_again(const NewFact& fact, Time from, const Judgement& judgement) {
    StoredItem known = state_.items.at(judgement.same);
    bool changed = false;
    // A fact without messages is the writer's own and stays so.
    std::vector<MessageId>& sources = known.item.sources;
    for (const MessageId& message : fact.sources) {
      if (sources.empty() || std::ranges::find(sources, message) != sources.end()) continue;
      sources.push_back(message);
      changed = true;
    }
    if (from < known.item.time) {
      known.item.time = from;
      changed = true;
      TERTULIA_TRY(end(judgement.ended, known.item));
    }
    remembered.known = true;
    remembered.fact = fact_of(known.item);
    if (!changed) return {};
    return write(std::move(known));
  }

  Result<void> add(StoredItem fresh, const Judgement& judgement) {
    if (!judgement.ended_by.empty()) {
      fresh.item.valid_until = state_.items.at(judgement.ended_by).item.time;
      fresh.item.superseded_by = judgement.ended_by;
    }
    remembered.fact = fact_of(fresh.item);
    TERTULIA_TRY(end(judgement.ended, fresh.item));
    written.push_back(std::move(fresh));
    return {};
  }

  Remembered remembered;
  std::vector<StoredItem> written;

 private:
  // From when `newer` is true these are not.
  Result<void> end(const std::vector<std::string>& ids, const MemoryItem& newer) {
    for (const std::string& id : ids) {
      StoredItem ended = state_.items.at(id);
      ended.item.valid_until = std::max(newer.time, ended.item.time);
      ended.item.superseded_by = newer.id;
      TERTULIA_TRY(write(std::move(ended)));
      remembered.superseded.push_back(id);
    }
    return {};
  }

  // What is in RAM has no vector: that is in the index.
  Result<void> write(StoredItem item) {
    ++item.number;
    TERTULIA_TRY_AS(std::vector<Vector> vectors, embed(embedder_, {item.item.text}));
    item.vector = std::move(vectors.front());
    written.push_back(std::move(item));
    return {};
  }

  const CollectionState& state_;
  Embedder& embedder_;
};

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

  Remembering remembering(state, *impl_->embedder);
  if (!judgement.same.empty()) {
    TERTULIA_TRY(remembering.know_again(fact, from, judgement));
    if (remembering.written.empty()) return std::move(remembering.remembered);
  } else {
    StoredItem stored{.tokens = impl_->options.tokenizer->count(fact.text),
                      .vector = std::move(vectors.front())};
    stored.item = {.id = impl_->ids.make().text(),
                   .kind = MemoryKind::kFact,
                   .text = std::move(fact.text),
                   .sources = std::move(fact.sources),
                   .writer = std::string(name_of(writer.kind)) + ":" + writer.name,
                   .time = from};
    TERTULIA_TRY(remembering.add(std::move(stored), judgement));
  }

  std::vector<MemoryChange> changes;
  for (const StoredItem& stored : remembering.written) put_change(changes, stored);
  TERTULIA_TRY(write_changes(impl_->store, id, std::move(changes)));
  Impl::PuttingIntoRam putting(*impl_, id);
  const std::unique_lock lock(collection->looking);
  for (StoredItem& stored : remembering.written) state.put(std::move(stored));
  putting.done();
  return std::move(remembering.remembered);
}

}  // namespace tertulia
