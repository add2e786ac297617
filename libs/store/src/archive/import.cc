#include "tertulia/store/import.h"

#include <array>
#include <set>
#include <utility>

#include "tertulia/base/nearest.h"

#include "foreign.h"
#include "import_problems.h"
#include "session_replay.h"

namespace tertulia {

namespace {

constexpr std::array<std::string_view, 4> kNames = {"archive", "chatgpt", "oasst", "layout"};

Result<void> read_all(Env& env, const Path& path, ImportFormat format, const ForeignVisit& visit) {
  switch (format) {
    case ImportFormat::kArchive:
      break;
    case ImportFormat::kChatGpt:
      return read_chatgpt(env.files(), path, visit);
    case ImportFormat::kOasst:
      return read_oasst(env.files(), path, visit);
    case ImportFormat::kLayout:
      return read_layout(env.files(), path, visit);
  }
  return {};
}

Result<void> replay(ReplaySink& sink, const SessionKey& key, BuiltSession built) {
  SessionReplay replay(sink, key, std::move(built.session), std::move(built.branches));
  TERTULIA_TRY(replay.begin());
  for (ArchivedTurn& turn : built.turns) TERTULIA_TRY(replay.add(std::move(turn)));
  return replay.finish();
}

class ForeignImport {
 public:
  ForeignImport(Store& store, Env& env, const Path& path, ImportFormat format, const ImportTarget& target,
                const ArchiveProgress& progress)
      : store_(store),
        env_(env),
        path_(path),
        format_(format),
        target_(target),
        progress_(progress),
        ids_(env.clock(), env.random()) {}

  Result<void> check() {
    ImportProblems problems;
    const auto visit = [&](const std::string& place, Result<ForeignSession> session) {
      const Result<void> done = session ? check_one(*session) : Result<void>(session.error());
      if (!done) problems.add(place, done.error());
      if (session) note_adaptations(*session);
      return !problems.full();
    };
    if (auto done = read_all(env_, path_, format_, visit); !done) {
      // A file that cannot be read has no problems of its own.
      if (problems.empty() && done.error().code() != ErrorCode::kBadJson) return done;
      problems.add("the file", done.error());
    }
    if (problems.empty() && seen_.empty()) {
      return Error(ErrorCode::kEmptyBody, "there is no conversation in '" + path_.string() + "'");
    }
    return problems.verdict();
  }

  Result<ImportReport> write() {
    ImportRollback rollback(store_);
    StoreSink sink(store_);
    Result<void> written;
    const auto visit = [&](const std::string& place, Result<ForeignSession> session) {
      written = session ? write_one(*session, sink, rollback) : Result<void>(session.error());
      if (!written) written = std::move(written).error().in(place);
      return written.ok();
    };
    TERTULIA_TRY(read_all(env_, path_, format_, visit));
    TERTULIA_TRY(written);
    rollback.keep_all();
    return std::move(report_);
  }

 private:
  Result<std::pair<SessionKey, BuiltSession>> build(ForeignSession& session) {
    TERTULIA_TRY_AS(BuiltSession built, build_session(session, ids_));
    TERTULIA_TRY_AS(SessionKey key, key_in(target_, built.session));
    return std::pair(std::move(key), std::move(built));
  }

  Result<void> check_one(ForeignSession& session) {
    TERTULIA_TRY_AS(auto built, build(session));
    if (!seen_.insert(built.first).second) {
      return Error(ErrorCode::kDuplicateKey, "session '" + built.first.session.text() + "' is there twice");
    }
    TERTULIA_TRY(check_free(store_, built.first));
    CheckSink sink;
    return replay(sink, built.first, std::move(built.second));
  }

  Result<void> write_one(ForeignSession& session, ReplaySink& sink, ImportRollback& rollback) {
    TERTULIA_TRY_AS(auto built, build(session));
    ArchiveCounts& counts = report_.counts;
    ++counts.sessions;
    counts.branches += built.second.branches.size();
    counts.turns += built.second.turns.size();
    for (const ArchivedTurn& turn : built.second.turns) counts.messages += turn.turn.messages().size();
    TERTULIA_TRY(rollback.begin(built.first));
    TERTULIA_TRY(replay(sink, built.first, std::move(built.second)));
    if (progress_) progress_(counts);
    return {};
  }

  void note_adaptations(ForeignSession& session) {
    report_.adaptations += session.adapted.size();
    for (std::string& sentence : session.adapted) {
      if (report_.adapted.size() < kMaxAdaptations) {
        report_.adapted.push_back("session '" + id_from(session.id) + "': " + std::move(sentence));
      }
    }
  }

  Store& store_;
  Env& env_;
  const Path& path_;
  const ImportFormat format_;
  const ImportTarget& target_;
  const ArchiveProgress& progress_;
  UuidMaker ids_;
  std::set<SessionKey> seen_;
  ImportReport report_;
};

}  // namespace

std::string_view name_of(ImportFormat format) { return kNames[static_cast<std::size_t>(format)]; }

Result<ImportFormat> import_format_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<ImportFormat>(i);
  }
  const std::vector<std::string> known(kNames.begin(), kNames.end());
  return Error(ErrorCode::kOutOfRange, "there is no format of this name" + did_you_mean(name, known) +
                                           "; known are archive, chatgpt, oasst and layout");
}

Result<ImportFormat> guess_import_format(FileSystem& files, const Path& path) {
  TERTULIA_TRY_AS(const FileInfo info, files.info(path));
  if (info.is_directory) {
    if (files.info(path / "sessions") || files.info(path / "session.json")) return ImportFormat::kLayout;
    return Error(ErrorCode::kForeignData,
                 "'" + path.string() + "' has no folder 'sessions': there is nothing to import");
  }
  TERTULIA_TRY_AS(const auto file, files.open(path, OpenMode::kRead));
  TERTULIA_TRY_AS(const std::string start, file->read_at(0, 4096));
  if (start.starts_with("{\"kind\":\"archive\"")) return ImportFormat::kArchive;
  if (start.starts_with("PK")) {
    return Error(
        ErrorCode::kForeignData,
        "'" + path.string() + "' is packed (zip): unpack it, then import the file conversations.json in it");
  }
  const std::size_t first = start.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first != std::string::npos && start[first] == '[') return ImportFormat::kChatGpt;
  if (start.find("\"message_tree_id\"") != std::string::npos) return ImportFormat::kOasst;
  return Error(ErrorCode::kForeignData,
               "'" + path.string() +
                   "' is no archive, ChatGPT export or OpenAssistant file; if it is, name its format");
}

Result<ImportReport> import_from(Store& store, Env& env, const Path& path, ImportFormat format,
                                 const ImportTarget& target, const ArchiveProgress& progress) {
  if (format == ImportFormat::kArchive) {
    TERTULIA_TRY_AS(const auto file, env.files().open(path, OpenMode::kRead));
    return import_archive(store, *file, target, progress);
  }
  if (target.tenant.empty())
    return Error(ErrorCode::kMissingField, "name the tenant to import for").with("param", "tenant");
  ForeignImport import(store, env, path, format, target, progress);
  TERTULIA_TRY(import.check());
  return import.write();
}

}  // namespace tertulia
