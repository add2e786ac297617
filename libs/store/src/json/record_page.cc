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

bool says_damaged(const Result<void>& result) {
  return !result && result.error().code() == ErrorCode::kSessionDamaged;
}

// Fills in the payloads of a session's records. Those that are damaged get the number 0, and the first of
// them is the error.
Result<void> read_what_can_be_read(SessionFiles& files, const std::vector<Record*>& records) {
  Result<void> all = files.read_payloads(records);
  if (!says_damaged(all)) return all;
  for (Record* const record : records) {
    const Result<void> read = files.read_payloads({&record, 1});
    if (says_damaged(read)) {
      record->number = 0;
    } else if (!read) {
      return read;
    }
  }
  return all;
}

}  // namespace

Result<std::vector<SessionKey>> JsonDirectory::keys_of(const RecordQuery& query) {
  if (!query.session.empty()) return std::vector{SessionKey{query.tenant, query.owner, query.session}};
  TERTULIA_TRY(ensure_indexed());
  claim_damaged(query.tenant, query.owner);
  return index_.of_owner(query.tenant, query.owner);
}

Result<RecordPage> JsonDirectory::read_records(const RecordQuery& query) {
  TERTULIA_TRY(check_query(query));
  std::optional<RecordCursor> behind;
  if (!query.cursor.empty()) {
    TERTULIA_TRY_AS(behind, RecordCursor::parse(query.cursor));
  }
  TERTULIA_TRY_AS(const std::vector<SessionKey> keys, keys_of(query));
  RecordPage told;
  const auto passed_over = [&](const SessionKey& key, const Result<void>& read) {
    // Erased while this was going on.
    const bool gone = query.session.empty() && read.error().code() == ErrorCode::kNoSession;
    return gone || note_damaged(query, key.session, read.error(), told);
  };
  FirstRecords first(query, std::move(behind));
  for (const SessionKey& key : keys) {
    Result<void> read = files_of(key)->find_records(
        query, [&](Record record) { first.add({.session = key.session, .record = std::move(record)}); });
    if (!read && !passed_over(key, read)) return std::move(read).error();
  }
  RecordPage page = std::move(first).page();
  for (const SessionKey& key : keys) {
    std::vector<Record*> own;
    for (StoredRecord& stored : page.records) {
      if (stored.session == key.session) own.push_back(&stored.record);
    }
    if (own.empty()) continue;
    Result<void> read = read_what_can_be_read(*files_of(key), own);
    if (!read && !passed_over(key, read)) return std::move(read).error();
  }
  std::erase_if(page.records, [](const StoredRecord& stored) { return stored.record.number == 0; });
  page.damaged = std::move(told.damaged);
  return page;
}

}  // namespace tertulia
