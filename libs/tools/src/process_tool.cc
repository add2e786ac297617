#include "tertulia/tools/process_tool.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include <sys/wait.h>
#include <unistd.h>

#include "tertulia/base/printable.h"
#include "tertulia/base/utf8.h"
#include "tertulia/tools/function_tool.h"

#include "file_root.h"
#include "process_confinement.h"
#include "process_run.h"

namespace tertulia {
namespace {

constexpr const char* kShell = "/bin/sh";

// What all calls of one tool share. Immutable.
struct Programs {
  std::shared_ptr<const FileRoot> root;
  std::map<std::string, std::string, std::less<>> paths;
  bool shell = false;
  Fd ruleset;
  // Everything but what the call itself says.
  ProgramRun run;
};

struct RunProgram {
  std::optional<std::string> program;
  std::optional<std::vector<std::string>> arguments;
  std::optional<std::string> directory;
  std::optional<std::string> command;
};

Error bad(std::string sentence) { return {ErrorCode::kBadArguments, std::move(sentence)}; }

std::string names_of(const Programs& programs) {
  std::string text;
  for (const auto& [name, path] : programs.paths) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Result<void> choose(const Programs& programs, const RunProgram& what, ProgramRun& run) {
  if (what.command) {
    if (what.program || what.arguments) return bad("give either a program or a command");
    run.program = kShell;
    run.arguments = {"-c", *what.command};
  } else {
    if (!what.program) return bad("name a program: " + names_of(programs));
    const auto found = programs.paths.find(*what.program);
    if (found == programs.paths.end())
      return bad("program " + in_quotes(utf8_prefix(*what.program, 100)) +
                 " may not be run; those that may: " + names_of(programs));
    run.program = found->second;
    run.arguments = what.arguments.value_or(std::vector<std::string>{});
  }
  const bool whole = std::ranges::none_of(
      run.arguments, [](const std::string& text) { return text.find('\0') != std::string::npos; });
  if (!whole) return bad("an argument holds a NUL");
  return {};
}

std::string seconds_text(Duration time) {
  const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " s";
}

std::string how_it_ended(const ProgramEnd& end, const ProcessLimits& limits) {
  using Why = ProgramEnd::Why;
  switch (end.why) {
    case Why::kTime:
      return "killed: it took longer than " + seconds_text(limits.time);
    case Why::kOutput:
      return "killed: it wrote more than " + std::to_string(limits.output_bytes) + " bytes";
    case Why::kCancelled:
      return "killed: the call was cancelled";
    case Why::kKeeperLost:
      return "lost: the program killed its keeper, and how it ended is not known";
    case Why::kEnded:
      break;
  }
  if (WIFEXITED(end.status)) return "exit code " + std::to_string(WEXITSTATUS(end.status));
  const int signal = WTERMSIG(end.status);
  if (signal == SIGXCPU || signal == SIGKILL)
    return "killed: it used more than " + std::to_string(limits.cpu.count()) +
           " s of a processor, or the system ran out of memory";
  if (signal == SIGXFSZ)
    return "killed: it wrote a file of more than " + std::to_string(limits.file_size) + " bytes";
  return std::string("killed by signal ") + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

Result<ToolOutput> run_call(const Programs& programs, const RunProgram& what, const ToolCall& call) {
  ProgramRun run = programs.run;
  TERTULIA_TRY(choose(programs, what, run));
  TERTULIA_TRY_AS(const Fd directory, programs.root->open_directory(what.directory.value_or("")));
  run.directory = directory.get();
  run.ruleset = programs.ruleset.get();
  TERTULIA_TRY_AS(ProgramEnd end, run_program(run, call.cancel, call.deadline));
  if (end.why == ProgramEnd::Why::kCancelled) TERTULIA_TRY(call.cancel.check());
  ToolOutput output{.text = how_it_ended(end, run.limits) + "\n"};
  output.failed = end.why != ProgramEnd::Why::kEnded || !WIFEXITED(end.status);
  // Bytes that are not text are made text: an asset for what a program prints would hide it.
  const auto shown = [](std::string_view bytes) {
    std::string text = sanitize_utf8(bytes);
    std::erase(text, '\0');
    return text;
  };
  output.text += "\n" + shown(end.output);
  if (!end.errors.empty())
    output.text +=
        (output.text.ends_with('\n') ? "" : "\n") + std::string("[standard error]\n") + shown(end.errors);
  return output;
}

Result<void> add_programs(const ProcessOptions& options, Programs& programs) {
  for (const Path& path : options.programs) {
    if (!path.is_absolute() || ::access(path.c_str(), X_OK) != 0)
      return Error(ErrorCode::kBadConfig,
                   in_quotes(path.string()) + " is not the absolute path of a program that can be run");
    if (!programs.paths.emplace(path.filename().string(), path.string()).second)
      return Error(ErrorCode::kBadConfig,
                   "two programs have the name " + in_quotes(path.filename().string()));
  }
  if (programs.paths.empty() && !options.shell)
    return Error(ErrorCode::kBadConfig, "name at least one program that may be run");
  return {};
}

std::vector<std::string> environment_of(const ProcessOptions& options) {
  const std::string root = options.root.string();
  std::map<std::string, std::string> variables = {
      {"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", root}, {"TMPDIR", root}, {"LANG", "C.UTF-8"}};
  for (const std::string& name : options.pass_environment) {
    if (const char* value = std::getenv(name.c_str())) variables[name] = value;
  }
  for (const auto& [name, value] : options.environment) variables[name] = value;
  std::vector<std::string> out;
  for (const auto& [name, value] : variables) out.push_back(name + "=" + value);
  return out;
}

Result<void> confine(const ProcessOptions& options, Programs& programs) {
  const ConfinementReport& report = confinement_report();
  if (options.require_confinement && !report.complete())
    return Error(ErrorCode::kNotPermitted,
                 "programs cannot be shut off here, and run unconfined only where require_confinement is "
                 "false:\n" +
                     report.text());
  if (options.user == 0 || options.group == 0)
    return Error(ErrorCode::kBadConfig,
                 "programs of a model do not run as root: name another user and group");
  programs.run.namespaces = report.namespaces;
  if (report.filter) programs.run.filter = make_filter(options.network);
  if (report.landlock == 0) return {};
  std::vector<Path> readable = options.readable;
  readable.insert(readable.end(), options.programs.begin(), options.programs.end());
  TERTULIA_TRY_AS(programs.ruleset, make_ruleset(report.landlock, {options.root}, readable));
  return {};
}

std::string description_of(const Programs& programs) {
  std::string text = "Runs a program and gives what it prints. Programs: " + names_of(programs) + ".";
  if (programs.shell) text += " Or gives a line to the shell, as command.";
  return text + " There is no standard input, and the program is ended after " +
         seconds_text(programs.run.limits.time) + ".";
}

Json parameters_of(const Programs& programs) {
  JsonArray names;
  for (const auto& [name, path] : programs.paths) names.push_back(Json(name));
  JsonObject properties = {
      {"directory",
       JsonObject{{"type", "string"},
                  {"description", "Where it runs, relative to the root of the files. Left out: there."},
                  {"maxLength", 4'096}}}};
  JsonArray required;
  if (!names.empty()) {
    properties.set("program", JsonObject{{"type", "string"}, {"enum", names}});
    properties.set("arguments",
                   JsonObject{{"type", "array"},
                              {"items", JsonObject{{"type", "string"}, {"maxLength", 100'000}}},
                              {"maxItems", 1'000},
                              {"description", "Each as it is: no quotes, no variables, no patterns."}});
  }
  if (programs.shell)
    properties.set("command", JsonObject{{"type", "string"},
                                         {"maxLength", 100'000},
                                         {"description", "A line for the shell, instead of a program."}});
  if (!programs.shell) required.push_back("program");
  if (names.empty()) required.push_back("command");
  return JsonObject{{"type", "object"},
                    {"properties", std::move(properties)},
                    {"required", std::move(required)},
                    {"additionalProperties", false}};
}

std::optional<std::string> text_at(const JsonObject& arguments, std::string_view name) {
  const Json* value = arguments.find(name);
  const std::string* text = value == nullptr ? nullptr : value->as_string();
  return text == nullptr ? std::nullopt : std::optional(*text);
}

RunProgram read_call(const Json& arguments) {
  RunProgram what;
  const JsonObject* object = arguments.as_object();
  if (object == nullptr) return what;
  what.program = text_at(*object, "program");
  what.directory = text_at(*object, "directory");
  what.command = text_at(*object, "command");
  const Json* list = object->find("arguments");
  if (list == nullptr || list->as_array() == nullptr) return what;
  what.arguments.emplace();
  for (const Json& item : *list->as_array()) {
    if (const std::string* text = item.as_string()) what.arguments->push_back(*text);
  }
  return what;
}

}  // namespace

Result<ToolPtr> process_tool(ProcessOptions options) {
  auto programs = std::make_shared<Programs>();
  options.root = std::filesystem::absolute(options.root);
  TERTULIA_TRY_AS(programs->root, FileRoot::open(options.root));
  programs->shell = options.shell;
  TERTULIA_TRY(add_programs(options, *programs));
  programs->run.environment = environment_of(options);
  programs->run.network = options.network;
  programs->run.user = options.user;
  programs->run.group = options.group;
  programs->run.limits = options.limits;
  TERTULIA_TRY(confine(options, *programs));
  return make_raw_tool("run_program", description_of(*programs), parameters_of(*programs),
                       [programs](const ToolCall& call) -> Result<ToolOutput> {
                         const RunProgram what = read_call(call.arguments);
                         if (what.command && !programs->shell)
                           return bad("there is no shell; name a program");
                         return run_call(*programs, what, call);
                       },
                       {.timeout = options.limits.time + std::chrono::seconds(15)});
}

}  // namespace tertulia
