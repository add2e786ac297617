// tertulia doctor: everything that could be wrong, at once.
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sqlite3.h>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/base/version.h"

#include "commands.h"
#include "host/live_server.h"
#include "open_store.h"
#include "self_check.h"
#include "settings.h"
#include "words.h"

namespace tertulia::cli {
namespace {

enum class State { kFine, kNote, kBad };

struct Finding {
  State state = State::kFine;
  std::string what;
  std::string sentence;
  int exit_code = kExitOk;
};

constexpr std::uint64_t kLittleRoom = 100U << 20U;

Finding bad(std::string what, const Error& error) {
  return {State::kBad, std::move(what), error.message(), exit_code_of(error.code())};
}

Finding look_at_room(const Path& directory) {
  Path there = directory;
  while (!there.empty() && !real_env().files().info(there) && there != there.parent_path())
    there = there.parent_path();
  std::error_code problem;
  const auto space = std::filesystem::space(there.empty() ? Path(".") : there, problem);
  if (problem) return {State::kNote, "disk", "the free space cannot be found out: " + problem.message()};
  if (space.available < kLittleRoom) {
    return {State::kBad, "disk", "only " + bytes_text(space.available) + " are free; make room", kExitIo};
  }
  return {State::kFine, "disk", bytes_text(space.available) + " are free"};
}

Finding look_at_rights(const Path& directory) {
  const auto info = real_env().files().info(directory);
  if (!info)
    return {State::kFine, "data", "'" + directory.string() + "' is not there yet; the first import makes it"};
  if (info->world_readable) {
    return {State::kNote, "data",
            "every account of this machine may read '" + directory.string() + "'; try: chmod 700 it"};
  }
  return {State::kFine, "data", "'" + directory.string() + "'"};
}

// SQLite before 3.51.3 can lose commits when two connections write or move the log at once.
constexpr int kSoundLog = 3'051'003;

Finding look_at_sqlite() {
  const std::string version_text = sqlite3_libversion();
  if (sqlite3_libversion_number() >= kSoundLog) return {State::kFine, "sqlite", version_text};
  return {State::kNote, "sqlite",
          version_text +
              " is older than 3.51.3, whose log can be damaged by two writers: one connection of one process "
              "writes, and the others ask that one"};
}

void look_at_store(const Context& context, const Path& directory, std::vector<Finding>& findings) {
  if (const auto server = find_live_server(real_env().files(), directory)) {
    findings.push_back({State::kNote, "store",
                        "served at " + server->url + " by process " + std::to_string(server->process)});
  }
  auto open = open_store(context, Need::kExisting);
  if (!open && open.error().code() == ErrorCode::kNotFound) {
    findings.push_back({State::kFine, "store", "none yet"});
    return;
  }
  if (!open) {
    findings.push_back(bad("store", open.error()));
    return;
  }
  if (const auto writable = (**open).check_writable(); !writable) {
    findings.push_back(bad("store", writable.error()));
  }
  const auto report = verify(**open);
  if (!report) {
    findings.push_back(bad("store", report.error()));
    return;
  }
  for (const Problem& notice : report->notices) {
    findings.push_back(
        {State::kNote, "store", one_line(notice.session + " " + notice.record + ": " + notice.sentence)});
  }
  for (const Problem& problem : report->problems) {
    findings.push_back({State::kBad, "store",
                        one_line(problem.session + " " + problem.record + ": " + problem.sentence),
                        kExitBadData});
  }
  if (report->problems.empty()) {
    findings.push_back({State::kFine, "store",
                        open->kind + ", " + counted(report->sessions, "session") + ", " +
                            counted(report->turns, "turn") + ", all checksums right"});
  }
}

void look_at_server(const Config& config, std::vector<Finding>& findings) {
  using Found = server::SelfCheck::State;
  for (server::SelfCheck& check : server::check_server(config, real_env())) {
    const State state = check.state == Found::kFine   ? State::kFine
                        : check.state == Found::kNote ? State::kNote
                                                      : State::kBad;
    findings.push_back({state, std::move(check.what), std::move(check.sentence),
                        state == State::kBad ? exit_code_of(check.code) : kExitOk});
  }
}

void show(const Output& out, const Finding& finding) {
  if (out.json) {
    const char* states[] = {"ok", "note", "problem"};
    out.line(to_text(JsonObject{{"check", finding.what},
                                {"state", states[static_cast<std::size_t>(finding.state)]},
                                {"message", finding.sentence}}));
    return;
  }
  const std::string mark = finding.state == State::kFine   ? out.styled(Style::kGood, "✓ ")
                           : finding.state == State::kNote ? out.styled(Style::kAccent, "! ")
                                                           : out.styled(Style::kBad, "✗ ");
  out.line(mark + finding.what + std::string(10 - std::min<std::size_t>(9, finding.what.size()), ' ') +
           finding.sentence);
}

Result<void> examine(Context& context) {
  std::vector<Finding> findings;
  findings.push_back({State::kFine, "version", "tertulia " + std::string(version())});
  findings.push_back(look_at_sqlite());
  const auto config = load_settings(context.config_flag, context.data_flag);
  if (!config) {
    findings.push_back(bad("config", config.error()));
  } else {
    findings.push_back({State::kFine, "config",
                        config->file() ? config->file()->string() : "no file; defaults and environment"});
    findings.push_back(look_at_rights(config->path("data")));
    findings.push_back(look_at_room(config->path("data")));
    look_at_server(*config, findings);
    look_at_store(context, config->path("data"), findings);
  }
  for (const Finding& finding : findings) {
    show(context.out, finding);
    if (context.exit_code == kExitOk) context.exit_code = finding.exit_code;
  }
  return {};
}

}  // namespace

void add_doctor(CLI::App& app, Context& context) {
  app.add_subcommand("doctor", "Look for everything that could be wrong, and say what to do")
      ->callback([&context] { context.run([&] { return examine(context); }); });
}

}  // namespace tertulia::cli
