// Reading what is stored of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tertulia/store/store.h"

#include "run_state.h"

namespace tertulia {

// Every record of the query, page by page.
Result<std::vector<StoredRecord>> read_all(Store& store, RecordQuery query);

// A checkpoint, folded from those before it back to the last whole one.
struct FoldedCheckpoint {
  Checkpoint checkpoint;
  // Of the stream: the newest number, and the last whole one up to it.
  std::uint64_t newest = 0;
  std::uint64_t last_whole = 0;
};

// `number` 0: the newest. kNoCheckpoint.
Result<FoldedCheckpoint> read_checkpoint(Store& store, const SessionKey& key, const std::string& run,
                                         std::uint64_t number);
Result<FoldedCheckpoint> fold(const std::vector<StoredRecord>& records, const std::string& run,
                              std::uint64_t number);

}  // namespace tertulia
