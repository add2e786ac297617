// The command-line program: parse, call, format.
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "tertulia/base/nearest.h"
#include "tertulia/base/version.h"
#include "tertulia/memory/document.h"

#include "commands.h"
#include "extract_main.h"

namespace tertulia::cli {

void Context::run(const std::function<Result<void>()>& work) {
  const Result<void> result = work();
  if (result) return;
  out.error(result.error());
  exit_code = exit_code_of(result.error().code());
}

namespace {

bool wants_colour(int file) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (no_colour == nullptr || *no_colour == '\0') && ::isatty(file) == 1 && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

void add_commands(CLI::App& app, Context& context) {
  app.description(
      "Tertulia holds conversations for LLM agents: durable, branching, and safe to kill at any moment.");
  app.set_version_flag("--version", "tertulia " + std::string(version()), "Show the version");
  app.add_flag("--json", context.out.json, "Write JSON for programs instead of text for people");
  app.add_flag_callback(
      "--no-color", [&] { context.out.colour_out = context.out.colour_err = false; },
      "Plain text (also NO_COLOR=1)");
  app.add_option("--data", context.data_flag, "Where conversations are kept (also TERTULIA_DATA)");
  app.add_option("--config", context.config_flag, "The configuration file (also TERTULIA_CONFIG)");
  app.add_option("--tenant", context.tenant, "Whose conversations: the tenant")->capture_default_str();
  app.add_option("--owner", context.owner, "Whose conversations: the owner")->capture_default_str();
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Exit codes: 0 done · 1 refused · 2 usage · 65 bad input · 66 not there · 74 disk · 75 in use · 77 not "
      "allowed · "
      "78 configuration");
  add_chat(app, context);
  add_serve(app, context);
  add_turns(app, context);
  add_approve(app, context);
  add_agents(app, context);
  add_tools(app, context);
  add_keys(app, context);
  add_audit(app, context);
  add_workflow(app, context);
  add_sessions(app, context);
  add_branches(app, context);
  add_messages(app, context);
  add_explain(app, context);
  add_memory(app, context);
  add_erase(app, context);
  add_verify(app, context);
  add_backup(app, context);
  add_doctor(app, context);
  add_tokens(app, context);
  add_config(app, context);
  add_completion(app, context);
}

// The command that the words before the mistake lead to.
const CLI::App& last_command(const CLI::App& app) {
  const CLI::App* last = &app;
  while (!last->get_subcommands().empty()) last = last->get_subcommands().front();
  return *last;
}

// Every word that could have stood where the mistake is.
std::vector<std::string> words_expected(const CLI::App& app) {
  std::vector<std::string> words;
  const auto add_options = [&](const CLI::App& owner) {
    for (const CLI::Option* option : owner.get_options()) {
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    }
  };
  const CLI::App* last = &last_command(app);
  add_options(app);
  if (last != &app) add_options(*last);
  for (const CLI::App* command : last->get_subcommands([](const CLI::App*) { return true; })) {
    words.push_back(command->get_name());
  }
  return words;
}

int report_usage(const CLI::App& app, const CLI::ParseError& problem, const Context& context) {
  std::string sentence = problem.what();
  const std::vector<std::string> extras = app.remaining(true);
  if (!extras.empty()) {
    const std::string& word = extras.front();
    const bool flag = word.starts_with("-");
    sentence = (flag ? "There is no flag '" : "There is no command '") + word + "'" +
               did_you_mean(word.substr(0, word.find('=')), words_expected(app)) + ".";
  }
  if (!sentence.ends_with('.')) sentence += '.';
  std::string command;
  for (const CLI::App* one = &last_command(app); one != nullptr; one = one->get_parent())
    command.insert(0, one->get_name() + (command.empty() ? "" : " "));
  context.out.error(Error(ErrorCode::kOutOfRange, sentence + " Try: " + command + " --help"));
  return kExitUsage;
}

int run_program(int argc, char** argv) {
  Context context;
  context.out.colour_out = wants_colour(STDOUT_FILENO);
  context.out.colour_err = wants_colour(STDERR_FILENO);
  CLI::App app;
  app.name("tertulia");
  add_commands(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version_wanted) {
    return app.exit(version_wanted);
  } catch (const CLI::ParseError& problem) {
    return report_usage(app, problem, context);
  }
  return context.exit_code;
}

}  // namespace
}  // namespace tertulia::cli

// Not a command for people: how this program reads the documents of others, in a process of its own.
constexpr std::string_view kExtract = "extract-document";

int main(int argc, char** argv) {
  if (argc == 3 && argv[1] == kExtract) return tertulia::extract_main(argv[2]);
  tertulia::use_document_helper({.program = "/proc/self/exe", .arguments = {std::string(kExtract)}});
  std::signal(SIGPIPE, SIG_IGN);  // a write that nobody reads is noticed where it fails
  std::setlocale(LC_CTYPE, "C.UTF-8");
  try {
    return tertulia::cli::run_program(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("tertulia: out of memory\n", stderr);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "tertulia: %s\n", problem.what());
  }
  return tertulia::cli::kExitFailure;
}
