// What belongs into an archive.
#pragma once

#include <array>
#include <vector>

#include "tertulia/store/archive.h"

namespace tertulia {

// Tool calls stand with their turns; leases belong to a process.
inline constexpr std::array kExportedKinds = {RecordKind::kJournal,    RecordKind::kEvent,
                                              RecordKind::kEpisode,    RecordKind::kReceipt,
                                              RecordKind::kCheckpoint, RecordKind::kAsset};

// The sessions of a scope, in the order of their keys.
Result<std::vector<SessionKey>> keys_in(Store& store, const ExportScope& scope);

}  // namespace tertulia
