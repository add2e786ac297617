// What stands in the files of a session, as JSON (docs/formats/json_store.md shows each).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/store/commit.h"
#include "tertulia/store/record.h"
#include "tertulia/store/session_key.h"
#include "tertulia/store/store.h"

namespace tertulia {

// session.json
// Errors of parse_json for a state that is no JSON.
Result<std::string> session_document(const SessionKey& key, const Session& session);
// Takes the key from the document itself and checks the sum for it: the caller compares it with where it
// stood.
Result<Session> read_session_document(std::string_view text);
SessionKey key_of(const Session& session);
// Whose it says it is, without looking at its checksum: for whoever can tell otherwise that it is so.
std::optional<SessionKey> key_in_session_document(std::string_view text);

// branch.json: the branch without its messages.
struct BranchDocument {
  BranchHead head;
  // Its place among the branches of the session, in the order in which they were made.
  std::uint64_t order = 0;
  // The commit that wrote this, and its time.
  Revision revision{};
  Time time{};
  // How many turns of its own it had then: a transcript that has fewer has lost some.
  std::uint64_t turns = 0;
};
Result<std::string> branch_document(const SessionKey& key, const BranchDocument& document);
Result<BranchDocument> read_branch_document(const SessionKey& key, std::string_view directory,
                                            std::string_view text);

// What a file of records tells of other files: they had come so far when it was written, so one that is
// behind has lost something that was stored.
struct ToldBeside {
  // Of a branch's records: how many turns of its own it had.
  std::uint64_t turns = 0;
  // Of records of the whole session: its revision.
  Revision revision{};

  void add(const ToldBeside& other);
};
// As members of the object that is being written or read.
void write_told(JsonWriter& out, const ToldBeside& told);
ToldBeside read_told(JsonReader& in);

// The first line of each file of lines: whose it is.
struct FileHeader {
  // "transcript", or the name of a RecordKind.
  std::string file;
  BranchId branch;
  // How often a file of records was written anew without what was dropped. 0 for a transcript.
  std::uint64_t generation = 0;
  // Records only: the newest number that each scope had when the file was written anew.
  std::map<std::string, std::uint64_t> heads;
  // Records only.
  ToldBeside told;
  // The transcript of a fork only: for when branch.json cannot be read.
  std::optional<ForkOrigin> forked_from{};
};
std::string header_line(const SessionKey& key, std::string_view path, const FileHeader& header);
Result<FileHeader> read_header_line(const SessionKey& key, std::string_view path, std::string_view line);
// As key_in_session_document.
std::optional<SessionKey> key_in_header_line(std::string_view line);

// What leads a line of transcript.jsonl, so that a line can be placed without reading all of it.
struct TurnHead {
  // The turns of this file are numbered from 1.
  std::uint64_t number = 0;
  Revision revision{};
  std::uint64_t first_index = 0;
  std::uint64_t count = 0;
  // Of the commit.
  Time time{};
  // Where the line begins that holds the branch's state; 0 if that is branch.json. Its own offset if it is
  // here.
  std::uint64_t state_at = 0;

  std::uint64_t end() const { return first_index + count; }
};
std::string turn_line(const SessionKey& key, std::string_view path, const TurnHead& head,
                      const AppendTurn& append);
// Looks at the beginning of the line only; none if it is not as we write it.
std::optional<TurnHead> read_turn_head(std::string_view line);

struct TurnLine {
  TurnHead head;
  AppendTurn append;
};
// kDamaged if the sum does not fit.
Result<TurnLine> read_turn_line(const SessionKey& key, std::string_view path, const BranchId& branch,
                                std::string_view line);

// Those that have files of their own: tool calls stand in their turns.
inline constexpr std::array kRecordKinds = {
    RecordKind::kJournal,    RecordKind::kEvent, RecordKind::kEpisode, RecordKind::kReceipt,
    RecordKind::kCheckpoint, RecordKind::kAsset, RecordKind::kLease,   RecordKind::kSubmission,
    RecordKind::kQuestion,   RecordKind::kMemory};

// How far a file of records had been stored, as lengths.json tells: a file that is shorter was cut.
struct StoredLength {
  std::uint64_t generation = 0;
  std::uint64_t bytes = 0;
};
using StoredLengths = std::map<std::string, StoredLength>;
std::string lengths_document(const SessionKey& key, const StoredLengths& lengths);
// Empty if it is not whole: it is written without being synced, and then tells nothing.
StoredLengths read_lengths_document(const SessionKey& key, std::string_view text);

// One entry of a file of records.
struct RecordItem {
  bool is_drop = false;
  // A drop has its stream, and in `number` the newest number it removes.
  Record record;
  // An asset's bytes stand in a file of their own, with this sum.
  bool is_outside = false;
  std::uint64_t outside_bytes = 0;
  std::uint32_t outside_sum = 0;
};
// True if the payload of such a record gets a file of its own.
bool stands_outside(const Record& record);
std::uint32_t asset_checksum(const SessionKey& key, const Record& record, std::string_view payload);
// All items in one line: they are there together or not at all.
struct RecordLine {
  // Every item has the stream's kind and branch from the header.
  std::vector<RecordItem> items;
  ToldBeside told;
};
std::string record_line(const SessionKey& key, std::string_view path, const std::vector<RecordItem>& items,
                        const ToldBeside& told);
Result<RecordLine> read_record_line(const SessionKey& key, std::string_view path, const FileHeader& header,
                                    std::string_view line);

}  // namespace tertulia
