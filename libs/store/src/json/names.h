// The names of files and directories in a JSON store (docs/formats/json_store.md).
//
// An id is never a name by itself: "<beginning of the id>~<16 hex digits of SHA-256>". The digits cover
// tenant, owner and id, so that neither a file system that ignores case nor another owner's id can lead to
// the same place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tertulia/store/record.h"
#include "tertulia/store/session_key.h"

namespace tertulia {

inline constexpr std::string_view kMarkerFile = "tertulia.json";
inline constexpr std::string_view kLockFile = "lock";
inline constexpr std::string_view kSessionsDirectory = "sessions";

// Inside a session's directory.
inline constexpr std::string_view kSessionFile = "session.json";
inline constexpr std::string_view kPendingFile = "pending.json";
inline constexpr std::string_view kLengthsFile = "lengths.json";
inline constexpr std::string_view kBranchesDirectory = "branches";
inline constexpr std::string_view kRecordsDirectory = "records";
inline constexpr std::string_view kAssetsDirectory = "assets";
// Inside a branch's directory.
inline constexpr std::string_view kBranchFile = "branch.json";
inline constexpr std::string_view kTranscriptFile = "transcript.jsonl";

// What is being built has this behind its name until it is whole.
inline constexpr std::string_view kNewSuffix = ".new";
// What is being erased.
inline constexpr std::string_view kErasedSuffix = ".erased";

std::string directory_name(const SessionKey& key);
std::string directory_name(const BranchId& branch);

// Relative to the session's directory.
std::string branch_path(const BranchId& branch);
// "branches/main~…/journal.jsonl", or "records/checkpoint.jsonl" for what belongs to the whole session.
std::string records_path(RecordKind kind, const BranchId& branch);
std::string asset_path(const StreamId& stream, std::uint64_t number);

// The place that a checksum covers: whose it is and which file. Independent of where the store stands.
std::string place_of(const SessionKey& key, std::string_view path);

}  // namespace tertulia
