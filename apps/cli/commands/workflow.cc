// tertulia workflow: several agents in one conversation, from a file.
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "tertulia/base/env.h"
#include "tertulia/base/utf8.h"
#include "tertulia/workflow/drawing.h"
#include "tertulia/workflow/workflow_engine.h"

#include "commands.h"
#include "commands/workflow_view.h"
#include "host/host.h"
#include "host/workflow_agents.h"
#include "open_store.h"
#include "settings.h"
#include "words.h"

namespace tertulia::cli {
namespace {

struct WorkflowArguments {
  std::string file;
  std::string run;
  std::string session;
  std::string model;
  std::string request;
  std::string text;
  std::string format = "mermaid";
  std::vector<std::string> message;
  bool show_internal = false;
};

// To draw it: agents have a name, and nothing else is made of them.
Result<Workflow> load_drawing(const Context& context, const WorkflowArguments& options) {
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  const Environment environment = process_environment();
  TERTULIA_TRY_AS(const HostPlan plan, plan_host(config, environment));
  const auto named = [](const AgentPlan& agent_plan) {
    auto agent = std::make_shared<AgentDefinition>();
    agent->spec = agent_plan.spec;
    agent->tools = std::make_shared<ToolRegistry>();
    return agent;
  };
  WorkflowAgents agents;
  agents.declared = [&](const WorkflowSource& source,
                        const DeclaredAgent& declared) -> Result<AgentDefinitionPtr> {
    TERTULIA_TRY_AS(const AgentPlan agent, plan_declared(config, plan, source, declared));
    TERTULIA_TRY(configured_model(plan.models, agent.spec.model, environment));
    return AgentDefinitionPtr(named(agent));
  };
  agents.known = [&](const std::string& id) -> Result<AgentDefinitionPtr> {
    const auto found = plan.agents.find(id);
    if (found == plan.agents.end()) return Error(ErrorCode::kNotFound, "there is no agent '" + id + "'");
    return AgentDefinitionPtr(named(found->second));
  };
  TERTULIA_TRY_AS(const WorkflowFile file,
                  WorkflowFile::read({.file = options.file, .model = options.model}, agents));
  return file.workflow();
}

Result<std::unique_ptr<WorkflowEngine>> open_workflows(const Context& context, Need need) {
  TERTULIA_TRY_AS(OpenStore open, open_store(context, need));
  TERTULIA_TRY_AS(std::shared_ptr<Engine> engine,
                  Engine::open({.store = std::shared_ptr<Store>(std::move(open.store))}));
  return WorkflowEngine::open({.engine = std::move(engine)});
}

// What a command that runs a workflow works with. Nobody answers for tools here: what would be asked about is
// denied.
struct Opened {
  std::unique_ptr<Host> host;
  Workflow workflow;
  std::unique_ptr<WorkflowEngine> workflows;
};

Result<Opened> open_file(const Context& context, const WorkflowArguments& options, Need need) {
  TERTULIA_TRY_AS(const Config config, load_settings(context.config_flag, context.data_flag));
  // What is wrong with the file is said before anything is opened.
  TERTULIA_TRY(load_drawing(context, options));
  TERTULIA_TRY_AS(std::unique_ptr<Host> host,
                  Host::open(config, {.need = need, .unattended = true, .recover = false}));
  TERTULIA_TRY_AS(const WorkflowFile file, WorkflowFile::read({.file = options.file, .model = options.model},
                                                              host->workflow_agents()));
  for (const std::string& warning : host->warnings()) std::cerr << "tertulia: " << warning << "\n";
  TERTULIA_TRY_AS(auto workflows, WorkflowEngine::open({.engine = host->engine()}));
  return Opened{std::move(host), file.workflow(), std::move(workflows)};
}

// A run by its id, or a part of it that can only mean one, in whatever session of the owner; the latest if
// none is named.
Result<StoredRun> find_run(const Context& context, WorkflowEngine& workflows, const std::string& run) {
  TERTULIA_TRY_AS(const TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(const OwnerId owner, owner_of(context));
  TERTULIA_TRY_AS(std::vector<StoredRun> runs, workflows.list(tenant, owner));
  if (run.empty() && runs.empty()) return Error(ErrorCode::kNoCheckpoint, "no workflow has run here yet");
  if (run.empty()) return std::move(runs.front());
  StoredRun* found = nullptr;
  for (StoredRun& one : runs) {
    if (one.run == run) return std::move(one);
    if (one.run.find(run) == std::string::npos) continue;
    if (found != nullptr)
      return Error(ErrorCode::kNoCheckpoint, "'" + run + "' could mean several runs; give more of the id");
    found = &one;
  }
  if (found != nullptr) return std::move(*found);
  return Error(ErrorCode::kNoCheckpoint,
               "there is no run '" + run + "'; tertulia workflow list shows those there are");
}

// The latest run of a workflow that is not at its end.
Result<StoredRun> find_open_run(const Context& context, WorkflowEngine& workflows, const Workflow& workflow) {
  TERTULIA_TRY_AS(const TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(const OwnerId owner, owner_of(context));
  TERTULIA_TRY_AS(std::vector<StoredRun> runs, workflows.list(tenant, owner));
  for (StoredRun& one : runs) {
    if (one.workflow == workflow.name() && one.status != WorkflowStatus::kCompleted) return std::move(one);
  }
  return Error(ErrorCode::kNothingToResume, "every run of '" + workflow.name() + "' is at its end");
}

// What is said to a workflow: the words of the command line, or, where a new conversation needs some, those
// of standard input.
Result<std::string> message_of(const WorkflowArguments& options) {
  std::string message;
  for (const std::string& word : options.message) message += (message.empty() ? "" : " ") + word;
  if (!message.empty() || !options.session.empty()) return message;
  if (::isatty(STDIN_FILENO) == 0) message.assign(std::istreambuf_iterator<char>(std::cin), {});
  while (message.ends_with('\n')) message.pop_back();
  if (const auto bad = find_bad_utf8(message)) {
    return Error(ErrorCode::kBadUnicode, "standard input is not UTF-8 at byte " + std::to_string(*bad));
  }
  if (message.empty()) {
    return Error(ErrorCode::kEmptyMessage, "say what the workflow is to work on: tertulia workflow run " +
                                               options.file + " \"…\", or through a pipe");
  }
  return message;
}

Result<void> run_workflow(const WorkflowArguments& options, const Context& context) {
  keep_interrupts();
  WorkflowOptions how{.session = options.session, .show_internal = options.show_internal};
  if (!options.session.empty()) {
    TERTULIA_TRY(key_of(context, options.session));
  }
  TERTULIA_TRY_AS(how.tenant, tenant_of(context));
  TERTULIA_TRY_AS(how.owner, owner_of(context));
  TERTULIA_TRY_AS(std::string message, message_of(options));
  TERTULIA_TRY_AS(const Opened opened, open_file(context, options, Need::kCreate));
  return follow(context, options.file, opened.workflows->run(opened.workflow, message, std::move(how)));
}

Result<void> resume_workflow(const WorkflowArguments& options, const Context& context) {
  keep_interrupts();
  TERTULIA_TRY_AS(const Opened opened, open_file(context, options, Need::kExisting));
  TERTULIA_TRY_AS(const StoredRun run, options.run.empty()
                                           ? find_open_run(context, *opened.workflows, opened.workflow)
                                           : find_run(context, *opened.workflows, options.run));
  return follow(context, options.file, opened.workflows->resume(opened.workflow, run.key, run.run));
}

Result<void> fork_workflow(const WorkflowArguments& options, const Context& context) {
  keep_interrupts();
  const std::size_t slash = options.run.rfind('/');
  if (slash == std::string::npos) {
    return Error(ErrorCode::kOutOfRange, "a checkpoint is named as RUN/NUMBER; tertulia workflow show " +
                                             options.run + " lists those that are kept");
  }
  TERTULIA_TRY_AS(const Opened opened, open_file(context, options, Need::kExisting));
  TERTULIA_TRY_AS(const StoredRun run, find_run(context, *opened.workflows, options.run.substr(0, slash)));
  return follow(context, options.file,
                opened.workflows->fork(opened.workflow, run.key, run.run + options.run.substr(slash)));
}

Result<void> list_workflows(const Context& context) {
  TERTULIA_TRY_AS(const TenantId tenant, tenant_of(context));
  TERTULIA_TRY_AS(const OwnerId owner, owner_of(context));
  TERTULIA_TRY_AS(const auto workflows, open_workflows(context, Need::kExisting));
  TERTULIA_TRY_AS(const std::vector<StoredRun> runs, workflows->list(tenant, owner));
  if (context.out.json) {
    for (const StoredRun& run : runs) context.out.line(to_text(json_of(run)));
    return {};
  }
  if (runs.empty()) {
    context.out.line("No runs yet.");
    return {};
  }
  const Time now = real_env().clock().now();
  std::vector<std::vector<std::string>> rows;
  rows.reserve(runs.size());
  for (const StoredRun& run : runs) {
    rows.push_back({run.run, run.workflow, std::string(status_word(run.status)),
                    std::to_string(run.supersteps), std::to_string(run.requests.size()),
                    ago(run.last_activity, now), run.key.session.text()});
  }
  context.out.table({"run", "workflow", "status", "steps", "asks", "last activity", "session"}, rows);
  return {};
}

Result<void> show_workflow(const WorkflowArguments& options, const Context& context) {
  TERTULIA_TRY_AS(const auto workflows, open_workflows(context, Need::kExisting));
  TERTULIA_TRY_AS(const StoredRun run, find_run(context, *workflows, options.run));
  TERTULIA_TRY_AS(const std::vector<CheckpointInfo> checkpoints, workflows->checkpoints(run.key, run.run));
  if (context.out.json) {
    JsonObject json = json_of(run);
    JsonArray list;
    for (const CheckpointInfo& one : checkpoints) {
      list.emplace_back(JsonObject{{"checkpoint", one.id},
                                   {"superstep", one.superstep},
                                   {"status", std::string(name_of(one.status))},
                                   {"revision", number(one.revision)}});
    }
    json.set("checkpoints", std::move(list));
    context.out.line(to_text(json));
    return {};
  }
  context.out.line(run.workflow + " " + run.run + ": " + std::string(status_word(run.status)) + " after " +
                   counted(run.supersteps, "superstep") + ", session " + run.key.session.text());
  for (const InfoRequest& request : run.requests) show_request(context, run.run, request);
  std::vector<std::vector<std::string>> nodes;
  nodes.reserve(run.marks.size());
  for (const auto& [node, mark] : run.marks) {
    nodes.push_back({node, std::string(name_of(mark.state)), std::to_string(mark.calls),
                     std::to_string(mark.time.count() / 1'000) + " ms"});
  }
  context.out.table({"participant", "state", "calls", "time"}, nodes);
  std::vector<std::vector<std::string>> rows;
  rows.reserve(checkpoints.size());
  for (const CheckpointInfo& one : checkpoints) {
    rows.push_back(
        {one.id, std::to_string(one.superstep), std::string(name_of(one.status)), iso_time(one.time)});
  }
  context.out.table({"checkpoint", "superstep", "status", "time"}, rows);
  return {};
}

Result<void> draw_workflow(const WorkflowArguments& options, const Context& context) {
  TERTULIA_TRY_AS(const Workflow workflow, load_drawing(context, options));
  DrawingOptions drawing{.show_internal = options.show_internal};
  if (!options.run.empty()) {
    TERTULIA_TRY_AS(const auto workflows, open_workflows(context, Need::kExisting));
    TERTULIA_TRY_AS(const StoredRun run, find_run(context, *workflows, options.run));
    drawing.marks = run.marks;
  }
  if (options.format == "dot") {
    context.out.print(to_dot(workflow, drawing));
  } else if (options.format == "svg") {
    context.out.print(to_svg(workflow, drawing));
  } else {
    context.out.print(to_mermaid(workflow, drawing));
  }
  return {};
}

// The one that is named, or the only one there is.
Result<std::string> request_of(const StoredRun& run, const std::string& named) {
  if (!named.empty()) return named;
  if (run.requests.size() == 1) return run.requests.front().id;
  return Error(ErrorCode::kNoQuestion,
               run.requests.empty() ? "run " + run.run + " asks nothing"
                                    : "run " + run.run + " asks several things; tertulia workflow show " +
                                          run.run + " tells their names");
}

Result<void> approve(const WorkflowArguments& options, const Context& context) {
  TERTULIA_TRY_AS(const auto workflows, open_workflows(context, Need::kExisting));
  TERTULIA_TRY_AS(const StoredRun run, find_run(context, *workflows, options.run));
  TERTULIA_TRY_AS(const std::string request, request_of(run, options.request));
  TERTULIA_TRY(workflows->answer(run.key, run.run, request, options.text));
  if (!context.out.json) context.out.line("Answered. Go on with: tertulia workflow resume FILE " + run.run);
  return {};
}

}  // namespace

void add_workflow(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("workflow", "Run several agents in one conversation, from a TOML file");
  command->require_subcommand(1);
  command->footer(
      "A file as short as can be:\n\n"
      "  [workflow]\n  participants = [\"writer\", \"critic\"]\n\n"
      "  [agents.writer]\n  instructions = \"Write a short text.\"\n\n"
      "  [agents.critic]\n  instructions = \"Say what is wrong with it.\"\n\n"
      "Every key: docs/guides/workflows.md");
  auto options = std::make_shared<WorkflowArguments>();
  const auto add = [&](const std::string& name, const std::string& about,
                       Result<void> (*work)(const WorkflowArguments&, const Context&)) {
    CLI::App* sub = command->add_subcommand(name, about);
    sub->callback([options, work, &context] { context.run([&] { return work(*options, context); }); });
    return sub;
  };
  CLI::App* run = add("run", "Run a workflow on a message", run_workflow);
  run->add_option("file", options->file, "The workflow")->required();
  run->add_option("message", options->message,
                  "What to say; not given, and without --session: standard input");
  run->add_option("--session", options->session,
                  "The session to go on with, or to begin; a new one if not given");
  run->add_option("--model", options->model, "For agents that name none");
  run->add_flag("--show-internal", options->show_internal, "Tell of plumbing too");
  CLI::App* resume =
      add("resume", "Go on with a run that was cut, failed or has been answered", resume_workflow);
  resume->add_option("file", options->file, "The workflow it began with")->required();
  resume->add_option("run", options->run,
                     "The run, or a part of its id; not given: the latest that is not at its end");
  resume->add_option("--model", options->model, "For agents that name none");
  CLI::App* fork = add("fork", "Begin a new run where another was, on a new branch", fork_workflow);
  fork->add_option("file", options->file, "The workflow it began with")->required();
  fork->add_option("checkpoint", options->run, "RUN/NUMBER, as show tells it")->required();
  fork->add_option("--model", options->model, "For agents that name none");
  add("list", "The runs, the latest first",
      [](const WorkflowArguments&, const Context& which) { return list_workflows(which); });
  CLI::App* show_it = add("show", "A run, what it asks, and its checkpoints", show_workflow);
  show_it->add_option("run", options->run, "The run, or a part of its id; not given: the latest");
  CLI::App* graph = add("graph", "Draw a workflow", draw_workflow);
  graph->add_option("file", options->file, "The workflow")->required();
  graph->add_option("--format", options->format, "mermaid, dot or svg")
      ->check(CLI::IsMember({"mermaid", "dot", "svg"}))
      ->capture_default_str();
  graph->add_option("--run", options->run, "With what became of its nodes in this run");
  graph->add_flag("--show-internal", options->show_internal, "Draw plumbing too");
  CLI::App* answer = add("approve", "Answer what a run asks: without words it is approved", approve);
  answer->add_option("run", options->run, "The run, or a part of its id")->required();
  answer->add_option("request", options->request, "Which of its questions; not needed if it asks one");
  answer->add_option("--text", options->text, "Words to answer with");
}

}  // namespace tertulia::cli
