#include "host.h"

#include <algorithm>
#include <utility>

#include "tertulia/base/log.h"
#include "tertulia/base/nearest.h"
#include "tertulia/memory/knowledge_source.h"
#include "tertulia/memory/memory.h"
#include "tertulia/tools/address_judge.h"
#include "tertulia/tools/builtin_tools.h"
#include "tertulia/tools/fetch_tool.h"
#include "tertulia/tools/file_tools.h"
#include "tertulia/tools/process_tool.h"

#include "configured_memory.h"
#include "ingest_jobs.h"
#include "live_server.h"
#include "mcp_pool.h"
#include "model_choices.h"
#include "reaper.h"
#include "secret_file.h"
#include "store_news.h"
#include "workflow_agents.h"
#include "workflow_desk.h"

namespace tertulia {
namespace {

constexpr std::string_view kMcpPrefix = "mcp.";

Result<EgressPolicy> egress_of(const Config& config) {
  EgressRules rules;
  rules.allow_hosts = config.strings("tools.fetch.allow");
  rules.deny_hosts = config.strings("tools.fetch.deny");
  rules.allow_networks = config.strings("tools.fetch.allow_networks");
  auto policy = EgressPolicy::make(std::move(rules));
  if (!policy) return std::move(policy).error().in("tools.fetch");
  return policy;
}

// What models are given of addresses in messages. Which hosts a tool may fetch from says nothing of pictures.
Result<std::shared_ptr<AddressJudge>> addresses_of(const Config& config, Env& env) {
  EgressRules rules;
  rules.deny_hosts = config.strings("tools.fetch.deny");
  rules.allow_networks = config.strings("tools.fetch.allow_networks");
  auto policy = policy_for_parts(std::move(rules));
  if (!policy) return std::move(policy).error().in("tools.fetch");
  return std::make_shared<AddressJudge>(*std::move(policy), env.clock());
}

Result<ToolPtr> process_of(const Config& config) {
  ProcessOptions options{.root = config.path("tools.process.root")};
  for (const std::string& program : config.strings("tools.process.programs"))
    options.programs.emplace_back(program);
  options.shell = config.boolean("tools.process.shell");
  options.network = config.boolean("tools.process.network");
  options.require_confinement = config.boolean("tools.process.require_confinement");
  options.limits.time = config.duration("tools.process.time");
  auto tool = process_tool(std::move(options));
  if (!tool) return std::move(tool).error().in("tools.process");
  return tool;
}

// The server as its table says. Where that does not say how long a call may be silent, it is as long as a
// tool of those who use the server may take: so the time in which a person is asked does not count.
McpConfig mcp_of(const HostPlan& plan, const AgentPlan& agent, const std::string& tool) {
  McpConfig server = plan.mcp.at(tool.substr(kMcpPrefix.size()));
  if (server.call_timeout) return server;
  server.call_timeout = agent.spec.limits.tool_timeout;
  for (const auto& [name, other] : plan.agents) {
    if (std::ranges::find(other.spec.tools, tool) != other.spec.tools.end())
      server.call_timeout = std::max(*server.call_timeout, other.spec.limits.tool_timeout);
  }
  return server;
}

// Puts a tool of ours into the registry, by its name in the configuration.
Result<void> add_tool(ToolRegistry& registry, const std::string& name, const Config& config, Env& env) {
  if (name == "calculator") return registry.add(calculator_tool());
  if (name == "clock") return registry.add(clock_tool(env.clock()));
  if (name == "end_conversation") return registry.add(end_conversation_tool());
  if (name == "files") {
    auto files =
        file_tools(config.path("tools.files.root"), {.read_only = config.boolean("tools.files.read_only")});
    if (!files) return std::move(files).error().in("tools.files");
    return registry.add(*files);
  }
  if (name == "process") {
    TERTULIA_TRY_AS(const ToolPtr tool, process_of(config));
    return registry.add(tool);
  }
  TERTULIA_TRY_AS(EgressPolicy policy, egress_of(config));
  return registry.add(name == "fetch" ? http_fetch_tool(std::move(policy))
                                      : http_post_tool(std::move(policy)));
}

// What runs by itself (jobs, workflows) belongs to one server.
Result<void> check_nobody_serves(const Path& directory, Env& env) {
  const std::optional<LiveServer> server = find_live_server(env.files(), directory);
  if (!server) return {};
  return Error(ErrorCode::kLocked, "'" + directory.string() + "' is served already, at " + server->url +
                                       " by process " + std::to_string(server->process) +
                                       "; use that one, stop it, or choose another directory with --data")
      .with("pid", static_cast<std::int64_t>(server->process));
}

}  // namespace

Host::~Host() {
  if (news_) news_->follow({}, {}, {});
  workflows_.reset();
  jobs_.reset();
  reaper_.reset();
  // Turns that run are parked before the servers they use end.
  agents_.clear();
  engine_.reset();
}

Result<std::unique_ptr<Host>> Host::open(const Config& config, const HostOptions& options) {
  std::unique_ptr<Host> host(new Host);
  host->config_ = config;
  host->options_ = options;
  TERTULIA_TRY_AS(host->plan_, plan_host(config, options.environment, *options.env));
  host->models_ = std::make_shared<const ModelChoices>(host->plan_, options.environment, *options.env);
  if (options.serve) TERTULIA_TRY(check_nobody_serves(config.path("data"), *options.env));
  host->news_ = std::make_shared<StoreNews>();
  const auto changed = [news = host->news_](const SessionKey& key) { news->changed(key); };
  TERTULIA_TRY_AS(ConfiguredStore open, open_configured_store(config, options.need, *options.env, changed));
  host->directory_ = open.directory;
  host->store_ = std::move(open.store);
  TERTULIA_TRY(host->open_memory(config, options));
  TERTULIA_TRY_AS(std::shared_ptr<AddressJudge> addresses, addresses_of(config, *options.env));
  TERTULIA_TRY_AS(host->engine_, Engine::open({.store = host->store_,
                                               .env = options.env,
                                               .addresses = std::move(addresses),
                                               .recover = options.recover}));
  host->news_->follow(host->engine_, host->memory_, host->semantic_);
  host->mcp_ = std::make_unique<McpPool>(options.environment, Engine::elicitations(host->engine_));
  host->make_agents();
  if (options.reap) {
    const Result<AgentDefinitionPtr> closer = host->agent("default");
    host->reaper_ = std::make_unique<Reaper>(host->memory_,
                                             closer ? give_up_turns(host->engine_, *closer) : GiveUpTurns());
  }
  if (options.serve) TERTULIA_TRY(host->open_desks());
  return host;
}

Result<void> Host::open_memory(const Config& config, const HostOptions& options) {
  TERTULIA_TRY_AS(embedder_, configured_embedder(config));
  for (const std::string& name : config.strings("memory.shared")) {
    if (Result<void> fine = check_id(name, "collection"); !fine)
      return std::move(fine).error().in("memory.shared");
  }
  semantic_ = std::make_shared<SemanticMemory>(*store_, *options.env, embedder_);
  memory_ = std::make_shared<Memory>(store_, *options.env,
                                     MemoryOptions{.embedder = embedder_, .rules = rules_of(plan_)});
  // What all agents may recall, and what an agent's own table adds.
  const KnowledgeScope others{.shared = config.strings("memory.shared")};
  std::map<AgentId, KnowledgeScope> scopes;
  for (const auto& [name, plan] : plan_.agents) {
    KnowledgeScope scope = plan.knowledge;
    scope.shared.insert(scope.shared.end(), others.shared.begin(), others.shared.end());
    scopes.emplace(plan.spec.id, std::move(scope));
  }
  TERTULIA_TRY_AS(const std::optional<ConfiguredModel> model,
                  memory_model(config, plan_, options.environment, *options.env));
  memory_->episodic().set_summariser(summariser_of(config, model));
  memory_->add_source(
      knowledge_source(semantic_, store_, std::move(scopes), others, extractor_of(config, model)));
  // Before anybody talks: a session of which messages were being erased may be on its way back.
  if (const Result<std::size_t> finished = memory_->finish_erasing(); !finished) {
    Log().component("memory").warn("erasing could not be finished",
                                   {{"code", name_of(finished.error().code())}});
  }
  return {};
}

Result<void> Host::open_desks() {
  jobs_ = std::make_unique<IngestJobs>(*semantic_, *store_, *options_.env);
  WorkflowDesk::Workflows workflows;
  std::map<std::string, WorkflowFile> files;
  for (const auto& [name, source] : plan_.workflows) {
    Result<WorkflowFile> file = WorkflowFile::read(source, workflow_agents(), *options_.env);
    workflows.emplace(name, file ? Result<Workflow>(file->workflow()) : Result<Workflow>(file.error()));
    if (file) files.emplace(name, *std::move(file));
  }
  TERTULIA_TRY_AS(const HandleKey handles, open_secret(*options_.env, directory_, "handle.key"));
  TERTULIA_TRY_AS(workflows_, WorkflowDesk::open(engine_, std::move(workflows), handles));
  workflows_->set_maker([files = std::move(files)](const std::string& name, const ChangeAgent& change) {
    return files.at(name).make(change);
  });
  return {};
}

void Host::make_agents() {
  for (const auto& [name, plan] : plan_.agents) {
    if (options_.only && *options_.only != name) continue;
    Result<std::shared_ptr<AgentDefinition>> agent = make_agent(plan);
    if (agent) (*agent)->memory = memory_;
    agents_.emplace(name, agent ? Result<AgentDefinitionPtr>(*agent) : std::move(agent).error());
  }
  mcp_->connect();
  // Recovery begins when an agent is added, and needs all of its tools.
  for (auto& [name, agent] : agents_) {
    if (!agent) continue;
    if (Result<void> added = engine_->add(*agent); !added) agent = std::move(added).error();
  }
}

WorkflowAgents Host::workflow_agents() {
  WorkflowAgents agents;
  agents.declared = [this](const WorkflowSource& source,
                           const DeclaredAgent& declared) -> Result<AgentDefinitionPtr> {
    TERTULIA_TRY_AS(const AgentPlan plan, plan_declared(config_, plan_, source, declared, *options_.env));
    TERTULIA_TRY_AS(AgentDefinitionPtr agent, make_agent(plan));
    mcp_->connect();
    return agent;
  };
  agents.known = [this](const std::string& id) { return agent(id); };
  return agents;
}

Result<std::shared_ptr<AgentDefinition>> Host::make_agent(const AgentPlan& plan) {
  auto definition = std::make_shared<AgentDefinition>();
  definition->spec = plan.spec;
  definition->permissions = plan.permissions;
  if (options_.unattended) definition->permissions->unattended = true;
  definition->tools = std::make_shared<ToolRegistry>();
  TERTULIA_TRY_AS(definition->middleware, make_middleware(plan.middleware));
  for (const MiddlewarePtr& middleware : definition->middleware) {
    for (const ToolPtr& tool : middleware->tools()) TERTULIA_TRY(definition->tools->add(tool));
  }
  definition->middleware.insert(definition->middleware.begin(), options_.middleware.begin(),
                                options_.middleware.end());
  const std::string where = "agent '" + plan.spec.id.text() + "'";
  auto model = configured_model(plan_.models, plan.spec.model, options_.environment, *options_.env);
  if (!model) return std::move(model).error().in(where);
  definition->model = models_->beside(model->model);
  definition->model_name = model->name;
  if (definition->spec.model.empty()) definition->spec.model = plan_.models.at("").name;
  for (const std::string& tool : plan.spec.tools) {
    if (tool.starts_with(kMcpPrefix)) {
      const McpConfig server = mcp_of(plan_, plan, tool);
      mcp_->add(server);
      mcp_->attach(server.name, definition->tools);
      continue;
    }
    auto added = tool == "memory" ? definition->tools->add(search_memory_tool(memory_, plan.spec))
                                  : add_tool(*definition->tools, tool, config_, *options_.env);
    if (!added) return std::move(added).error().in(where);
  }
  made_.push_back(definition);
  return definition;
}

Result<AgentDefinitionPtr> Host::agent(std::string_view name) const {
  const auto found = agents_.find(name);
  if (found != agents_.end()) return found->second;
  std::vector<std::string> known;
  known.reserve(plan_.agents.size());
  for (const auto& [id, plan] : plan_.agents) known.push_back(id);
  return Error(ErrorCode::kNotFound, "there is no agent '" + std::string(name) + "'" +
                                         did_you_mean(name, known) +
                                         "; agents stand in [agents.NAME] of the configuration")
      .with("agents", std::move(known));
}

std::vector<std::string> Host::agents() const {
  std::vector<std::string> names;
  names.reserve(agents_.size());
  for (const auto& [name, agent] : agents_) names.push_back(name);
  return names;
}

std::map<std::string, McpStatus> Host::mcp() const { return mcp_->statuses(); }

namespace {

// A rule for a tool of a server that is there and has none of this name. Servers that are missing are told of
// by themselves.
void add_idle_rules(const AgentDefinition& agent, const std::map<std::string, McpStatus>& servers,
                    std::vector<std::string>& warnings) {
  const ToolSetPtr tools = agent.tools->snapshot();
  std::vector<std::string> names;
  for (const ToolEntry& entry : tools->entries()) names.push_back(entry.name());
  for (const PermissionRule& rule : agent.permissions->rules) {
    if (tools->find(rule.tool) != nullptr) continue;
    const bool missed = std::ranges::any_of(servers, [&](const auto& server) {
      return rule.tool.starts_with(server.first + "__") && server.second.state == McpState::kReady;
    });
    if (!missed) continue;
    warnings.push_back("agent '" + agent.spec.id.text() + "' has no tool '" + rule.tool + "'" +
                       did_you_mean(rule.tool, names) + ": its rule in permissions.tools never holds");
  }
}

}  // namespace

std::vector<std::string> Host::warnings() const {
  std::vector<std::string> all = mcp_->warnings();
  const std::map<std::string, McpStatus> servers = mcp_->statuses();
  bool programs = false;
  for (const AgentDefinitionPtr& agent : made_) {
    add_idle_rules(*agent, servers, all);
    programs = programs || agent->tools->snapshot()->find("run_program") != nullptr;
  }
  if (programs && !confinement_report().complete()) {
    all.push_back(
        "programs of models are not shut off as they should be, and "
        "tools.process.require_confinement allows that:\n" +
        confinement_report().text());
  }
  for (const auto& [name, agent] : agents_) {
    if (!agent) all.push_back(agent.error().message());
  }
  if (workflows_) {
    for (const std::string& name : workflows_->names()) {
      const Result<Workflow> workflow = workflows_->find(name);
      if (!workflow) all.push_back("workflow '" + name + "': " + workflow.error().message());
    }
  }
  return all;
}

Result<ConfiguredModel> configured_model(const std::map<std::string, ModelConfig>& models,
                                         const std::string& name, const Environment& environment, Env& env) {
  const auto found = models.find(name);
  if (found != models.end()) return make_model(found->second, env);
  ModelConfig config;
  config.name = name;
  config.environment = environment;
  auto model = make_model(config, env);
  if (model || model.error().code() != ErrorCode::kModelNotFound) return model;
  std::vector<std::string> known;
  for (const auto& [id, each] : models) {
    if (!id.empty()) known.push_back(id);
  }
  if (known.empty()) return model;
  return std::move(model).error().in("[models] has no '" + name + "'" + did_you_mean(name, known));
}

}  // namespace tertulia
