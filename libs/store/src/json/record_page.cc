// A page of records, of one session or of all that an owner has.
#include <algorithm>
#include <utility>

#include "json_directory.h"

namespace tertulia {
namespace {

// The first records of a page, in whichever order they are found.
class FirstRecords {
 public:
  FirstRecords(const RecordQuery& query, std::optional<RecordCursor> behind)
      : query_(query), behind_(std::move(behind)) {}

  void add(StoredRecord found) {
    if (behind_ && !comes_before(query_, *behind_, cursor_of(found))) return;
    if (heap_.size() > query_.limit && !before(found, heap_.front())) return;
    const auto order = [this](const StoredRecord& a, const StoredRecord& b) { return before(a, b); };
    heap_.push_back(std::move(found));
    std::ranges::push_heap(heap_, order);
    if (heap_.size() <= query_.limit + 1) return;
    std::ranges::pop_heap(heap_, order);
    heap_.pop_back();
  }

  RecordPage page() && {
    std::ranges::sort(heap_, [this](const StoredRecord& a, const StoredRecord& b) { return before(a, b); });
    RecordPage page{.records = std::move(heap_)};
    if (page.records.size() > query_.limit) {
      page.records.pop_back();
      page.next = cursor_of(page.records.back()).text();
    }
    return page;
  }

 private:
  bool before(const StoredRecord& a, const StoredRecord& b) const {
    return comes_before(query_, cursor_of(a), cursor_of(b));
  }

  const RecordQuery& query_;
  const std::optional<RecordCursor> behind_;
  // Its top is the last record of the page so far.
  std::vector<StoredRecord> heap_;
};

// How often a page is begun again because records of it were dropped while it was being read.
constexpr int kMostTries = 100;

}  // namespace

Result<std::vector<SessionKey>> JsonDirectory::keys_of(const RecordQuery& query) {
  if (!query.session.empty()) return std::vector{SessionKey{query.tenant, query.owner, query.session}};
  TERTULIA_TRY(ensure_indexed());
  claim_damaged(query.tenant, query.owner);
  return index_.of_owner(query.tenant, query.owner);
}

// `moved`: records of the page were dropped while it was being read, so it is of no one moment.
Result<RecordPage> JsonDirectory::read_page(const RecordQuery& query,
                                            const std::optional<RecordCursor>& behind, bool& moved) {
  TERTULIA_TRY_AS(const std::vector<SessionKey> keys, keys_of(query));
  RecordPage told;
  // Whether others go on although this one cannot be read.
  const auto is_passed_over = [&](const SessionKey& key, const Error& error) {
    const bool is_erased = query.session.empty() && error.code() == ErrorCode::kNoSession;
    moved = moved || is_erased;
    return is_erased || note_damaged(query, key.session, error, told);
  };
  FirstRecords first(query, behind);
  for (const SessionKey& key : keys) {
    Result<void> read = files_of(key)->find_records(
        query, [&](Record record) { first.add({.session = key.session, .record = std::move(record)}); });
    if (!read && !is_passed_over(key, read.error())) return std::move(read).error();
  }
  RecordPage page = std::move(first).page();
  for (const SessionKey& key : keys) {
    std::vector<Record*> own;
    for (StoredRecord& stored : page.records) {
      if (stored.session == key.session) own.push_back(&stored.record);
    }
    if (own.empty()) continue;
    Result<SessionFiles::PayloadsRead> read = files_of(key)->read_payloads(own);
    moved = moved || (read && read->moved);
    std::optional<Error> error;
    if (!read) error = read.error();
    if (read) error = std::move(read->damage);
    if (error && !is_passed_over(key, *error)) return *std::move(error);
  }
  std::erase_if(page.records, [](const StoredRecord& stored) { return stored.record.number == 0; });
  page.damaged = std::move(told.damaged);
  return page;
}

Result<RecordPage> JsonDirectory::read_records(const RecordQuery& query) {
  TERTULIA_TRY(check_query(query));
  std::optional<RecordCursor> behind;
  if (!query.cursor.empty()) {
    TERTULIA_TRY_AS(behind, RecordCursor::parse(query.cursor));
  }
  for (int tries = 1;; ++tries) {
    bool moved = false;
    Result<RecordPage> page = read_page(query, behind, moved);
    if (!page || !moved || tries == kMostTries) return page;
  }
}

}  // namespace tertulia
