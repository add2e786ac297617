// The commands. Each adds itself to the program; when it was called, its callback leaves the exit code in the
// context.
#pragma once

#include <functional>
#include <string>

#include <CLI/App.hpp>

#include "tertulia/base/result.h"

#include "exit_code.h"
#include "output.h"

namespace tertulia::cli {

// What every command may use.
struct Context {
  Output out;
  // The flags that stand before or behind any command.
  std::string data_flag;
  std::string config_flag;
  // Whose conversations.
  std::string tenant = "local";
  std::string owner = "local";
  int exit_code = kExitOk;

  // Runs a command's work and turns its error into a message and an exit code.
  void run(const std::function<Result<void>()>& work);
};

void add_agents(CLI::App& app, Context& context);
void add_approve(CLI::App& app, Context& context);
// With `resume`.
void add_chat(CLI::App& app, Context& context);
void add_serve(CLI::App& app, Context& context);
void add_tools(CLI::App& app, Context& context);
void add_turns(CLI::App& app, Context& context);
void add_keys(CLI::App& app, Context& context);
void add_audit(CLI::App& app, Context& context);
void add_tokens(CLI::App& app, Context& context);
void add_config(CLI::App& app, Context& context);
void add_completion(CLI::App& app, Context& context);
void add_sessions(CLI::App& app, Context& context);
void add_branches(CLI::App& app, Context& context);
void add_messages(CLI::App& app, Context& context);
void add_verify(CLI::App& app, Context& context);
void add_backup(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_explain(CLI::App& app, Context& context);
void add_memory(CLI::App& app, Context& context);
// Subcommands of `memory`.
void add_memory_show(CLI::App& memory, Context& context);
void add_memory_procedures(CLI::App& memory, Context& context);
void add_erase(CLI::App& app, Context& context);
// Subcommands of `sessions`.
void add_session_life(CLI::App& sessions, Context& context);
void add_workflow(CLI::App& app, Context& context);

}  // namespace tertulia::cli
