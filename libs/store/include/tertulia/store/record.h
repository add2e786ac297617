// A Record: everything of a session that is not its transcript.
//
// Records of one kind, branch and scope are a stream, numbered from 1 without gaps; a writer states the
// number it adds, so two writers cannot both add the fifth entry of a journal.
//
//   kind         branch   scope           key              name          payload
//   kJournal     yes      –               –                kind of step  JournalEntry as JSON
//   kEvent       yes      turn            –                kind          Event as JSON
//   kToolCall    yes      turn            tool call id     tool          ToolCallRecord as JSON (read only:
//   see AppendTurn) kEpisode     yes      –               episode id       end reason    Episode as JSON
//   kReceipt     yes      turn            –                –             Receipt as JSON
//   kCheckpoint  –        run             checkpoint id    –             opaque
//   kAsset       –        –               asset id         media type    the bytes
//   kLease       yes      –               owner id         –             opaque
//   kSubmission  yes      the client's    that key again   hash of what  opaque
//                         idempotency key                  was asked
//   kQuestion    yes      turn/call       that again       asked or      opaque
//                                                          answered
//   kMemory      –        the item        source           kind of item  opaque
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/store/session_key.h"

namespace tertulia {

enum class RecordKind : std::uint8_t {
  kJournal,
  kEvent,
  kToolCall,
  kEpisode,
  kReceipt,
  kCheckpoint,
  kAsset,
  kLease,
  kSubmission,
  kQuestion,
  kMemory,
};
// All of them, in their order; record.cc does not compile while one is missing.
inline constexpr std::array kAllRecordKinds = {
    RecordKind::kJournal,    RecordKind::kEvent,      RecordKind::kToolCall, RecordKind::kEpisode,
    RecordKind::kReceipt,    RecordKind::kCheckpoint, RecordKind::kAsset,    RecordKind::kLease,
    RecordKind::kSubmission, RecordKind::kQuestion,   RecordKind::kMemory};
std::string_view name_of(RecordKind kind);
Result<RecordKind> record_kind_named(std::string_view name);

inline constexpr std::size_t kMaxRecordBytes = 32U << 20U;
inline constexpr std::size_t kMaxRecordNameBytes = 255;

// Which stream.
struct StreamId {
  RecordKind kind = RecordKind::kEvent;
  // Empty for records that belong to the whole session. Deleting the branch deletes the stream.
  BranchId branch{};
  // A turn, a run, …: up to 128 bytes, the caller's. May be empty.
  std::string scope{};

  auto operator<=>(const StreamId&) const = default;
  bool operator==(const StreamId&) const = default;
};

// Scope, key and name are UTF-8 (kBadUnicode), the payload any bytes.
struct Record {
  StreamId stream;
  // Its place in the stream: one more than the last that was ever there.
  std::uint64_t number = 0;
  Time time{};
  // The record's own id where it has one. Up to 128 bytes, may be empty. That nobody else uses it is the
  // caller's business: a store does not look, and the leases of one owner share one.
  std::string key;
  // What one filters by: the tool, the kind of event, the media type. Up to 255 bytes, may be empty.
  std::string name;
  // Up to kMaxRecordBytes; any bytes.
  std::string payload;

  bool operator==(const Record&) const = default;
};

// Which records to read. Everything that is given must hold. kNoSession if it names a session that is not
// there; kOutOfRange {param} for a limit or a cursor that is none.
struct RecordQuery {
  TenantId tenant;
  OwnerId owner;
  // Empty: every session of the owner.
  SessionId session{};
  RecordKind kind = RecordKind::kEvent;
  std::optional<BranchId> branch{};
  std::optional<std::string> scope{};
  std::optional<std::string> key{};
  std::optional<std::string> name{};
  // Only numbers above this one.
  std::uint64_t after = 0;
  // From `since` on, and before `until`.
  std::optional<Time> since{};
  std::optional<Time> until{};
  // A damaged record of a session that is named is left out, and RecordPage::damaged says so. Without it, the
  // call fails with kSessionDamaged.
  bool beside_damage = false;
  // The whole order turned round.
  bool newest_first = false;
  // At most this many, 1 to 1,000.   Default: 100.
  std::size_t limit = 100;
  // Where the last page ended: RecordPage::next. Empty: from the start.
  std::string cursor{};
};

struct StoredRecord {
  SessionId session;
  Record record;

  bool operator==(const StoredRecord&) const = default;
};

struct RecordPage {
  // In the order of (branch, scope, number); by (time, session, branch, scope, number) where the query names
  // no session.
  std::vector<StoredRecord> records;
  // Empty at the end.
  std::string next;
  // Where the query names no session, or wants what stands beside damage: the sessions of which not
  // everything that was asked for can be read, because it is damaged. What can be read of them is in the
  // page; verify() says more. Whoever shows a page shows this.
  std::vector<SessionId> damaged{};
};

// For who reads several pages: adds what the page tells of damage to `damaged`, or makes it the error
// kSessionDamaged where nobody wants to hear of it. Never silent.
Result<void> tell_damaged(const RecordPage& page, std::set<SessionId>* damaged);

}  // namespace tertulia
