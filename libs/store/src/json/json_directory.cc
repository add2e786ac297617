#include "json_directory.h"

#include <algorithm>
#include <new>
#include <utility>

#include "tertulia/store/memory_guard.h"

#include "names.h"
#include "rooted_files.h"
#include "store_marker.h"

namespace tertulia {
namespace {

// Of the first line of a transcript, which holds four ids.
constexpr std::size_t kMostHeaderBytes = 4'096;

}  // namespace

JsonDirectory::JsonDirectory(std::unique_ptr<FileSystem> owned, FileSystem& files, Path directory,
                             const JsonStoreOptions& options)
    : owned_(std::move(owned)),
      files_(files),
      directory_(std::move(directory)),
      sessions_(directory_ / kSessionsDirectory),
      capacity_(std::max<std::size_t>(options.sessions_in_memory, 1)),
      log_(options.log.component("json store")),
      room_(files_, directory_),
      context_{.files = files_,
               .health = health_,
               .mended = [this](Problem problem) { note_mended(std::move(problem)); },
               .salvages = options.salvages} {}

Result<std::unique_ptr<JsonDirectory>> JsonDirectory::open(Env& env, const Path& directory,
                                                           const JsonStoreOptions& options) {
  const bool is_real = &env.files() == &real_env().files();
  Path path = is_real ? std::filesystem::absolute(directory).lexically_normal() : directory;
  if (!path.has_filename() && path.has_parent_path()) path = path.parent_path();
  TERTULIA_TRY(make_store_directory(env.files(), path));
  std::unique_ptr<FileSystem> owned;
  if (is_real) {
    TERTULIA_TRY_AS(owned, make_rooted_files(env.files(), path));
  }
  FileSystem& files = owned ? *owned : env.files();
  std::unique_ptr<JsonDirectory> store(new JsonDirectory(std::move(owned), files, std::move(path), options));
  if (Result<void> ready = store->prepare(); !ready) {
    return std::move(ready).error().in("open JSON store '" + store->directory_.string() + "'");
  }
  return store;
}

Result<void> JsonDirectory::prepare() {
  // Looked at before the lock makes a file in what may be somebody else's directory.
  TERTULIA_TRY(check_store_directory(files_, directory_));
  TERTULIA_TRY_AS(lock_, files_.lock(directory_ / kLockFile, "tertulia JSON store", LockReach::kDirectory));
  TERTULIA_TRY(initialise_store_directory(files_, directory_));
  TERTULIA_TRY(files_.sync_directory(sessions_));
  TERTULIA_TRY_AS(const std::vector<std::string> names, files_.list(sessions_));
  for (const std::string& name : names) {
    // A session that was never whole, or one whose erasure was interrupted.
    if (name.ends_with(kNewSuffix) || name.ends_with(kErasedSuffix)) {
      TERTULIA_TRY(remove_tree(files_, sessions_ / name));
    }
  }
  return {};
}

void JsonDirectory::note_mended(Problem problem) {
  log_.warn("a torn line was cut off", {{"session", problem.session}, {"record", problem.record}});
  MutexLock lock(mended_mutex_);
  mended_.push_back(std::move(problem));
}

std::shared_ptr<SessionFiles> JsonDirectory::files_of(const SessionKey& key) {
  MutexLock lock(cache_mutex_);
  if (const auto found = cache_.find(key); found != cache_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return recent_.front();
  }
  std::shared_ptr<SessionFiles> made = std::make_shared<SessionFiles>(context_, key, sessions_);
  // One that is in only one of the two would be made a second time.
  const auto place = cache_.emplace(key, recent_.end()).first;
  try {
    recent_.push_front(made);
  } catch (const std::bad_alloc&) {
    cache_.erase(place);
    throw;
  }
  place->second = recent_.begin();
  // Only what nobody is working with may go: there must not be two objects for one directory.
  for (auto oldest = std::prev(recent_.end()); cache_.size() > capacity_ && oldest != recent_.begin();) {
    const auto candidate = oldest--;
    if (candidate->use_count() > 1) continue;
    cache_.erase((*candidate)->key());
    recent_.erase(candidate);
  }
  return made;
}

// Not for ensure_indexed, which holds the lock already.
SessionFiles::Changed JsonDirectory::indexing() {
  return [this](const Session& session) {
    try {
      index_.put(summary_of(session));
    } catch (const std::bad_alloc&) {
      // What was committed stays committed.
      distrust_index();
    }
  };
}

// It is read anew when somebody asks for it.
void JsonDirectory::distrust_index() {
  MutexLock lock(index_mutex_);
  is_indexed_ = false;
}

Result<Revision> JsonDirectory::commit(Commit commit) {
  return watched(files_of(commit.key)->commit(commit, indexing()));
}

Result<void> JsonDirectory::note(Note note) { return watched(files_of(note.key)->note(note)); }

Result<void> JsonDirectory::check_writable() {
  TERTULIA_TRY(health_.check());
  return room_.check();
}

Result<SessionState> JsonDirectory::load(const SessionKey& key) { return files_of(key)->load(); }

Result<std::vector<StoredTurn>> JsonDirectory::read_turns(const SessionKey& key, const TurnRange& range) {
  return files_of(key)->read_turns(range);
}

Result<std::vector<std::string>> JsonDirectory::session_names() {
  TERTULIA_TRY_AS(std::vector<std::string> names, files_.list(sessions_));
  std::erase_if(names, [](const std::string& name) {
    return name.ends_with(kNewSuffix) || name.ends_with(kErasedSuffix);
  });
  return names;
}

std::optional<SessionKey> JsonDirectory::owner_of(const std::string& name) {
  Result<std::string> text = read_file(files_, sessions_ / name / kSessionFile);
  if (!text) return std::nullopt;
  Result<Session> session = read_session_document(*text);
  if (!session) return std::nullopt;
  SessionKey key = key_of(*session);
  if (directory_name(key) != name) return std::nullopt;
  return key;
}

std::optional<SessionKey> JsonDirectory::owner_of_damaged(const std::string& name) {
  const Path directory = sessions_ / name;
  const auto belongs_here = [&](const std::optional<SessionKey>& key) {
    return key && directory_name(*key) == name;
  };
  if (const Result<std::string> text = read_file(files_, directory / kSessionFile)) {
    std::optional<SessionKey> key = key_in_session_document(*text);
    if (belongs_here(key)) return key;
  }
  // Each file of lines says whose it is.
  const Path branches = directory / kBranchesDirectory;
  for (const std::string& branch : files_.list(branches).value_or({})) {
    const Result<std::unique_ptr<File>> file =
        files_.open(branches / branch / kTranscriptFile, OpenMode::kRead);
    const Result<std::string> begin =
        file ? (*file)->read_at(0, kMostHeaderBytes) : Result<std::string>(file.error());
    if (!begin) continue;
    std::optional<SessionKey> key = key_in_header_line(std::string_view(*begin).substr(0, begin->find('\n')));
    if (belongs_here(key)) return key;
  }
  return std::nullopt;
}

void JsonDirectory::claim_damaged(const TenantId& tenant, const OwnerId& owner) {
  MutexLock lock(index_mutex_);
  std::erase_if(unclaimed_, [&](const std::string& name) {
    const Result<SessionId> id = SessionId::parse(name.substr(0, name.rfind('~')));
    if (!id) return false;
    const SessionKey key{tenant, owner, *id};
    if (directory_name(key) != name) return false;
    index_.put({.key = key, .damaged = true});
    return true;
  });
}

Result<void> JsonDirectory::ensure_indexed() {
  MutexLock lock(index_mutex_);
  if (is_indexed_) return {};
  unclaimed_.clear();
  index_.clear();
  TERTULIA_TRY_AS(const std::vector<std::string> names, session_names());
  for (const std::string& name : names) {
    std::optional<SessionKey> key = owner_of(name);
    Result<Session> session =
        key ? files_of(*key)->session([this](const Session& found) { index_.put(summary_of(found)); })
            : Result<Session>(Error(ErrorCode::kSessionDamaged, "its session.json cannot be read"));
    if (session && files_of(*key)->is_damaged()) {
      SessionSummary summary = summary_of(*session);
      summary.damaged = true;
      index_.put(summary);
    }
    if (session || session.error().code() == ErrorCode::kNoSession) continue;
    if (session.error().code() != ErrorCode::kSessionDamaged) return std::move(session).error();
    log_.error("a session is damaged", {{"directory", name}});
    if (!key) key = owner_of_damaged(name);
    if (key) {
      index_.put({.key = *std::move(key), .damaged = true});
    } else {
      unclaimed_.push_back(name);
    }
  }
  is_indexed_ = true;
  return {};
}

Result<SessionPage> JsonDirectory::list(const SessionQuery& query) {
  TERTULIA_TRY(check_query(query));
  TERTULIA_TRY(ensure_indexed());
  for (const OwnerId& owner : query.owner ? std::vector{*query.owner} : index_.owners_of(query.tenant)) {
    claim_damaged(query.tenant, owner);
  }
  if (query.unfinished) return list_unfinished(query);
  if (query.tenant.empty()) return page_of(index_.all(), query);
  return index_.list(query);
}

// Looks into every session: what is unfinished stands in files of their own.
Result<SessionPage> JsonDirectory::list_unfinished(const SessionQuery& query) {
  std::vector<SessionSummary> found;
  for (const SessionSummary& summary : index_.all()) {
    if (!matches(query, summary)) continue;
    bool journal = false;
    const RecordQuery journals{.tenant = summary.key.tenant,
                               .owner = summary.key.owner,
                               .session = summary.key.session,
                               .kind = RecordKind::kJournal};
    const Result<void> read =
        files_of(summary.key)->find_records(journals, [&](const Record&) { journal = true; });
    // Damage is told by whoever opens the session, and must not hide the others.
    if (read && journal) found.push_back(summary);
  }
  return page_of(std::move(found), query);
}

Result<EraseReport> JsonDirectory::erase(const EraseScope& scope) {
  TERTULIA_TRY(check_scope(scope));
  std::vector<SessionKey> keys;
  if (scope.session) {
    keys.push_back({scope.tenant, scope.owner, *scope.session});
  } else {
    TERTULIA_TRY(ensure_indexed());
    claim_damaged(scope.tenant, scope.owner);
    keys = index_.of_owner(scope.tenant, scope.owner);
  }
  EraseReport report;
  try {
    for (const SessionKey& key : keys) {
      TERTULIA_TRY(watched(files_of(key)->erase(report, [&] { index_.remove(key); })));
    }
  } catch (const std::bad_alloc&) {
    distrust_index();
    throw;
  }
  return report;
}

Result<VerifyReport> JsonDirectory::verify() {
  VerifyReport report;
  TERTULIA_TRY_AS(const std::vector<std::string> names, session_names());
  for (const std::string& name : names) {
    std::optional<SessionKey> key = owner_of(name);
    if (!key) key = owner_of_damaged(name);
    if (key) {
      TERTULIA_TRY(files_of(*key)->verify(report));
      continue;
    }
    const auto there = files_.info(sessions_ / name);
    // Gone meanwhile.
    if (!there && there.error().code() == ErrorCode::kNotFound) continue;
    if (!there) {
      report.problems.push_back({.code = there.error().code(),
                                 .session = name,
                                 .record = {},
                                 .sentence = "it cannot be looked at: " + there.error().message()});
      continue;
    }
    report.problems.push_back(
        {.code = ErrorCode::kSessionDamaged,
         .session = name,
         .record = std::string(kSessionFile),
         .sentence = "it is missing, damaged or another session's, and no other file here tells whose "
                     "session this is; restore the directory from a backup, or remove it"});
  }
  MutexLock lock(mended_mutex_);
  report.notices = std::exchange(mended_, {});
  return report;
}

Result<std::unique_ptr<Store>> open_json_store(Env& env, const Path& directory,
                                               const JsonStoreOptions& options) {
  if (options.threads.readers == 0 || options.threads.writers == 0 || options.threads.queue == 0)
    return Error(ErrorCode::kBadConfig, "a store needs a thread that reads, one that writes, and a queue");
  TERTULIA_TRY_AS(std::unique_ptr<JsonDirectory> store, JsonDirectory::open(env, directory, options));
  return guarded<std::unique_ptr<Store>>(
      [&]() -> Result<std::unique_ptr<Store>> { return run_on_threads(std::move(store), options.threads); });
}

}  // namespace tertulia
