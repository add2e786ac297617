// How memories go: by name, by source, and by the messages they came from.
#include <set>
#include <utility>

#include "semantic_impl.h"

namespace tertulia {
namespace {

// What forgetting would do to a collection.
class ForgetPlan {
 public:
  ForgetPlan(const CollectionState& state, const Forget& what)
      : state_(state),
        messages_(what.messages.begin(), what.messages.end()),
        items(what.items.begin(), what.items.end()),
        sources(what.sources.begin(), what.sources.end()) {
    look_at_sources();
    look_at_items();
    std::erase_if(items, [&](const std::string& id) { return !state.items.contains(id); });
  }

  // A source goes before its chunks: those that a crash leaves are not found without it.
  std::vector<MemoryChange> changes() const {
    std::vector<MemoryChange> result;
    for (const std::string& name : sources) {
      if (state_.sources.contains(name)) result.emplace_back(whole_stream(scope_of_source(name)));
      auto left = state_.leftovers.find(name);
      if (left == state_.leftovers.end()) continue;
      for (const StreamId& stream : left->second) result.emplace_back(DropRecords{.stream = stream});
    }
    for (const std::string& id : items) result.emplace_back(whole_stream(id));
    for (const StoredSource& source : changed_sources) put(result, to_record(source));
    for (const StoredItem& item : changed_items) put(result, to_record(item));
    return result;
  }

 private:
  static void put(std::vector<MemoryChange>& result, Record record) {
    result.emplace_back(DropRecords{.stream = record.stream, .up_to = record.number - 1});
    result.emplace_back(AddRecord{std::move(record)});
  }

  // Those that stay; none if there was nothing to take away.
  std::optional<std::vector<MessageId>> rest_of(const std::vector<MessageId>& all) const {
    std::vector<MessageId> rest;
    for (const MessageId& message : all) {
      if (!messages_.contains(message)) rest.push_back(message);
    }
    if (rest.size() == all.size()) return std::nullopt;
    return rest;
  }

  void look_at_sources() {
    for (const auto& [name, source] : state_.sources) {
      const auto rest = rest_of(source.sources);
      if (!rest || sources.contains(name)) continue;
      if (rest->empty()) {
        sources.insert(name);
        continue;
      }
      changed_sources.push_back(source);
      changed_sources.back().sources = *rest;
      ++changed_sources.back().number;
    }
  }

  void look_at_items() {
    for (const auto& [id, stored] : state_.items) {
      if (stored.item.kind == MemoryKind::kChunk) {
        if (sources.contains(stored.item.source)) items.insert(id);
        continue;
      }
      const auto rest = rest_of(stored.item.sources);
      if (!rest || items.contains(id)) continue;
      if (rest->empty()) {
        items.insert(id);
        continue;
      }
      changed_items.push_back(stored);
      changed_items.back().item.sources = *rest;
      ++changed_items.back().number;
    }
  }

  const CollectionState& state_;
  const std::set<MessageId> messages_;

 public:
  std::set<std::string> items;
  std::set<std::string> sources;
  std::vector<StoredItem> changed_items;
  std::vector<StoredSource> changed_sources;
};

}  // namespace

Result<ForgetReport> SemanticMemory::forget(const CollectionId& id, const Forget& what) {
  TERTULIA_TRY_AS(std::shared_ptr<OpenCollection> collection, impl_->open(id));
  const std::lock_guard writing(collection->writing);
  CollectionState& state = collection->state;
  ForgetPlan plan(state, what);
  for (StoredItem& stored : plan.changed_items) {
    TERTULIA_TRY_AS(std::vector<Vector> vectors, embed(*impl_->embedder, {stored.item.text}));
    stored.vector = std::move(vectors.front());
  }
  std::vector<MemoryChange> changes = plan.changes();
  if (changes.empty()) return ForgetReport{};
  TERTULIA_TRY(write_changes(impl_->store, id, std::move(changes)));

  const ForgetReport report{.removed = plan.items.size(),
                            .changed = plan.changed_items.size() + plan.changed_sources.size()};
  Impl::PuttingIntoRam putting(*impl_, id);
  const std::unique_lock lock(collection->looking);
  state.remove(std::vector<std::string>(plan.items.begin(), plan.items.end()));
  for (const std::string& name : plan.sources) {
    state.sources.erase(name);
    state.leftovers.erase(name);
  }
  for (const StoredSource& source : plan.changed_sources) {
    for (const std::string& chunk : state.chunks_of(source.source)) {
      state.items.at(chunk).item.sources = source.sources;
    }
    state.sources.insert_or_assign(source.source, source);
  }
  for (StoredItem& stored : plan.changed_items) state.put(std::move(stored));
  putting.done();
  return report;
}

}  // namespace tertulia
