// tertulia verify: whether everything that is stored is what was stored.
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/store/archive.h"

#include "commands.h"
#include "open_store.h"
#include "progress.h"
#include "settings.h"
#include "words.h"

namespace tertulia::cli {
namespace {

struct VerifyOptions {
  bool repair = false;
  // Empty: beside the data directory.
  std::string copy;
};

void show_problem(const Output& out, const Problem& problem) {
  if (out.json) {
    out.line(to_text(JsonObject{{"problem", JsonObject{{"code", name_of(problem.code)},
                                                       {"session", problem.session},
                                                       {"record", problem.record},
                                                       {"message", problem.sentence}}}}));
    return;
  }
  out.line(out.styled(Style::kBad, "damaged ") + one_line(problem.session) +
           (problem.record.empty() ? "" : " · " + one_line(problem.record)) + ": " +
           one_line(problem.sentence));
}

void show_notice(const Output& out, const Problem& notice) {
  if (out.json) {
    out.line(to_text(JsonObject{
        {"notice",
         JsonObject{{"session", notice.session}, {"record", notice.record}, {"message", notice.sentence}}}}));
    return;
  }
  out.line(out.styled(Style::kAccent, "mended ") + one_line(notice.session) + " · " +
           one_line(notice.record) + ": " + one_line(notice.sentence));
}

// What can be read goes into a new store; the damaged one stays as it is.
Result<void> write_copy(Context& context, const OpenStore& from, const Path& damaged,
                        const std::string& folder) {
  TERTULIA_TRY_AS(const OpenStore to, open_store_at(context, folder, from.kind));
  SalvageReport report;
  {
    Progress progress(context.out, "Copying");
    TERTULIA_TRY_AS(report, copy_readable(*from, *to, {}, progress.callback()));
  }
  if (!report.losses.empty()) context.exit_code = kExitBadData;
  if (context.out.json) {
    JsonArray losses;
    for (const std::string& loss : report.losses) losses.emplace_back(loss);
    context.out.line(to_text(JsonObject{{"repaired", folder},
                                        {"sessions", report.counts.sessions},
                                        {"messages", report.counts.messages},
                                        {"records", report.counts.records},
                                        {"losses", std::move(losses)}}));
    return {};
  }
  context.out.line(
      "Copied what can be read to " + folder + ": " + counted(report.counts.sessions, "session") + ", " +
      counted(report.counts.messages, "message") + ", " + counted(report.counts.records, "record") + ".");
  for (const std::string& loss : report.losses) context.out.line("  lost: " + one_line(loss));
  context.out.line("'" + damaged.string() + "' is as it was.");
  return {};
}

// Problems make the exit code, also if everything else could be copied.
Result<void> verify_open(Context& context, const OpenStore& open, bool advises) {
  TERTULIA_TRY_AS(const VerifyReport report, verify(*open));
  const Output& out = context.out;
  for (const Problem& notice : report.notices) show_notice(out, notice);
  for (const Problem& problem : report.problems) show_problem(out, problem);
  if (out.json) {
    out.line(to_text(JsonObject{{"ok", report.problems.empty()},
                                {"sessions", report.sessions},
                                {"turns", report.turns},
                                {"records", report.records},
                                {"problems", std::uint64_t{report.problems.size()}}}));
  } else {
    out.line((report.problems.empty() ? out.styled(Style::kGood, "All is well: ")
                                      : counted(report.problems.size(), "problem") + " in ") +
             counted(report.sessions, "session") + ", " + counted(report.turns, "turn") + ", " +
             counted(report.records, "record") + ".");
  }
  if (report.problems.empty()) return {};
  context.exit_code = kExitBadData;
  if (advises && !out.json)
    out.line("Nothing was changed. To copy what can be read: tertulia verify --repair");
  return {};
}

// Of a store that cannot be opened, because opening would lose something: a copy of its files is opened.
Result<void> repair_closed(Context& context, const Path& directory, const std::string& folder) {
  FileSystem& files = real_env().files();
  const Path work = folder + ".files";
  TERTULIA_TRY(files.make_directory(work));
  TERTULIA_TRY_AS(const std::vector<std::string> names, files.list(directory));
  Result<void> done;
  for (const std::string& name : names) {
    if (!name.starts_with("tertulia.") && name != "STORE") continue;
    if (name.ends_with(".lock") || name.ends_with("-shm")) continue;
    std::error_code problem;
    std::filesystem::copy_file(directory / name, work / name, problem);
    if (problem && done)
      done = Error(ErrorCode::kStorageIo, "cannot copy '" + name + "': " + problem.message());
  }
  if (done) {
    Result<OpenStore> copy = open_copy_at(context, work);
    done = copy ? verify_open(context, *copy, false) : Result<void>(copy.error());
    if (done) done = write_copy(context, *copy, directory, folder);
  }
  std::error_code ignored;
  std::filesystem::remove_all(work, ignored);
  return done;
}

Result<void> verify_store(const VerifyOptions& options, Context& context) {
  Result<OpenStore> opened = open_store(context, Need::kExisting);
  if (!options.repair) {
    TERTULIA_TRY_AS(const OpenStore open, std::move(opened));
    return verify_open(context, open, true);
  }
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  const Path directory = config.path("data");
  const std::string folder = options.copy.empty() ? directory.string() + "-repaired" : options.copy;
  if (const auto names = real_env().files().list(folder); names && !names->empty()) {
    return Error(ErrorCode::kAlreadyExists,
                 "'" + folder + "' is not empty; choose another directory for the copy");
  }
  if (!opened && opened.error().code() == ErrorCode::kDamaged && kind_of_store(directory) == "sqlite") {
    context.out.error(opened.error());
    context.exit_code = kExitBadData;
    return repair_closed(context, directory, folder);
  }
  if (opened && opened->kind == "json") {
    // Only looks, with more trust in what is left.
    opened->store.reset();
    opened = open_copy_at(context, directory);
  }
  TERTULIA_TRY_AS(const OpenStore open, std::move(opened));
  TERTULIA_TRY(verify_open(context, open, false));
  return write_copy(context, open, directory, folder);
}

}  // namespace

void add_verify(CLI::App& app, Context& context) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand("verify", "Check every checksum and rule of the data directory");
  auto* repair =
      command->add_option("--repair", options->copy,
                          "Copy what can be read into this new directory (DATA-repaired if none is named); "
                          "the damaged one is not touched");
  repair->expected(0, 1);
  command->footer("Exit code 65 if something is damaged, also when a copy of the rest was written.");
  command->callback([options, repair, &context] {
    options->repair = repair->count() > 0;
    context.run([&] { return verify_store(*options, context); });
  });
}

}  // namespace tertulia::cli
