// tertulia chat: a conversation in the terminal; tertulia resume: what was interrupted goes on.
#include <csignal>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

#include "tertulia/base/env.h"
#include "tertulia/base/log.h"
#include "tertulia/base/utf8.h"

#include "chat/chat_loop.h"
#include "chat/follow_run.h"
#include "chat/kept_log.h"
#include "chat/talk.h"
#include "commands.h"
#include "host/model_choices.h"
#include "open_store.h"
#include "settings.h"
#include "words.h"

namespace tertulia::cli {
namespace {

struct ChatOptions {
  std::string session;
  std::string branch;
  std::string agent = "default";
  std::string model;
  std::string system;
  std::vector<std::string> attach;
  bool no_tools = false;
  bool resume = false;
  bool lines = false;
  std::vector<std::string> message;
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// A name that a person can read and type.
std::string new_session_name() {
  UuidMaker ids(real_env().clock(), real_env().random());
  const std::string id = ids.make().text();
  std::string day = iso_time(real_env().clock().now()).substr(0, 10);
  return "chat-" + day + "-" + id.substr(id.size() - 5);
}

Result<std::string> check_text(std::string text) {
  if (const auto bad = find_bad_utf8(text)) {
    return Error(ErrorCode::kBadUnicode, "standard input is not UTF-8 at byte " + std::to_string(*bad))
        .with("offset", static_cast<std::int64_t>(*bad));
  }
  return text;
}

// What is drawn on a screen must not be written over: what is logged is kept, and told between turns and at
// the end.
class LogBetweenTurns {
 public:
  explicit LogBetweenTurns(const Context& context) {
    if (context.out.json || ::isatty(STDERR_FILENO) != 1) return;
    // The log never owns it.
    Log().set_sink(std::shared_ptr<LogSink>(std::shared_ptr<void>(), &KeptLog::instance()));
  }
  ~LogBetweenTurns() {
    for (const std::string& line : KeptLog::instance().take()) std::cerr << "tertulia: " << line << "\n";
  }
  LogBetweenTurns(const LogBetweenTurns&) = delete;
  LogBetweenTurns& operator=(const LogBetweenTurns&) = delete;
};

// Under which name one can come back, where the program has chosen it.
void tell_session(const Talk& talk, const ChatOptions& options, const Context& context) {
  if (options.session.empty() && !context.out.json)
    std::cerr << "session " << talk.key().session.text() << "\n";
}

// Nobody sits at a terminal: what is read is said, and only the answer is written.
Result<void> say_lines(Talk& talk, const ChatOptions& options, const Context& context) {
  bool any = false;
  // One is answered before the next is waited for: a program at the other end may talk.
  for (std::string line; std::getline(std::cin, line);) {
    TERTULIA_TRY_AS(line, check_text(std::move(line)));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (!std::exchange(any, true)) tell_session(talk, options, context);
    TERTULIA_TRY(say_once(talk, line, context));
    std::cout.flush();
  }
  if (any) return {};
  return Error(ErrorCode::kEmptyMessage, "standard input holds no message");
}

Result<void> say_input(Talk& talk, const ChatOptions& options, const Context& context) {
  if (options.lines) return say_lines(talk, options, context);
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  TERTULIA_TRY_AS(text, check_text(std::move(text)));
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return Error(ErrorCode::kEmptyMessage, "standard input holds no message");
  }
  tell_session(talk, options, context);
  while (text.ends_with('\n')) text.pop_back();
  return say_once(talk, text, context);
}

Result<RunOptions> run_options(const ChatOptions& options, const Host& host) {
  RunOptions run;
  if (!options.branch.empty()) {
    TERTULIA_TRY_AS(run.branch, BranchId::parse(options.branch));
  }
  run.tools = !options.no_tools;
  run.instructions = options.system;
  if (!options.model.empty()) {
    TERTULIA_TRY_AS(run.model_name, host.models()->choose_any(options.model));
  }
  return run;
}

Result<void> run_chat(const ChatOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const SessionKey key,
                  key_of(context, options.session.empty() ? new_session_name() : options.session));
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  catch_interrupts();
  const LogBetweenTurns log(context);
  const bool person = !context.out.json && options.message.empty() && !options.resume &&
                      ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  // A single message from a terminal can be asked about, too.
  const bool asked = !context.out.json && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
  TERTULIA_TRY_AS(
      const std::unique_ptr<Host> host,
      Host::open(config, {.only = options.agent, .unattended = !person && !asked, .recover = false}));
  TERTULIA_TRY_AS(AgentDefinitionPtr agent, host->agent(options.agent));
  TERTULIA_TRY_AS(RunOptions run, run_options(options, *host));
  for (const std::string& warning : host->warnings()) std::cerr << "tertulia: " << warning << "\n";
  Talk talk(*host, std::move(agent), key, run);
  if (!options.session.empty() && options.branch.empty() && person) TERTULIA_TRY(talk.enter(key));
  for (const std::string& file : options.attach) TERTULIA_TRY(talk.attach(file));
  if (person)
    return chat_loop(talk, context, {.pick = options.session.empty(), .history = history_file(config)});
  if (options.resume) TERTULIA_TRY(resume_once(talk, context));
  if (!options.message.empty()) {
    tell_session(talk, options, context);
    return say_once(talk, joined(options.message), context);
  }
  if (options.resume) return {};
  return say_input(talk, options, context);
}

struct ResumeOptions {
  std::string session;
  std::string branch;
};

// Where nobody can be asked, a turn that waits for an answer goes on waiting: it would be a no otherwise.
Result<void> resume_turn(Host& host, const InterruptedTurn& turn, const std::vector<Question>& questions,
                         const Context& context) {
  const bool person = !context.out.json && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
  for (const Question& question : questions) {
    if (person || question.turn != turn.turn) continue;
    return Error(ErrorCode::kNotPermitted, "session '" + turn.key.session.text() +
                                               "' waits for an answer about '" + question.tool +
                                               "'; answer with: tertulia approve " + question.id() + " once");
  }
  if (!context.out.json) {
    std::cerr << "session " << turn.key.session.text() << ", branch " << turn.branch.text() << "\n";
  }
  TERTULIA_TRY_AS(AgentDefinitionPtr agent, host.agent(turn.agent.text()));
  RunOptions run;
  run.branch = turn.branch;
  Talk talk(host, std::move(agent), turn.key, run);
  return resume_once(talk, context);
}

Result<void> run_resume(const ResumeOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(const OwnerId owner, owner_of(context));
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  catch_interrupts();
  const LogBetweenTurns log(context);
  TERTULIA_TRY_AS(const std::unique_ptr<Host> host,
                  Host::open(config, {.need = Need::kExisting, .recover = false}));
  for (const std::string& warning : host->warnings()) std::cerr << "tertulia: " << warning << "\n";
  TERTULIA_TRY_AS(std::vector<InterruptedTurn> turns, host->engine()->interrupted());
  TERTULIA_TRY_AS(const std::vector<Question> questions, host->engine()->questions(tenant, owner));
  std::erase_if(turns, [&](const InterruptedTurn& turn) {
    return turn.key.tenant != tenant || turn.key.owner != owner ||
           (!options.session.empty() && turn.key.session.text() != options.session) ||
           (!options.branch.empty() && turn.branch.text() != options.branch);
  });
  if (turns.empty()) {
    if (!options.session.empty())
      return Error(ErrorCode::kNothingToResume, "no turn of this session was interrupted");
    if (!context.out.json) context.out.line("No turn was interrupted.");
    return {};
  }
  Result<void> first;
  for (const InterruptedTurn& turn : turns) {
    const Result<void> done = resume_turn(*host, turn, questions, context);
    if (!done && turns.size() > 1) context.out.error(done.error());
    if (!done && first) first = done;
  }
  return first;
}

void add_resume(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("resume", "Go on with turns that a crash or a shutdown has interrupted");
  auto options = std::make_shared<ResumeOptions>();
  command->add_option("--session", options->session, "Only of this session; of all if not given");
  command->add_option("--branch", options->branch, "Only of this branch");
  command->callback([options, &context] { context.run([&] { return run_resume(*options, context); }); });
}

}  // namespace

void add_chat(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("chat", "Talk with an agent, in the terminal or through a pipe");
  auto options = std::make_shared<ChatOptions>();
  command->add_option("--session", options->session, "The session to go on with, or to begin");
  command->add_option("--branch", options->branch, "The branch; needed in a pipe if there are several");
  command->add_option("--agent", options->agent, "An agent of the configuration")->capture_default_str();
  command->add_option("--model", options->model,
                      "Another model: offline, openai/gpt-4o, or a name of [models]");
  command->add_option("--system", options->system, "Instructions in place of the agent's");
  command->add_option("--attach", options->attach, "A text or a picture that goes with the first message")
      ->allow_extra_args(false);
  command->add_flag("--no-tools", options->no_tools, "Show the model no tools");
  command->add_flag("--resume", options->resume, "First go on with the turn that was interrupted");
  command->add_flag("--lines", options->lines,
                    "Each line of standard input is a message; else all of it is one");
  command->add_option("message", options->message, "One message instead of standard input");
  command->footer(
      "In the chat: /help. Through a pipe only the answer is written: echo hi | tertulia chat --session x");
  command->callback([options, &context] { context.run([&] { return run_chat(*options, context); }); });
  add_resume(app, context);
}

}  // namespace tertulia::cli
