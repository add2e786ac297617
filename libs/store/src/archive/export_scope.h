// What belongs into an archive, and into any other copy of a session.
#pragma once

#include <cstdint>
#include <vector>

#include "tertulia/store/archive.h"

namespace tertulia {

// What becomes of a record when its session is copied: exported, repaired, written again under another name.
enum class Travel : std::uint8_t {
  kAlone,
  kWithItsTurn,
  kNever,  // it belongs to a running process
};

// Without a default: a new kind has its place in every copy, or this does not compile.
constexpr Travel travel_of(RecordKind kind) {
  switch (kind) {
    case RecordKind::kJournal:
    case RecordKind::kEvent:
    case RecordKind::kEpisode:
    case RecordKind::kReceipt:
    case RecordKind::kCheckpoint:
    case RecordKind::kAsset:
    case RecordKind::kSubmission:
    case RecordKind::kQuestion:
    case RecordKind::kMemory:
      return Travel::kAlone;
    case RecordKind::kToolCall:
      return Travel::kWithItsTurn;
    case RecordKind::kLease:
      return Travel::kNever;
  }
  return Travel::kNever;
}

// The sessions of a scope, in the order of their keys. Without a tenant: of every one.
Result<std::vector<SessionKey>> keys_in(Store& store, const ExportScope& scope);

}  // namespace tertulia
