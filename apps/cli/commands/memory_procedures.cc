// tertulia memory procedures: how things are done here; what agents have learned waits for a person.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/base/env.h"
#include "tertulia/base/json.h"
#include "tertulia/memory/procedural_memory.h"

#include "commands.h"
#include "open_store.h"
#include "words.h"

namespace tertulia::cli {
namespace {

struct ProcedureOptions {
  // Empty: those of all agents.
  std::string agent;
  // The one to be shown.
  std::string name;
  std::string approve;
  std::string forget;
  std::string add;
  std::string description;
  std::string trigger;
  std::vector<std::string> steps;
};

// Procedures of one agent, or of all.
struct Desk {
  OpenStore open;
  TenantId tenant;
  AgentId agent;
  std::unique_ptr<ProceduralMemory> memory;
};

Result<Desk> open_procedures(const ProcedureOptions& options, const Context& context) {
  Desk desk;
  TERTULIA_TRY_AS(desk.tenant, tenant_of(context));
  if (!options.agent.empty()) {
    TERTULIA_TRY_AS(desk.agent, AgentId::parse(options.agent));
  }
  TERTULIA_TRY_AS(desk.open, open_store(context, options.add.empty() ? Need::kExisting : Need::kCreate));
  desk.memory = std::make_unique<ProceduralMemory>(*desk.open, real_env(), nullptr);
  return desk;
}

std::string procedure_state(const Procedure& procedure) {
  if (procedure.approved) return procedure.learned ? "learned, approved" : "approved";
  return procedure.learned ? "learned, waits for approval" : "waits for approval";
}

void show_json(const Context& context, const Procedure& procedure) {
  JsonArray steps;
  for (const ProcedureStep& step : procedure.steps) {
    JsonObject form{{"instruction", step.instruction}};
    if (!step.tool.empty()) form.set("tool", step.tool);
    steps.emplace_back(std::move(form));
  }
  context.out.line(to_text(JsonObject{{"procedure", procedure.name},
                                      {"description", procedure.description},
                                      {"trigger", procedure.trigger},
                                      {"steps", std::move(steps)},
                                      {"approved", procedure.approved},
                                      {"learned", procedure.learned},
                                      {"writer", procedure.writer},
                                      {"changed_at", iso_time(procedure.changed_at)}}));
}

Result<void> list_procedures(const Desk& desk, const Context& context) {
  TERTULIA_TRY_AS(const std::vector<Procedure> all, desk.memory->list(desk.tenant, desk.agent));
  std::vector<std::vector<std::string>> rows;
  for (const Procedure& procedure : all) {
    if (context.out.json) {
      show_json(context, procedure);
      continue;
    }
    rows.push_back({procedure.name, procedure_state(procedure), std::to_string(procedure.steps.size()),
                    one_line(procedure.trigger), fit(one_line(procedure.description), 50)});
  }
  if (context.out.json) return {};
  if (rows.empty()) {
    context.out.line("There are no procedures here.");
  } else {
    context.out.table({"procedure", "state", "steps", "trigger", "when"}, rows);
  }
  return {};
}

// As a model is shown it.
Result<void> show_procedure(const Desk& desk, const std::string& name, const Context& context) {
  TERTULIA_TRY_AS(const std::vector<Procedure> all, desk.memory->list(desk.tenant, desk.agent));
  const auto found = std::ranges::find(all, name, &Procedure::name);
  if (found == all.end()) {
    return Error(ErrorCode::kNotFound,
                 "there is no procedure '" + one_line(name) + "'; see: tertulia memory procedures");
  }
  if (context.out.json) {
    show_json(context, *found);
    return {};
  }
  context.out.line(context.out.styled(
      Style::kDim,
      procedure_state(*found) + " · by " + one_line(found->writer) + " · " + iso_time(found->changed_at)));
  context.out.line(printable_lines(text_of(*found)));
  return {};
}

Result<void> add_procedure(const Desk& desk, const ProcedureOptions& options, const Context& context) {
  if (options.steps.empty() || (options.description.empty() && options.trigger.empty())) {
    return Error(ErrorCode::kMissingField,
                 "a procedure needs steps, and a trigger or a sentence that says when it is used: --step, "
                 "--trigger, --when");
  }
  Procedure procedure{
      .name = options.add, .description = options.description, .trigger = options.trigger, .approved = true};
  for (const std::string& step : options.steps) procedure.steps.push_back({.instruction = step});
  TERTULIA_TRY(desk.memory->put(desk.tenant, desk.agent, std::move(procedure),
                                {.kind = WriterKind::kOperator, .name = context.owner}));
  return show_procedure(desk, options.add, context);
}

Result<void> procedures(const ProcedureOptions& options, const Context& context) {
  TERTULIA_TRY_AS(const Desk desk, open_procedures(options, context));
  if (!options.add.empty()) return add_procedure(desk, options, context);
  if (!options.approve.empty()) {
    TERTULIA_TRY(desk.memory->approve(desk.tenant, desk.agent, options.approve,
                                      {.kind = WriterKind::kOperator, .name = context.owner}));
    return show_procedure(desk, options.approve, context);
  }
  if (!options.forget.empty()) {
    TERTULIA_TRY(desk.memory->forget(desk.tenant, desk.agent, options.forget));
    if (context.out.json) {
      context.out.line(to_text(JsonObject{{"procedure", options.forget}, {"forgotten", true}}));
    } else {
      context.out.line("It is forgotten.");
    }
    return {};
  }
  if (!options.name.empty()) return show_procedure(desk, options.name, context);
  return list_procedures(desk, context);
}

}  // namespace

void add_memory_procedures(CLI::App& memory, Context& context) {
  auto options = std::make_shared<ProcedureOptions>();
  CLI::App* command = memory.add_subcommand(
      "procedures", "List how things are done here, show one, and approve what agents have learned");
  CLI::Option* name = command->add_option("name", options->name, "The one to be shown");
  command->add_option("--agent", options->agent, "Those of this agent; not given: those of all agents");
  CLI::Option* approve =
      command->add_option("--approve", options->approve, "From now on models are shown this one");
  CLI::Option* forget = command->add_option("--forget", options->forget, "Forget this one");
  CLI::Option* add = command->add_option("--add", options->add, "Add one, or take the place of it");
  approve->excludes(forget)->excludes(add)->excludes(name);
  forget->excludes(add)->excludes(name);
  add->excludes(name);
  command->add_option("--when", options->description, "Of a new one: what it is for; compared by meaning")
      ->needs(add);
  command
      ->add_option("--trigger", options->trigger,
                   "Of a new one: a pattern; found in a message, its steps are shown")
      ->needs(add);
  command->add_option("--step", options->steps, "Of a new one: what to do; once for each step")
      ->needs(add)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->callback([options, &context] { context.run([&] { return procedures(*options, context); }); });
}

}  // namespace tertulia::cli
