// A session as rows: reading its head, and the content of the rows of sessions and branches.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/store/commit_rules.h"
#include "tertulia/store/micros.h"

#include "connection.h"
#include "sealed_row.h"
#include "tenant_keys.h"
#include "turn_blob.h"

namespace tertulia {

// The turns of branch number b have the ids from turn_row(b, 1) to turn_row(b, kMaxTurns).
inline constexpr int kTurnBits = 28;
inline constexpr std::uint64_t kMaxTurns = (std::uint64_t{1} << kTurnBits) - 1;
constexpr std::int64_t turn_row(std::int64_t branch, std::uint64_t turn) {
  return (branch << kTurnBits) | static_cast<std::int64_t>(turn);
}

// Where a branch stands.
struct BranchRow {
  // Unique in the store.
  std::int64_t number = 0;
  // How many turns are its own.
  std::uint64_t turns = 0;
  // With those of its parent.
  std::uint64_t messages = 0;
  // TurnHeader::state_turn of its newest turn.
  std::uint64_t state_turn = 0;
};

struct StoredSession {
  std::int64_t row = 0;
  DataKey key;
  SessionImage image;
  std::map<BranchId, BranchRow> branches;
  // A stream that is not in the image has no records: the session was made here, and nothing was forgotten.
  bool knows_streams = false;
};

// What the columns of the row of a session say. `data` is its content, sealed.
struct SessionColumns {
  SessionKey key;
  Time last_activity{};
  Revision revision{};
  SessionStatus status = SessionStatus::kActive;
};
std::string session_place(std::int64_t row, const SessionColumns& columns);
Result<Session> open_session_row(std::int64_t row, const SessionColumns& columns, std::string_view data,
                                 const DataKey& key);

// The content of the row of a branch: its head as the last PutBranch left it, and that commit. `turns` is how
// many turns the branch had then: a state in a later turn is newer.
struct BranchContent {
  BranchHead head;
  Revision revision{};
  Time time{};
  std::uint64_t turns = 0;
};
std::string encode_branch(const BranchContent& content);
Result<BranchContent> decode_branch(std::string_view bytes);

// Everything but the streams. Nothing if there is no such session. kSessionDamaged {record}.
Result<std::optional<StoredSession>> load_session(Connection& connection, TenantKeys& keys,
                                                  const SessionKey& key);
Result<StoredSession> load_existing(Connection& connection, TenantKeys& keys, const SessionKey& key);
// Puts the newest numbers of these streams into the image.
Result<void> load_streams(Connection& connection, StoredSession& session,
                          const std::vector<StreamId>& streams);

// The content of a turn's row, unpacked, as a window into the query or into `scratch`.
Result<std::string_view> open_turn_row(std::int64_t row, std::string_view data, const DataKey& key,
                                       std::string& scratch);
// Its header alone, which needs no unpacking.
Result<TurnHeader> open_turn_header(std::int64_t row, std::string_view data, const DataKey& key);

// An error of a row as one of its session, where it says that something is damaged.
Error in_session(Error error, const SessionKey& key, const std::string& record);
std::string turn_name(const BranchId& branch, std::uint64_t turn);

}  // namespace tertulia
