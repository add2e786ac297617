// import_archive: the same pass twice, first against the rules, then against the store.
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "tertulia/store/archive.h"

#include "archive_forms.h"
#include "archive_lines.h"
#include "import_problems.h"
#include "import_trust.h"
#include "session_replay.h"

namespace tertulia {

namespace {

// The items of an archive, with everything about its lines checked: sums, order, counts and the hash.
class ItemReader {
 public:
  explicit ItemReader(File& file) : lines_(file) {}

  // Nothing behind the end line.
  Result<std::optional<ArchiveItem>> next() {
    std::string line;
    const auto more = lines_.next(line);
    if (!more) {
      stop_ = true;
      return more.error();
    }
    if (!*more) return end_of_file();
    if (ended_) return damaged("there is something behind the end of the archive");
    auto item = item_of(line);
    hash_.add(line);
    hash_.add("\n");
    bytes_ += line.size() + 1;
    if (!item) {
      broken_ = true;
      if (lines_.number() == 1) stop_ = true;
      return std::move(item).error();
    }
    TERTULIA_TRY(count(*item));
    return std::optional(*std::move(item));
  }

  std::string place() const { return "line " + std::to_string(lines_.number()); }
  std::uint64_t bytes() const { return bytes_; }
  const ArchiveCounts& counts() const { return counts_; }
  // True if there is no sense in reading on after an error.
  bool stopped() const { return stop_; }

 private:
  static Error damaged(std::string sentence) { return Error(ErrorCode::kDamaged, std::move(sentence)); }

  Result<std::optional<ArchiveItem>> end_of_file() {
    stop_ = true;
    if (ended_) return std::optional<ArchiveItem>();
    if (lines_.number() == 0) return Error(ErrorCode::kEmptyBody, "the archive is empty");
    return damaged("the archive is cut off: its end line is missing");
  }

  Result<ArchiveItem> item_of(const std::string& line) {
    if (!lines_.complete()) return damaged("the line is cut off");
    TERTULIA_TRY_AS(const std::string_view object, checked_line(line));
    TERTULIA_TRY_AS(ArchiveItem item, parse_item(object));
    if (std::holds_alternative<ArchiveHeader>(item) != (lines_.number() == 1)) {
      return Error(ErrorCode::kForeignData,
                   "an archive begins with its header line, which stands there once");
    }
    return item;
  }

  Result<void> count(const ArchiveItem& item) {
    if (std::holds_alternative<Session>(item)) ++counts_.sessions;
    if (std::holds_alternative<ArchivedBranch>(item)) ++counts_.branches;
    if (std::holds_alternative<Record>(item)) ++counts_.records;
    if (const auto* turn = std::get_if<ArchivedTurn>(&item)) {
      ++counts_.turns;
      counts_.messages += turn->turn.messages().size();
    }
    if (const auto* end = std::get_if<ArchiveEnd>(&item)) return check_end(*end);
    before_ = hash_;
    counts_.bytes = bytes_;
    return {};
  }

  Result<void> check_end(const ArchiveEnd& end) {
    ended_ = true;
    if (broken_) return {};  // has been said more exactly
    if (end.sha256 != before_.hex())
      return damaged("the hash of the archive is another one: lines were changed");
    if (end.counts != counts_) return damaged("the counts of the end line are not those of the archive");
    return {};
  }

  ArchiveLineReader lines_;
  Sha256 hash_;
  Sha256 before_;  // up to and with the line before
  ArchiveCounts counts_;
  std::uint64_t bytes_ = 0;
  bool ended_ = false;
  bool broken_ = false;
  bool stop_ = false;
};

// Puts the items of one session together and replays them.
class SessionImport {
 public:
  SessionImport(ReplaySink& sink, SessionKey key, Session session)
      : sink_(sink), key_(std::move(key)), session_(std::move(session)) {}

  Result<void> add(ArchivedBranch branch) {
    if (replay_) return Error(ErrorCode::kDamaged, "a branch stands behind the turns of its session");
    branches_.push_back(std::move(branch.head));
    return {};
  }
  Result<void> add(ArchivedTurn turn) {
    TERTULIA_TRY(begin());
    TERTULIA_TRY(is_new(turn.turn.id().uuid(), "turn"));
    for (const Message& message : turn.turn.messages()) TERTULIA_TRY(is_new(message.id().uuid(), "message"));
    return replay_->add(std::move(turn));
  }
  Result<void> add(Record record) {
    TERTULIA_TRY(begin());
    return replay_->add(std::move(record));
  }
  Result<void> finish() {
    TERTULIA_TRY(begin());
    return replay_->finish();
  }
  const SessionKey& key() const { return key_; }

 private:
  Result<void> begin() {
    if (replay_) return {};
    replay_.emplace(sink_, key_, std::move(session_), std::move(branches_));
    return replay_->begin();
  }
  Result<void> is_new(const Uuid& id, std::string_view what) {
    if (id.is_nil() || ids_.insert(id).second) return {};
    return Error(ErrorCode::kDuplicateKey,
                 "the id of " + std::string(what) + " " + id.text() + " is there twice");
  }

  ReplaySink& sink_;
  SessionKey key_;
  Session session_;
  std::vector<BranchHead> branches_;
  std::optional<SessionReplay> replay_;
  std::unordered_set<Uuid> ids_;
};

class ArchiveImport {
 public:
  ArchiveImport(Store& store, File& file, const ImportTarget& target, const ArchiveProgress& progress)
      : store_(store), file_(file), target_(target), progress_(progress) {}

  Result<void> check() {
    ImportProblems problems;
    ItemReader reader(file_);
    CheckSink sink;
    std::optional<SessionImport> session;
    const auto note = [&](const Error& error) {
      problems.add(reader.place(), error);
      session.reset();
      static_cast<void>(sink.end());
    };
    while (!problems.full()) {
      auto item = reader.next();
      if (!item) note(item.error());
      if (reader.stopped()) break;
      if (!item || !*item) continue;
      if (auto done = take(**item, sink, session); !done) note(done.error());
      report(reader, 0);
    }
    checked_bytes_ = reader.bytes();
    return problems.verdict();
  }

  Result<ImportReport> write() {
    ItemReader reader(file_);
    ImportRollback rollback(store_);
    StoreSink sink(store_);
    std::optional<SessionImport> session;
    writing_ = &rollback;
    reported_ = 0;
    trust_.emplace(target_.trust);
    taken_ = {};
    for (;;) {
      TERTULIA_TRY_AS(auto item, reader.next());
      if (!item) break;
      TERTULIA_TRY(take(*item, sink, session));
      report(reader, checked_bytes_);
    }
    rollback.keep_all();
    taken_.bytes = reader.bytes();
    return ImportReport{.counts = taken_, .left_out = trust_->left_out()};
  }

 private:
  Result<void> take(ArchiveItem& item, ReplaySink& sink, std::optional<SessionImport>& session) {
    const bool between = std::holds_alternative<Session>(item) || std::holds_alternative<ArchiveEnd>(item);
    if (between && session) {
      auto done = session->finish();
      const std::string name = session->key().session.text();
      session.reset();
      if (!done) return std::move(done).error().in("session '" + name + "'");
    }
    if (auto* begun = std::get_if<Session>(&item)) return open(std::move(*begun), sink, session);
    // What follows a session that was found to be bad is passed over.
    if (!session) return {};
    if (auto* branch = std::get_if<ArchivedBranch>(&item)) {
      trust_->strip(branch->head);
      ++taken_.branches;
      return session->add(std::move(*branch));
    }
    if (auto* turn = std::get_if<ArchivedTurn>(&item)) {
      ++taken_.turns;
      taken_.messages += turn->turn.messages().size();
      return session->add(std::move(*turn));
    }
    auto* record = std::get_if<Record>(&item);
    if (record == nullptr || !trust_->takes(*record)) return {};
    ++taken_.records;
    return session->add(std::move(*record));
  }

  Result<void> open(Session session, ReplaySink& sink, std::optional<SessionImport>& open) {
    if (!trust_->takes(session)) return {};
    trust_->strip(session);
    ++taken_.sessions;
    TERTULIA_TRY_AS(SessionKey key, key_in(target_, session));
    if (writing_ != nullptr) {
      TERTULIA_TRY(writing_->begin(key));
    } else {
      if (!seen_.insert(key).second) {
        return Error(ErrorCode::kDuplicateKey, "session '" + key.session.text() + "' is there twice");
      }
      TERTULIA_TRY(check_free(store_, key));
    }
    open.emplace(sink, std::move(key), std::move(session));
    return {};
  }

  void report(const ItemReader& reader, std::uint64_t before) {
    if (!progress_ || reader.bytes() - reported_ < (1U << 18U)) return;
    reported_ = reader.bytes();
    ArchiveCounts counts = reader.counts();
    counts.bytes = before + reader.bytes();
    progress_(counts);
  }

  Store& store_;
  File& file_;
  const ImportTarget& target_;
  const ArchiveProgress& progress_;
  std::set<SessionKey> seen_;
  ImportRollback* writing_ = nullptr;
  std::optional<ImportTrust> trust_{target_.trust};
  ArchiveCounts taken_;
  std::uint64_t checked_bytes_ = 0;
  std::uint64_t reported_ = 0;
};

}  // namespace

Result<ImportReport> import_archive(Store& store, File& archive, const ImportTarget& target,
                                    const ArchiveProgress& progress) {
  if (target.tenant.empty())
    return Error(ErrorCode::kMissingField, "name the tenant to import for").with("param", "tenant");
  ArchiveImport import(store, archive, target, progress);
  TERTULIA_TRY(import.check());
  return import.write();
}

}  // namespace tertulia
