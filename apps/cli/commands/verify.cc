// tertulia verify: whether everything that is stored is what was stored.
#include <memory>
#include <string>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/store/archive.h"

#include "commands.h"
#include "open_store.h"
#include "progress.h"
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
Result<void> write_copy(const Context& context, const OpenStore& from, const std::string& folder) {
  if (const auto names = real_env().files().list(folder); names && !names->empty()) {
    return Error(ErrorCode::kAlreadyExists,
                 "'" + folder + "' is not empty; choose another directory for the copy");
  }
  TERTULIA_TRY_AS(const TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(const OpenStore to, open_store_at(context, folder, from.kind));
  SalvageReport report;
  {
    Progress progress(context.out, "Copying");
    TERTULIA_TRY_AS(report, copy_readable(*from, *to, {.tenant = tenant}, progress.callback()));
  }
  if (context.out.json) {
    JsonArray losses;
    for (const std::string& loss : report.losses) losses.emplace_back(loss);
    context.out.line(to_text(JsonObject{{"repaired", folder},
                                        {"sessions", report.counts.sessions},
                                        {"messages", report.counts.messages},
                                        {"losses", std::move(losses)}}));
    return {};
  }
  context.out.line("Copied what can be read of tenant '" + context.tenant + "' to " + folder + ": " +
                   counted(report.counts.sessions, "session") + ", " +
                   counted(report.counts.messages, "message") + ".");
  for (const std::string& loss : report.losses) context.out.line("  lost: " + one_line(loss));
  context.out.line("'" + from.directory.string() + "' is as it was.");
  return {};
}

Result<void> verify_store(const VerifyOptions& options, Context& context) {
  TERTULIA_TRY_AS(const OpenStore open, open_store(context, Need::kExisting));
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
  if (options.repair) {
    const std::string copy = options.copy.empty() ? open.directory.string() + "-repaired" : options.copy;
    return write_copy(context, open, copy);
  }
  if (report.problems.empty()) return {};
  context.exit_code = kExitBadData;
  if (!out.json) out.line("Nothing was changed. To copy what can be read: tertulia verify --repair");
  return {};
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
  command->footer("Exit code 65 if something is damaged.");
  command->callback([options, repair, &context] {
    options->repair = repair->count() > 0;
    context.run([&] { return verify_store(*options, context); });
  });
}

}  // namespace tertulia::cli
