#include "session_files.h"

#include <algorithm>

#include "checked_text.h"
#include "names.h"

namespace tertulia {
namespace {

std::string transcript_path(const std::string& branch_path) {
  return branch_path + "/" + std::string(kTranscriptFile);
}

// Failures of reading that say something about the content, not about the machine.
bool is_about_content(ErrorCode code) {
  switch (code) {
    case ErrorCode::kStorageIo:
    case ErrorCode::kStorageFull:
    case ErrorCode::kNotPermitted:
    case ErrorCode::kNeedsVersion:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::string fact_text(const Error& error, std::string_view name) {
  const ErrorFact::Value* const value = error.fact(name);
  const auto* const text = value != nullptr ? std::get_if<std::string>(value) : nullptr;
  return text != nullptr ? *text : std::string();
}

SessionFiles::SessionFiles(JsonStoreContext& context, SessionKey key, const Path& sessions)
    : context_(context),
      key_(std::move(key)),
      sessions_(sessions),
      name_(directory_name(key_)),
      directory_(context.files, sessions / name_, place_of(key_, kPendingFile), context.health) {}

Error SessionFiles::damaged(const std::string& record, const std::string& why) const {
  return Error(ErrorCode::kSessionDamaged, "session '" + key_.session.text() + "': " + record +
                                               " is damaged (" + why + "); run `tertulia verify`")
      .with("record", record)
      .with("reason", why);
}

void SessionFiles::note_damage(const std::string& record, const std::string& why) {
  MutexLock lock(state_mutex_);
  if (!damage_) damage_ = damaged(record, why);
}

void SessionFiles::reset() {
  MutexLock lock(state_mutex_);
  exists_ = false;
  image_ = {};
  branches_.clear();
  records_.clear();
  damage_.reset();
  is_unreadable_ = false;
  is_unsure_ = false;
  lost_branch_.clear();
  lengths_.clear();
  directory_.forget_open_file();
}

Result<void> SessionFiles::ensure_loaded() {
  if (is_loaded_) return {};
  reset();
  Result<FileInfo> info = context_.files.info(directory_.path());
  if (!info && info.error().code() == ErrorCode::kNotFound) {
    is_loaded_ = true;
    return {};
  }
  if (!info) return std::move(info).error();
  exists_ = true;
  if (Result<void> done = read_all(); !done) {
    if (!is_about_content(done.error().code())) return done;
    note_damage(std::string(kSessionFile), done.error().message());
    is_unreadable_ = true;
  }
  is_loaded_ = true;
  return {};
}

Result<void> SessionFiles::read_all() {
  FileSystem& files = context_.files;
  if (Result<bool> finished = directory_.finish_pending(); !finished) {
    if (!is_about_content(finished.error().code())) return std::move(finished).error();
    note_damage(std::string(kPendingFile), finished.error().message());
    is_unreadable_ = true;
    return {};
  }
  if (Result<void> own = read_session_file(); !own) {
    if (!is_about_content(own.error().code()) || !context_.salvages) return own;
    // Its own fields are lost; everything else stands in other files, each with its checksum.
    note_damage(std::string(kSessionFile), own.error().message());
    image_.session = {.id = key_.session, .tenant = key_.tenant, .owner = key_.owner};
    is_unsure_ = true;
  }
  read_lengths();
  // A process that was killed may have left names that are there but not yet safe.
  TERTULIA_TRY(files.sync_directory(directory_.path()));
  TERTULIA_TRY(swept(""));
  TERTULIA_TRY(read_branches());
  for (const auto& [id, branch] : branches_) {
    if (branch.revision <= image_.session.revision) continue;
    image_.session.revision = branch.revision;
    image_.session.last_activity = branch.time;
  }
  TERTULIA_TRY(settle_torn_lines());
  Result<void> lineage = check_lineage(infos_of(image_.branches));
  if (!lineage) note_damage(std::string(kBranchesDirectory), lineage.error().message());
  return {};
}

Result<void> SessionFiles::read_session_file() {
  TERTULIA_TRY_AS(const std::string text, read_file(context_.files, directory_.at(kSessionFile)));
  TERTULIA_TRY_AS(Session session, read_session_document(text));
  if (tertulia::key_of(session) != key_) return Error(ErrorCode::kDamaged, "it belongs to another session");
  image_.session = std::move(session);
  return {};
}

Result<std::vector<std::string>> SessionFiles::swept(const std::string& directory) {
  const Path path = directory_.at(directory);
  TERTULIA_TRY_AS(std::vector<std::string> names, context_.files.list(path));
  std::erase_if(names, [&](const std::string& name) {
    const bool is_left_over = name.ends_with(kNewSuffix) || name.ends_with(kErasedSuffix);
    // Where it cannot be removed it does no harm.
    if (is_left_over) (void)remove_tree(context_.files, path / name);
    return is_left_over;
  });
  return names;
}

Result<void> SessionFiles::read_branches() {
  const std::string directory(kBranchesDirectory);
  TERTULIA_TRY(context_.files.sync_directory(directory_.at(directory)));
  TERTULIA_TRY_AS(const std::vector<std::string> names, swept(directory));
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    if (Result<void> done = read_branch(path); !done) {
      if (!is_about_content(done.error().code())) return done;
      // Without this branch the session is not what it was.
      note_damage(path + "/" + std::string(kBranchFile), done.error().message());
      is_unreadable_ = !context_.salvages;
      is_unsure_ = true;
      lost_branch_ = path + "/" + std::string(kBranchFile);
    }
  }
  std::ranges::sort(image_.branches, {}, [&](const BranchHead& head) { return branches_[head.id].order; });
  return {};
}

Result<BranchDocument> SessionFiles::read_branch_file(const std::string& path) {
  const std::string file = path + "/" + std::string(kBranchFile);
  TERTULIA_TRY_AS(const std::string text, read_file(context_.files, directory_.at(file)));
  return read_branch_document(key_, path, text);
}

Result<void> SessionFiles::read_branch(const std::string& path) {
  TERTULIA_TRY(context_.files.sync_directory(directory_.at(path)));
  Result<BranchDocument> read = read_branch_file(path);
  bool is_whole = true;
  const std::string unread = path + "/" + std::string(kBranchFile);
  if (!read) {
    if (!is_about_content(read.error().code()) || !context_.salvages) return std::move(read).error();
    const Error why = read.error();
    read = told_by_transcript(path, is_whole);
    if (!read) return why;
    note_damage(unread, why.message());
    is_unsure_ = true;
  }
  BranchDocument document = *std::move(read);
  BranchHead& head = document.head;
  head.message_count = own_begin(head);
  BranchFiles files{
      .path = path, .order = document.order, .revision = document.revision, .time = document.time};
  if (!is_whole) {
    files.damage = unread;
  } else if (Result<void> done = read_transcript_end(head, files); !done) {
    if (!is_about_content(done.error().code())) return done;
    files.damage = transcript_path(path);
    note_damage(files.damage, done.error().message());
  }
  const BranchId id = head.id;
  branches_.emplace(id, std::move(files));
  image_.branches.push_back(std::move(head));
  branch_had(id, document.turns);
  return {};
}

Result<void> SessionFiles::read_transcript_end(BranchHead& head, BranchFiles& files) {
  const std::string path = transcript_path(files.path);
  const std::string place = place_of(key_, path);
  TERTULIA_TRY_AS(std::unique_ptr<File> file, context_.files.open(directory_.at(path), OpenMode::kRead));
  TERTULIA_TRY_AS(files.size, settle_ending(*file, path, files.damage, &files.torn));
  LineReader lines(*file, files.size);
  TERTULIA_TRY_AS(std::optional<std::string_view> first, lines.line_at(0));
  if (!first) return Error(ErrorCode::kDamaged, "the first line is missing");
  TERTULIA_TRY_AS(const FileHeader header, read_header_line(key_, path, *first));
  if (header.branch != head.id) return Error(ErrorCode::kDamaged, "it belongs to another branch");
  const std::uint64_t header_end = first->size() + 1;
  if (files.size <= header_end) return {};

  TERTULIA_TRY_AS(const std::uint64_t last, lines.start_before(files.size));
  TERTULIA_TRY_AS(std::optional<std::string_view> line, lines.line_at(last));
  const std::optional<TurnHead> turn = line ? read_turn_head(*line) : std::nullopt;
  if (!turn) return Error(ErrorCode::kDamaged, "the last line holds no turn");
  files.turns = turn->number;
  files.state_at = turn->state_at;
  head.message_count = turn->end();
  if (turn->revision <= files.revision) {
    // branch.json was written later, or with it: the state stands there.
    files.state_at = 0;
    return {};
  }
  files.revision = turn->revision;
  files.time = turn->time;
  head.last_activity = turn->time;
  if (turn->state_at == 0) return {};
  TERTULIA_TRY_AS(line, lines.line_at(turn->state_at));
  if (!line) return Error(ErrorCode::kDamaged, "the line with the branch's state is missing");
  TERTULIA_TRY_AS(TurnLine state, read_turn_line(key_, path, head.id, *line));
  if (!state.append.state) return Error(ErrorCode::kDamaged, "the line has no state of the branch");
  head.state = *std::move(state.append.state);
  return {};
}

Result<void> SessionFiles::cut_torn(const std::string& path, std::uint64_t at, std::uint64_t bytes) {
  TERTULIA_TRY(directory_.mend(path, at, {}));
  context_.mended({.session = key_.text(),
                   .record = path,
                   .sentence = "the last line was torn by a crash and was cut off (" + std::to_string(bytes) +
                               " bytes); nothing tells that it had been stored"});
  return {};
}

Result<std::uint64_t> SessionFiles::settle_ending(File& file, const std::string& path, std::string& damage,
                                                  std::optional<TornLine>* torn) {
  const std::string place = place_of(key_, path);
  TERTULIA_TRY_AS(std::uint64_t size, file.size());
  for (bool is_last = true;; is_last = false) {
    LineReader lines(file, size);
    TERTULIA_TRY_AS(const FileEnding found, examine_ending(lines, place));
    if (found.ending == Ending::kWhole) break;
    if (found.last_line == 0) return Error(ErrorCode::kDamaged, "the first line is not whole");
    if (is_last && found.ending == Ending::kUnbroken) {
      TERTULIA_TRY(directory_.mend(path, size, "\n"));
      return size + 1;
    }
    if (is_last && found.ending == Ending::kTorn) {
      const std::uint64_t bytes = size - found.last_line;
      if (torn != nullptr) {
        TERTULIA_TRY_AS(const std::string_view rest, lines.rest_from(found.last_line));
        *torn = TornLine{.at = found.last_line, .bytes = bytes, .head = read_turn_head(rest)};
      } else {
        TERTULIA_TRY(cut_torn(path, found.last_line, bytes));
      }
      size = found.last_line;
      continue;
    }
    // Only the last line can be torn. Everything before it had been stored, so it stays as it is.
    if (damage.empty()) {
      damage = path + " at byte " + std::to_string(found.last_line);
      note_damage(damage, "the line does not fit its checksum");
    }
    size = found.last_line;
  }
  // The last line may have been written by a process that was killed before it could sync.
  Result<void> synced = file.sync();
  if (!synced) return context_.health.failed(std::move(synced).error());
  return size;
}

Result<SessionFiles::RecordsFile*> SessionFiles::records_file(RecordKind kind, const BranchId& branch) {
  const RecordsKey id{kind, branch};
  if (const auto found = records_.find(id); found != records_.end()) return &found->second;
  RecordsFile file;
  if (branch.empty() || branches_.contains(branch)) {
    Result<RecordsFile> read = read_records_file(kind, branch);
    if (!read) {
      if (!is_about_content(read.error().code())) return std::move(read).error();
      file.damage = records_path(kind, branch);
      note_damage(file.damage, read.error().message());
    } else {
      file = *std::move(read);
    }
    compare(branch, file.told);
  }
  MutexLock lock(state_mutex_);
  return &records_.emplace(id, std::move(file)).first->second;
}

Result<SessionFiles::RecordsFile> SessionFiles::read_records_file(RecordKind kind, const BranchId& branch) {
  const std::string path = records_path(kind, branch);
  RecordsFile file;
  file.header = {.file = std::string(name_of(kind)), .branch = branch};
  Result<std::unique_ptr<File>> opened = context_.files.open(directory_.at(path), OpenMode::kRead);
  if (!opened) {
    if (opened.error().code() != ErrorCode::kNotFound) return std::move(opened).error();
    if (!lengths_.contains(path)) return file;
    return Error(ErrorCode::kDamaged, "it is missing, and had been stored");
  }
  file.exists = true;
  std::optional<TornLine> torn;
  TERTULIA_TRY_AS(file.size, settle_ending(**opened, path, file.damage, &torn));
  LineReader lines(**opened, file.size);
  for (std::uint64_t at = 0; at < file.size;) {
    TERTULIA_TRY_AS(std::optional<std::string_view> line, lines.line_at(at));
    if (!line) return Error(ErrorCode::kDamaged, "a line does not end");
    const std::uint64_t end = at + line->size() + 1;
    if (at == 0) {
      TERTULIA_TRY_AS(file.header, read_header_line(key_, path, *line));
      file.heads = file.header.heads;
      file.told = file.header.told;
    } else {
      Result<RecordLine> read = read_record_line(key_, path, file.header, *line);
      if (!read) {
        // What stands before it can still be read.
        file.damage = path + " at byte " + std::to_string(at);
        note_damage(file.damage, read.error().message());
        file.size = at;
        break;
      }
      file.told.add(read->told);
      replay(file, read->items, at, end - at);
    }
    at = end;
  }
  if (const std::string shorter = shorter_than_stored(path, file); !shorter.empty()) {
    if (file.damage.empty()) file.damage = path;
    note_damage(file.damage, shorter);
  } else if (torn && file.damage.empty()) {
    TERTULIA_TRY(cut_torn(path, torn->at, torn->bytes));
  }
  return file;
}

void SessionFiles::replay(RecordsFile& file, const std::vector<RecordItem>& items, std::uint64_t offset,
                          std::uint64_t bytes) {
  const std::uint64_t share = bytes / items.size();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Record& record = items[i].record;
    const std::string& scope = record.stream.scope;
    if (items[i].is_drop) {
      const auto first = file.live.lower_bound({scope, 0});
      const auto last = file.live.upper_bound({scope, record.number});
      for (auto dropped = first; dropped != last; ++dropped) file.live_bytes -= dropped->second.bytes;
      file.live.erase(first, last);
      continue;
    }
    file.heads[scope] = record.number;
    file.live[{scope, record.number}] = {.offset = offset,
                                         .item = i,
                                         .bytes = share,
                                         .time = record.time,
                                         .key = record.key,
                                         .name = record.name,
                                         .is_outside = items[i].is_outside};
    file.live_bytes += share;
  }
}

Result<void> SessionFiles::ensure_there() {
  if (!is_loaded_) {
    MutexLock lock(write_mutex_);
    TERTULIA_TRY(ensure_loaded());
  }
  MutexLock lock(state_mutex_);
  if (!exists_) return no_session(key_.session);
  if (is_unreadable_) return *damage_;
  return {};
}

Result<SessionState> SessionFiles::load() {
  TERTULIA_TRY(ensure_there());
  MutexLock lock(state_mutex_);
  if (!exists_) return no_session(key_.session);
  SessionState state{.session = image_.session, .branches = image_.branches};
  if (damage_) state.damage = fact_text(*damage_, "record");
  return state;
}

bool SessionFiles::is_damaged() const {
  MutexLock lock(state_mutex_);
  return damage_.has_value();
}

Result<Session> SessionFiles::session(const Changed& changed) {
  MutexLock lock(write_mutex_);
  TERTULIA_TRY(ensure_loaded());
  if (!exists_) return no_session(key_.session);
  if (is_unreadable_ || is_unsure_) return *damage_;
  changed(image_.session);
  return image_.session;
}

}  // namespace tertulia
