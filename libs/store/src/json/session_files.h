// The files of one session.
//
// Everything that a commit is checked against is kept in memory once the session was touched; messages and
// the payloads of records stay on the disk. The first touch finishes what a crash left behind.
//
// Damage
//   A record that fails its checksum stays as it is. The session refuses to be written; what stands before
//   and beside the damage can be read, the rest gives kSessionDamaged {record}. A last line that looks like
//   one that a crash tore is cut only if nothing else in the session tells that it had been stored.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/store/commit_rules.h"
#include "tertulia/store/read_rules.h"
#include "tertulia/store/store.h"

#include "file_steps.h"
#include "line_file.h"
#include "stored_forms.h"

namespace tertulia {

// What session files share with their store.
struct JsonStoreContext {
  FileSystem& files;
  WriteHealth& health;
  // Told of everything that was mended: a torn line that was cut.
  std::function<void(Problem)> mended;
  // JsonStoreOptions::salvages.
  bool salvages = false;
};

// A fact of an error that is a text; empty if there is none.
std::string fact_text(const Error& error, std::string_view name);

// Concurrency: any thread. Writers of one session wait for one another; readers wait for nobody once the
// session is loaded.
class SessionFiles {
 public:
  SessionFiles(JsonStoreContext& context, SessionKey key, const Path& sessions);

  const SessionKey& key() const { return key_; }

  // `changed` is called with the session as it is afterwards, before anybody else can change it again.
  using Changed = std::function<void(const Session&)>;
  Result<Revision> commit(const Commit& commit, const Changed& changed);
  Result<void> note(const Note& note);
  Result<SessionState> load();
  // Loads it if need be and gives the session. kNoSession.
  Result<Session> session(const Changed& changed);
  // Something of it is known to be damaged, so that not even its revision is certain.
  bool is_damaged() const;
  Result<std::vector<StoredTurn>> read_turns(const TurnRange& range);

  // Calls `found` with every record that matches the query, without its payload (tool calls: with it). With
  // kSessionDamaged these are those that can be read.
  Result<void> find_records(const RecordQuery& query, const std::function<void(Record)>& found);
  struct PayloadsRead {
    // The first that is damaged.
    std::optional<Error> damage;
    // Some are not there any more.
    bool moved = false;
  };
  // Fills in the payloads of records that find_records gave. One that is damaged, or was dropped since, gets
  // the number 0.
  Result<PayloadsRead> read_payloads(std::span<Record* const> records);

  // Adds to the report what was there. `gone` is called before anybody can create the session again.
  Result<void> erase(EraseReport& report, const std::function<void()>& gone);
  // Reads everything there is.
  Result<void> verify(VerifyReport& report);

 private:
  // A last line that is not whole, as a crash leaves one.
  struct TornLine {
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;
    // None if its beginning is not whole either.
    std::optional<TurnHead> head;
  };
  struct BranchFiles {
    std::string path;
    std::uint64_t order = 0;
    // Of transcript.jsonl, as far as it is whole.
    std::uint64_t size = 0;
    std::uint64_t turns = 0;
    std::uint64_t state_at = 0;
    // The newest of branch.json and the last line.
    Revision revision{};
    Time time{};
    // Names the line that is damaged.
    std::string damage;
    // While it is being loaded: the last line, if it looks torn.
    std::optional<TornLine> torn;
  };
  struct RecordPlace {
    std::uint64_t offset = 0;
    std::size_t item = 0;
    std::uint64_t bytes = 0;
    Time time{};
    std::string key;
    std::string name;
    bool is_outside = false;
  };
  struct RecordsFile {
    bool exists = false;
    FileHeader header;
    std::uint64_t size = 0;
    std::uint64_t live_bytes = 0;
    std::map<std::pair<std::string, std::uint64_t>, RecordPlace> live;
    std::map<std::string, std::uint64_t> heads;
    std::string damage;
    ToldBeside told;
  };
  using RecordsKey = std::pair<RecordKind, BranchId>;
  // A part of a transcript that is to be read: a copy, so that reading needs no lock.
  struct TranscriptPart {
    BranchId branch;
    // Of transcript.jsonl.
    std::string path;
    std::uint64_t size = 0;
    // Which messages; `visible` as in Segment.
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t visible = 0;
    // Of changes_begun_, when this was looked up.
    std::uint64_t seen = 0;
  };
  struct Plan;
  // While files are changed: readers that find something wrong meanwhile look again.
  class Changing;

  // Loading (session_files.cc). With write_mutex_ held.
  Result<void> ensure_loaded() TERTULIA_REQUIRES(write_mutex_);
  Result<void> read_all() TERTULIA_REQUIRES(write_mutex_);
  Result<void> read_branches() TERTULIA_REQUIRES(write_mutex_);
  Result<void> read_branch(const std::string& path) TERTULIA_REQUIRES(write_mutex_);
  Result<void> read_transcript_end(BranchHead& head, BranchFiles& files) TERTULIA_REQUIRES(write_mutex_);
  Result<void> read_session_file() TERTULIA_REQUIRES(write_mutex_);
  Result<BranchDocument> read_branch_file(const std::string& path) TERTULIA_REQUIRES(write_mutex_);
  // What the transcript of a branch tells of it, where its branch.json cannot be read. `is_whole` if its
  // turns have their place: false for a fork whose origin nobody knows.
  Result<BranchDocument> told_by_transcript(const std::string& path, bool& is_whole)
      TERTULIA_REQUIRES(write_mutex_);
  void read_lengths() TERTULIA_REQUIRES(write_mutex_);
  // What the lengths say against the file as it is; empty if they fit.
  std::string shorter_than_stored(const std::string& path, const RecordsFile& file) const
      TERTULIA_REQUIRES(write_mutex_);
  // After a change was stored. It may fail: then they say less than they could.
  void write_lengths(const Plan& plan) noexcept TERTULIA_REQUIRES(write_mutex_);
  // The size of the file as far as it is whole, after mending what a crash left. With `torn`, a torn line is
  // left there to be judged.
  Result<std::uint64_t> settle_ending(File& file, const std::string& path, std::string& damage,
                                      std::optional<TornLine>* torn = nullptr)
      TERTULIA_REQUIRES(write_mutex_);
  Result<void> cut_torn(const std::string& path, std::uint64_t at, std::uint64_t bytes)
      TERTULIA_REQUIRES(write_mutex_);
  Result<RecordsFile*> records_file(RecordKind kind, const BranchId& branch) TERTULIA_REQUIRES(write_mutex_);
  Result<RecordsFile> read_records_file(RecordKind kind, const BranchId& branch)
      TERTULIA_REQUIRES(write_mutex_);
  // The names in a directory, without what a crash left half made or half removed: that is removed.
  Result<std::vector<std::string>> swept(const std::string& directory) TERTULIA_REQUIRES(write_mutex_);
  void reset() TERTULIA_REQUIRES(write_mutex_);

  // What was stored and is not there (session_losses.cc). With write_mutex_ held.
  Result<void> settle_torn_lines() TERTULIA_REQUIRES(write_mutex_);
  Result<void> look_for_traces(const BranchId& branch) TERTULIA_REQUIRES(write_mutex_);
  // Somebody tells that the branch had so many turns; that a line had been stored.
  void branch_had(const BranchId& branch, std::uint64_t turns) TERTULIA_REQUIRES(write_mutex_);
  void line_was_stored(const BranchId& branch, const std::string& sentence) TERTULIA_REQUIRES(write_mutex_);
  void compare(const BranchId& branch, const ToldBeside& told) TERTULIA_REQUIRES(write_mutex_);
  // Makes sure that it is loaded and there. kNoSession; kSessionDamaged if nothing can be read.
  Result<void> ensure_there();
  Error damaged(const std::string& record, const std::string& why) const;
  void note_damage(const std::string& record, const std::string& why);

  // Writing (session_commit.cc). With write_mutex_ held.
  Result<void> load_streams(const std::vector<StreamId>& streams) TERTULIA_REQUIRES(write_mutex_);
  Result<void> check_writable() const TERTULIA_REQUIRES(write_mutex_);
  Result<Plan> plan_commit(const Commit& commit) TERTULIA_REQUIRES(write_mutex_);
  Result<void> plan_branches(Plan& plan) TERTULIA_REQUIRES(write_mutex_);
  Result<void> plan_branch(Plan& plan, const BranchId& id) TERTULIA_REQUIRES(write_mutex_);
  void plan_record(Plan& plan, const AddRecord& add) TERTULIA_REQUIRES(write_mutex_);
  static bool is_measured(RecordKind kind);
  static bool forgets(RecordKind kind, const RecordsFile& file, const std::vector<RecordItem>& items);
  void plan_record(Plan& plan, const DropRecords& drop) TERTULIA_REQUIRES(write_mutex_);
  Result<void> plan_records_files(Plan& plan) TERTULIA_REQUIRES(write_mutex_);
  ToldBeside told_by(const Plan& plan, const BranchId& branch) TERTULIA_REQUIRES(write_mutex_);
  Result<std::string> rewritten(const RecordsKey& id, const RecordsFile& file, RecordsFile& after,
                                const std::vector<RecordItem>& items, const ToldBeside& told)
      TERTULIA_REQUIRES(write_mutex_);
  void distrust_memory() TERTULIA_REQUIRES(write_mutex_);
  Result<void> carry_out(Plan& plan) TERTULIA_REQUIRES(write_mutex_);
  Result<void> create(Plan& plan) TERTULIA_REQUIRES(write_mutex_);
  void publish_files(Plan& plan) TERTULIA_REQUIRES(write_mutex_, state_mutex_);
  static void replay(RecordsFile& file, const std::vector<RecordItem>& items, std::uint64_t offset,
                     std::uint64_t bytes);

  // Reading (session_read.cc).
  Result<std::vector<TranscriptPart>> parts_of(const TurnRange& range);
  Result<void> read_part(const TranscriptPart& part, std::vector<StoredTurn>& turns);
  Result<std::string_view> line_in(LineReader& lines, std::uint64_t at, const std::string& record,
                                   std::uint64_t seen);
  // Where the line begins that holds the message `index`, or the one behind it.
  Result<std::uint64_t> find_line(LineReader& lines, const TranscriptPart& part);
  // Calls `each` with every turn of the branch's own that holds `needle` in its text. Stops at damage, also
  // at that of other turns.
  Result<void> for_each_turn(const TranscriptPart& part, std::string_view needle,
                             const std::function<Result<void>(TurnLine)>& each);
  std::vector<TranscriptPart> own_parts(const std::optional<BranchId>& branch) const;
  Result<void> whole_transcript(const BranchId& branch) const;
  Result<void> find_tool_calls(const RecordQuery& query, const std::function<void(Record)>& found);
  Result<void> load_records(RecordKind kind, const std::optional<BranchId>& branch);
  Result<void> find_tool_calls_in(TranscriptPart part, const RecordQuery& query,
                                  const std::function<void(Record)>& found);
  struct OpenRecords;
  struct PlaceNow;
  std::optional<PlaceNow> place_now(const Record& record) const;
  Result<void> read_payload(Record& record, std::unique_ptr<OpenRecords>& open);
  Result<void> read_payload_at(Record& record, const PlaceNow& place, std::unique_ptr<OpenRecords>& open);
  Result<void> read_asset(Record& record, const RecordItem& item, std::uint64_t seen);
  // kSessionDamaged; kNotFound if the files were changed since `seen`, so that it may be none.
  Error found_damage(const std::string& record, const Error& why, std::uint64_t seen);
  void wait_for_writer() { MutexLock lock(write_mutex_); }
  Path directory_path() const { return sessions_ / name_; }

  // Erasing and verifying (session_verify.cc).
  Result<void> load_all_records() TERTULIA_REQUIRES(write_mutex_);
  void count(EraseReport& report) TERTULIA_REQUIRES(write_mutex_);
  // The error as a problem of this session's, told once. `record` for one that does not say where.
  void add_problem(VerifyReport& report, const Error& error, const std::string& record) const;
  void verify_branch(const TranscriptPart& part, VerifyReport& report);
  void verify_records(RecordKind kind, const BranchId& branch, VerifyReport& report);
  Result<void> verify_names(VerifyReport& report);

  JsonStoreContext& context_;
  const SessionKey key_;
  // "sessions", and this session's directory name in it.
  const Path sessions_;
  const std::string name_;

  Mutex write_mutex_;
  SessionDirectory directory_ TERTULIA_GUARDED_BY(write_mutex_);
  std::atomic<bool> is_loaded_ = false;
  StoredLengths lengths_ TERTULIA_GUARDED_BY(write_mutex_);
  std::atomic<std::uint64_t> changes_begun_ = 0;
  std::atomic<std::uint64_t> changes_done_ = 0;

  // Changed with both mutexes held, so reading needs either one.
  mutable Mutex state_mutex_;
  bool exists_ = false;
  SessionImage image_;
  std::map<BranchId, BranchFiles> branches_;
  std::map<RecordsKey, RecordsFile> records_;
  // The first damage, as the error that a writer gets. `is_unreadable_`: readers of the session get it too.
  std::optional<Error> damage_;
  bool is_unreadable_ = false;
  // What is listed of it is not certain: a branch is not what it was, or missing.
  bool is_unsure_ = false;
  // The branch.json of a branch of which nothing is known, not even its name.
  std::string lost_branch_;
};

class SessionFiles::Changing {
 public:
  explicit Changing(SessionFiles& session) : session_(session) { ++session_.changes_begun_; }
  ~Changing() { ++session_.changes_done_; }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  SessionFiles& session_;
};

}  // namespace tertulia
