// tertulia chat: a conversation in the terminal, a line each.
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include <unistd.h>

#include "tertulia/agent/agent.h"
#include "tertulia/base/env.h"
#include "tertulia/base/printable.h"
#include "tertulia/base/utf8.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/tools/builtin_tools.h"

#include "chat_model.h"
#include "commands.h"
#include "open_store.h"

namespace tertulia::cli {
namespace {

struct Options {
  std::string session;
  std::string branch;
  std::string model;
  std::string system;
  bool no_tools = false;
  bool resume = false;
  std::vector<std::string> message;
};

// Ctrl-C stops the turn and keeps what was said; a second one ends the program.
class Interrupts {
 public:
  Interrupts() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::thread([this, set] {
      while (true) {
        int signal = 0;
        if (sigwait(&set, &signal) != 0) return;
        MutexLock lock(mutex_);
        if (run_ == nullptr || stopping_) ::_exit(kExitInterrupted);
        stopping_ = true;
        run_->cancel();
      }
    }).detach();
  }

  void watch(Run* run) {
    MutexLock lock(mutex_);
    run_ = run;
    stopping_ = false;
  }

 private:
  Mutex mutex_;
  Run* run_ TERTULIA_GUARDED_BY(mutex_) = nullptr;
  bool stopping_ TERTULIA_GUARDED_BY(mutex_) = false;
};

// One object for the program: its thread lives as long.
Interrupts& interrupts() {
  static Interrupts* const kInterrupts = new Interrupts;
  return *kInterrupts;
}

class Chat {
 public:
  Chat(const Context& context, const Options& options, Agent agent, std::string session)
      : context_(context), options_(options), agent_(std::move(agent)), session_(std::move(session)) {}

  Result<void> say(const std::string& message) { return show(agent_.run(message, session_, run_options())); }
  Result<void> resume() { return show(agent_.resume(session_, run_options())); }

 private:
  RunOptions run_options() const {
    RunOptions run;
    run.tenant = *TenantId::parse(context_.tenant);
    run.owner = *OwnerId::parse(context_.owner);
    if (!options_.branch.empty()) run.branch = *BranchId::parse(options_.branch);
    run.tools = !options_.no_tools;
    return run;
  }

  Result<void> show(Run run) {
    interrupts().watch(&run);
    for (const Event& event : run) {
      if (context_.out.json) {
        context_.out.line(to_json(event));
      } else {
        show_event(event);
      }
    }
    interrupts().watch(nullptr);
    const Result<TurnOutcome> outcome = run.result();
    if (!outcome) return outcome.error();
    return {};
  }

  // The answer goes to standard output; everything about it to standard error.
  void show_event(const Event& event) {
    const Output& out = context_.out;
    switch (event.kind) {
      case EventKind::kTextDelta:
        out.print(printable_lines(event.text));
        break;
      case EventKind::kTextEnded:
        out.line("");
        break;
      case EventKind::kToolCallResult:
        note("→ " + event.name + ": " + printable(event.text.substr(0, 200)));
        break;
      case EventKind::kRetry:
        note("retrying: " + printable(event.text));
        break;
      case EventKind::kReset:
        note("(what was said since is void)");
        break;
      case EventKind::kTurnInterrupted:
        note("(stopped: " + printable(event.text) + ")");
        break;
      default:
        break;
    }
  }

  void note(const std::string& text) const {
    std::cerr << context_.out.styled_err(Style::kDim, text) << "\n" << std::flush;
  }

  // Text of a model may hold anything; only line ends and tabs pass as they are.
  static std::string printable_lines(std::string_view text) {
    std::string shown;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (i < text.size() && text[i] != '\n' && text[i] != '\t') continue;
      shown += printable(text.substr(begin, i - begin));
      if (i < text.size()) shown += text[i];
      begin = i + 1;
    }
    return shown;
  }

  const Context& context_;
  const Options& options_;
  Agent agent_;
  std::string session_;
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

Result<void> converse(Chat& chat, const Context& context) {
  const bool person = ::isatty(STDIN_FILENO) == 1;
  std::string line;
  std::uint64_t offset = 0;
  while (true) {
    if (person) std::cerr << context.out.styled_err(Style::kAccent, "› ") << std::flush;
    if (!std::getline(std::cin, line)) return {};
    if (const auto bad = find_bad_utf8(line)) {
      return Error(ErrorCode::kBadUnicode,
                   "standard input is not UTF-8 at byte " + std::to_string(offset + *bad))
          .with("offset", static_cast<std::int64_t>(offset + *bad));
    }
    offset += line.size() + 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Result<void> said = chat.say(line);
    if (said) continue;
    // A person can say something else; a script needs to know.
    if (!person) return said.error();
    context.out.error(said.error());
  }
}

Result<void> run_chat(const Options& options, const Context& context) {
  TERTULIA_TRY(tenant_of(context));
  TERTULIA_TRY(owner_of(context));
  if (!options.branch.empty()) TERTULIA_TRY(BranchId::parse(options.branch));
  interrupts();
  std::string session = options.session;
  if (session.empty()) {
    UuidMaker ids(real_env().clock(), real_env().random());
    session = ids.make().text();
    if (!context.out.json) std::cerr << "session " << session << "\n";
  }
  TERTULIA_TRY_AS(const ConfiguredModel model, chat_model(context, options.model));
  TERTULIA_TRY_AS(OpenStore open, open_store(context, Need::kCreate));
  AgentBuilder builder;
  builder.with_id("default")
      .with_name("assistant")
      .with_system_prompt(options.system)
      .with_model(model.model, model.name)
      .with_session_store(std::shared_ptr<Store>(std::move(open.store)))
      .with_toolkit(builtin_tools(real_env().clock()));
  TERTULIA_TRY_AS(Agent agent, builder.build());
  Chat chat(context, options, std::move(agent), session);
  if (options.resume) TERTULIA_TRY(chat.resume());
  if (!options.message.empty()) return chat.say(joined(options.message));
  if (options.resume) return {};
  return converse(chat, context);
}

}  // namespace

void add_chat(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("chat", "Talk with an agent: a message for each line of standard input");
  auto options = std::make_shared<Options>();
  command->add_option("--session", options->session, "The session to go on with; a new one if not given");
  command->add_option("--branch", options->branch, "The branch; needed if there are several");
  command->add_option("--model", options->model, "For example offline, openai/gpt-4o, anthropic/claude-…");
  command->add_option("--system", options->system, "Instructions for the agent");
  command->add_flag("--no-tools", options->no_tools, "Show the model no tools");
  command->add_flag("--resume", options->resume, "Go on with the turn that was interrupted");
  command->add_option("message", options->message, "One message instead of standard input");
  command->callback([options, &context] { context.run([&] { return run_chat(*options, context); }); });
}

}  // namespace tertulia::cli
