#include "commands/sessions_transfer.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/base/outside_name.h"
#include "tertulia/store/archive.h"
#include "tertulia/store/import.h"

#include "open_store.h"
#include "progress.h"
#include "words.h"

namespace tertulia::cli {
namespace {

JsonObject json_of(const ArchiveCounts& counts) {
  return {{"sessions", counts.sessions}, {"branches", counts.branches}, {"turns", counts.turns},
          {"messages", counts.messages}, {"records", counts.records},   {"bytes", counts.bytes}};
}

std::string text_of(const ArchiveCounts& counts) {
  return counted(counts.sessions, "session") + ", " + counted(counts.branches, "branch", "branches") + ", " +
         counted(counts.messages, "message") + ", " + counted(counts.records, "record");
}

// Writes to `path` beside it first: there is a whole archive under that name, or none.
class ArchiveFile {
 public:
  explicit ArchiveFile(Path path) : path_(std::move(path)), unfinished_(path_.string() + ".new") {}
  ~ArchiveFile() {
    if (file_ != nullptr) static_cast<void>(real_env().files().remove(unfinished_));
  }
  ArchiveFile(const ArchiveFile&) = delete;
  ArchiveFile& operator=(const ArchiveFile&) = delete;

  Result<void> open() {
    TERTULIA_TRY_AS(file_, real_env().files().open(unfinished_, OpenMode::kCreate));
    return file_->truncate(0);
  }
  Result<void> write(std::string_view bytes) {
    TERTULIA_TRY(file_->write_at(size_, bytes));
    size_ += bytes.size();
    return {};
  }
  Result<void> finish() {
    TERTULIA_TRY(file_->sync());
    TERTULIA_TRY(real_env().files().rename(unfinished_, path_));
    file_.reset();
    const Path folder = path_.has_parent_path() ? path_.parent_path() : Path(".");
    return real_env().files().sync_directory(folder);
  }

 private:
  const Path path_;
  const Path unfinished_;
  std::unique_ptr<File> file_;
  std::uint64_t size_ = 0;
};

struct ExportOptions {
  std::vector<std::string> sessions;
  std::string file;
  bool all_owners = false;
};

Result<ExportScope> scope_of(const ExportOptions& options, const Context& context) {
  ExportScope scope;
  TERTULIA_TRY_AS(scope.tenant, tenant_of(context));
  if (!options.all_owners) {
    TERTULIA_TRY_AS(scope.owner, owner_of(context));
  }
  for (const std::string& name : options.sessions) {
    TERTULIA_TRY_AS(SessionId id, from_outside<SessionId>(name));
    scope.sessions.push_back(std::move(id));
  }
  return scope;
}

Result<void> export_to(const ExportOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const ExportScope scope, scope_of(options, context));
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
  for (const SessionId& id : scope.sessions) {
    if (scope.owner) TERTULIA_TRY(load_session(*open, {scope.tenant, *scope.owner, id}));
  }
  Progress progress(context.out, "Exporting");
  if (options.file.empty() || options.file == "-") {
    TERTULIA_TRY(export_sessions(
        *open, scope,
        [&](std::string_view bytes) {
          context.out.print(bytes);
          return Result<void>();
        },
        progress.callback()));
    return {};
  }
  ArchiveFile file(options.file);
  TERTULIA_TRY(file.open());
  TERTULIA_TRY_AS(
      const ArchiveCounts counts,
      export_sessions(
          *open, scope, [&](std::string_view bytes) { return file.write(bytes); }, progress.callback()));
  TERTULIA_TRY(file.finish());
  if (context.out.json) {
    JsonObject json = json_of(counts);
    json.set("file", options.file);
    context.out.line(to_text(json));
  } else {
    context.out.line("Exported " + text_of(counts) + " (" + bytes_text(counts.bytes) + ") to " +
                     options.file + ".");
  }
  return {};
}

struct ImportOptions {
  std::string path;
  std::string format;
  bool adopt = false;
  bool keep_owners = false;
  bool trust = false;
};

// A file without a name, for what has to be read twice.
class SpoolFile {
 public:
  SpoolFile() {
    std::string name = (std::filesystem::temp_directory_path() / "tertulia-XXXXXX").string();
    const int made = ::mkstemp(name.data());
    if (made >= 0) ::close(made);
    if (made >= 0) path_ = name;
  }
  ~SpoolFile() {
    if (!path_.empty()) static_cast<void>(real_env().files().remove(path_));
  }
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;

  const Path& path() const { return path_; }
  Result<std::unique_ptr<File>> open() const {
    if (path_.empty())
      return Error(ErrorCode::kStorageIo, "no file can be made in the directory for temporary files");
    return real_env().files().open(path_, OpenMode::kReadWrite);
  }

 private:
  Path path_;
};

Result<void> spool_input(const SpoolFile& spool) {
  TERTULIA_TRY_AS(const auto file, spool.open());
  std::string buffer(1U << 16U, '\0');
  for (std::uint64_t size = 0; std::cin;) {
    std::cin.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto got = static_cast<std::size_t>(std::cin.gcount());
    TERTULIA_TRY(file->write_at(size, std::string_view(buffer).substr(0, got)));
    size += got;
  }
  return {};
}

// Another data directory is read through its store.
Result<void> spool_store(const Context& context, const Path& directory, const ImportTarget& target,
                         const SpoolFile& spool) {
  TERTULIA_TRY_AS(const OpenStore other, open_store_at(context, directory, ""));
  TERTULIA_TRY_AS(const auto file, spool.open());
  std::uint64_t size = 0;
  const ExportScope scope{.tenant = target.tenant, .owner = target.owner};
  TERTULIA_TRY(export_sessions(*other, scope, [&](std::string_view bytes) -> Result<void> {
    TERTULIA_TRY(file->write_at(size, bytes));
    size += bytes.size();
    return {};
  }));
  return {};
}

Result<void> refuse_links(const Path& folder) {
  std::error_code problem;
  for (auto entry = std::filesystem::recursive_directory_iterator(folder, problem);
       !problem && entry != std::filesystem::recursive_directory_iterator(); entry.increment(problem)) {
    if (!entry->is_symlink(problem)) continue;
    return Error(ErrorCode::kNotPermitted, "'" + one_line(entry->path().string()) +
                                               "' is a link; a folder to import must hold its files itself");
  }
  if (problem)
    return Error(ErrorCode::kStorageIo, "'" + folder.string() + "' cannot be read: " + problem.message());
  return {};
}

void show_report(const Context& context, const ImportReport& report) {
  if (context.out.json) {
    JsonObject json = json_of(report.counts);
    JsonArray adapted;
    for (const std::string& sentence : report.adapted) adapted.emplace_back(sentence);
    json.set("adaptations", report.adaptations);
    json.set("adapted", std::move(adapted));
    JsonArray left_out;
    for (const LeftOut& left : report.left_out) {
      left_out.emplace_back(JsonObject{{"what", left.what}, {"count", left.count}, {"why", left.why}});
    }
    json.set("left_out", std::move(left_out));
    context.out.line(to_text(json));
    return;
  }
  context.out.line("Imported " + text_of(report.counts) + ".");
  if (report.adaptations > 0)
    context.out.line(counted(report.adaptations, "thing was", "things were") + " adapted:");
  for (const std::string& sentence : report.adapted) context.out.line("  " + one_line(sentence));
  if (report.adaptations > report.adapted.size()) context.out.line("  …");
  if (report.left_out.empty()) return;
  context.out.line(
      "Left out, because anybody can write an archive (--trust takes it from a copy of your own):");
  for (const LeftOut& left : report.left_out) {
    context.out.line("  " + one_line(left.what) + " (" + std::to_string(left.count) + "): " + left.why);
  }
}

Result<void> import_sessions(const ImportOptions& options, const Context& context) {
  ImportTarget target;
  target.adopt = options.adopt;
  if (options.trust) target.trust = ArchiveTrust::kOwn;
  TERTULIA_TRY_AS(target.tenant, tenant_of(context));
  if (!options.keep_owners) {
    TERTULIA_TRY_AS(target.owner, owner_of(context));
  }
  SpoolFile spool;
  Path path = options.path;
  if (options.path == "-") {
    TERTULIA_TRY(spool_input(spool));
    path = spool.path();
  } else if (!kind_of_store(path).empty()) {
    TERTULIA_TRY(spool_store(context, path, target, spool));
    path = spool.path();
    target.trust = ArchiveTrust::kOwn;
  }
  Result<ImportFormat> format = options.format.empty() ? guess_import_format(real_env().files(), path)
                                                       : import_format_named(options.format);
  if (!format) return std::move(format).error();
  TERTULIA_TRY_AS(const FileInfo info, real_env().files().info(path));
  if (info.is_directory) TERTULIA_TRY(refuse_links(path));
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kCreate));
  ImportReport report;
  {
    Progress progress(context.out, "Importing", *format == ImportFormat::kArchive ? 2 * info.size : 0);
    TERTULIA_TRY_AS(report, import_from(*open, real_env(), path, *format, target, progress.callback()));
  }
  show_report(context, report);
  return {};
}

}  // namespace

void add_export(CLI::App& sessions, Context& context) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command =
      sessions.add_subcommand("export", "Write sessions as an archive: lines of JSON, nothing lost");
  auto* names = command->add_option("sessions", options->sessions, "The sessions; none: all");
  command->add_option("-o,--output", options->file, "The file; none or -: standard output");
  command->add_flag("--all-owners", options->all_owners, "Those of every owner of the tenant")
      ->excludes(names);
  command->callback([options, &context] { context.run([&] { return export_to(*options, context); }); });
}

void add_import(CLI::App& sessions, Context& context) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = sessions.add_subcommand(
      "import",
      "Read an archive, a ChatGPT export, OpenAssistant trees, a folder of JSON or another data directory");
  command->add_option("path", options->path, "The file or folder; - is standard input")->required();
  command->add_option("--format", options->format,
                      "archive, chatgpt, oasst or layout; found out if not given");
  command->add_flag("--adopt", options->adopt, "Take over sessions that belong to somebody else");
  command->add_flag("--keep-owners", options->keep_owners, "Each session keeps its owner");
  command->add_flag(
      "--trust", options->trust,
      "The archive is your own: also take what lets something happen (permissions, unfinished turns and "
      "runs, memories, procedures)");
  command->footer("On any problem nothing is imported, and the first 20 problems are listed.");
  command->callback([options, &context] { context.run([&] { return import_sessions(*options, context); }); });
}

}  // namespace tertulia::cli
