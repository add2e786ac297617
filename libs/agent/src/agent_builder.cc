#include <algorithm>
#include <optional>
#include <utility>

#include "tertulia/agent/agent.h"
#include "tertulia/model/model_catalog.h"
#include "tertulia/model/offline_model.h"
#include "tertulia/store/sqlite_store.h"

namespace tertulia {

struct AgentBuilder::Parts {
  AgentSpec spec;
  std::shared_ptr<LanguageModel> model;
  std::string model_name;
  std::shared_ptr<ToolRegistry> tools = std::make_shared<ToolRegistry>();
  std::optional<PermissionPolicy> permissions;
  std::shared_ptr<Memory> memory;
  std::vector<MiddlewarePtr> middleware;
  std::shared_ptr<Store> store;
  std::optional<std::filesystem::path> directory;
  std::shared_ptr<Engine> engine;
  bool persist_after_turn = true;
  // The first thing that went wrong.
  std::optional<Error> problem;

  template <class T>
  bool keep(const Result<T>& result) {
    if (!result && !problem) problem = result.error();
    return result.ok();
  }
};

AgentBuilder::AgentBuilder() : parts_(std::make_unique<Parts>()) {
  parts_->spec.id = *AgentId::parse("agent");
  parts_->spec.name = "agent";
}
AgentBuilder::~AgentBuilder() = default;
AgentBuilder::AgentBuilder(AgentBuilder&&) noexcept = default;
AgentBuilder& AgentBuilder::operator=(AgentBuilder&&) noexcept = default;

AgentBuilder& AgentBuilder::with_id(std::string_view id) {
  const Result<AgentId> parsed = AgentId::parse(id);
  if (parts_->keep(parsed)) parts_->spec.id = *parsed;
  return *this;
}

AgentBuilder& AgentBuilder::with_name(std::string name) {
  parts_->spec.name = std::move(name);
  return *this;
}

AgentBuilder& AgentBuilder::with_system_prompt(std::string prompt) {
  parts_->spec.system_prompt = std::move(prompt);
  return *this;
}

AgentBuilder& AgentBuilder::with_spec(AgentSpec spec) {
  parts_->spec = std::move(spec);
  return *this;
}

AgentBuilder& AgentBuilder::with_limits(AgentLimits limits) {
  parts_->spec.limits = std::move(limits);
  return *this;
}

AgentBuilder& AgentBuilder::with_memory(MemoryConfig memory) {
  parts_->spec.memory = std::move(memory);
  return *this;
}

AgentBuilder& AgentBuilder::with_memory_of(std::shared_ptr<Memory> memory) {
  parts_->memory = std::move(memory);
  return *this;
}

AgentBuilder& AgentBuilder::with_provider(std::string_view provider, std::string_view model, Secret key) {
  ModelConfig config;
  config.name = model.empty() ? std::string(provider) : std::string(provider) + "/" + std::string(model);
  if (!key.empty()) config.provider.key = std::make_shared<const Secret>(std::move(key));
  config.environment = process_environment();
  Result<ConfiguredModel> made = make_model(config);
  if (!parts_->keep(made)) return *this;
  return with_model(made->model, made->name);
}

AgentBuilder& AgentBuilder::with_model(std::shared_ptr<LanguageModel> model, std::string_view model_name) {
  parts_->model = std::move(model);
  parts_->model_name = model_name;
  return *this;
}

AgentBuilder& AgentBuilder::with_permissions(PermissionPolicy policy) {
  parts_->permissions = std::move(policy);
  return *this;
}

AgentBuilder& AgentBuilder::with_middleware(MiddlewarePtr middleware) {
  const auto same_name = [&](const MiddlewarePtr& other) { return other->name() == middleware->name(); };
  if (std::ranges::any_of(parts_->middleware, same_name)) {
    parts_->keep(Result<void>(Error(
        ErrorCode::kDuplicateKey, "there is another middleware '" + std::string(middleware->name()) + "'")));
    return *this;
  }
  for (const ToolPtr& tool : middleware->tools()) with_tool(tool);
  parts_->middleware.push_back(std::move(middleware));
  return *this;
}

AgentBuilder& AgentBuilder::with_tool(ToolPtr tool) {
  parts_->keep(parts_->tools->add(std::move(tool)));
  return *this;
}

AgentBuilder& AgentBuilder::with_toolkit(const Toolkit& toolkit) {
  parts_->keep(parts_->tools->add(toolkit));
  return *this;
}

AgentBuilder& AgentBuilder::with_session_store(std::shared_ptr<Store> store, bool persist_after_turn) {
  parts_->store = std::move(store);
  parts_->directory.reset();
  parts_->persist_after_turn = persist_after_turn;
  return *this;
}

AgentBuilder& AgentBuilder::with_session_store(const std::filesystem::path& directory,
                                               bool persist_after_turn) {
  parts_->store = nullptr;
  parts_->directory = directory;
  parts_->persist_after_turn = persist_after_turn;
  return *this;
}

AgentBuilder& AgentBuilder::with_engine(std::shared_ptr<Engine> engine) {
  parts_->engine = std::move(engine);
  return *this;
}

Result<Agent> AgentBuilder::build() {
  if (parts_->problem) return *parts_->problem;
  if (!parts_->model) with_model(offline_model(), "offline");
  auto definition = std::make_shared<AgentDefinition>();
  definition->spec = parts_->spec;
  definition->model = parts_->model;
  definition->model_name = parts_->model_name;
  definition->tools = parts_->tools;
  definition->permissions = parts_->permissions;
  definition->memory = parts_->memory;
  definition->middleware = parts_->middleware;
  if (definition->spec.model.empty()) {
    definition->spec.model = parts_->model_name.empty() ? "custom" : parts_->model_name;
  }
  TERTULIA_TRY(check_spec(definition->spec));
  if (!parts_->engine) {
    if (parts_->directory) {
      TERTULIA_TRY_AS(parts_->store, open_sqlite_store(real_env(), *parts_->directory));
    }
    TERTULIA_TRY_AS(parts_->engine, Engine::open({.store = parts_->store}));
  }
  TERTULIA_TRY(parts_->engine->add(definition));
  return Agent(parts_->engine, std::move(definition), parts_->persist_after_turn);
}

}  // namespace tertulia
