#include "read_checkpoints.h"

#include <utility>

namespace tertulia {

Result<std::vector<StoredRecord>> read_all(Store& store, RecordQuery query) {
  std::vector<StoredRecord> records;
  query.limit = 1'000;
  while (true) {
    TERTULIA_TRY_AS(RecordPage page, read_records(store, query));
    for (StoredRecord& record : page.records) records.push_back(std::move(record));
    if (page.next.empty()) return records;
    query.cursor = std::move(page.next);
  }
}

Result<FoldedCheckpoint> fold(const std::vector<StoredRecord>& records, const std::string& run,
                              std::uint64_t number) {
  FoldedCheckpoint folded;
  folded.checkpoint.facts.run = run;
  std::size_t whole = records.size();
  std::size_t end = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i].record;
    folded.newest = record.number;
    const bool wanted = number == 0 || record.number <= number;
    if (!is_whole(record.payload)) {
      if (wanted) end = i + 1;
      continue;
    }
    folded.last_whole = record.number;
    if (wanted) whole = i, end = i + 1;
  }
  if (whole == records.size() || (number != 0 && records[end - 1].record.number != number)) {
    return Error(ErrorCode::kNoCheckpoint, number == 0 ? "there is no run " + run
                                                       : "run " + run + " has no checkpoint " +
                                                             std::to_string(number) +
                                                             "; it may be one that was not kept");
  }
  for (std::size_t i = whole; i < end; ++i) {
    TERTULIA_TRY(apply_checkpoint(records[i].record.payload, folded.checkpoint));
    folded.checkpoint.number = records[i].record.number;
    folded.checkpoint.time = records[i].record.time;
  }
  return folded;
}

Result<FoldedCheckpoint> read_checkpoint(Store& store, const SessionKey& key, const std::string& run,
                                         std::uint64_t number) {
  TERTULIA_TRY_AS(const std::vector<StoredRecord> records, read_all(store, {.tenant = key.tenant,
                                                                            .owner = key.owner,
                                                                            .session = key.session,
                                                                            .kind = RecordKind::kCheckpoint,
                                                                            .scope = run}));
  return fold(records, run, number);
}

}  // namespace tertulia
