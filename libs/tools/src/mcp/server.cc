#include <utility>

#include "mcp/access.h"
#include "mcp/content.h"
#include "mcp/server_core.h"

namespace tertulia {
namespace {

// A completion of JSON that hands on what `read` makes of it.
template <class T, class Read>
Done<Json> reading(Done<T> done, Read read) {
  return [done = std::move(done), read = std::move(read)](Result<Json> result) {
    if (!result) return done(std::move(result).error());
    done(read(*result));
  };
}

template <class T>
Done<JsonArray> reading_each(Done<std::vector<T>> done, T (*read)(const Json&)) {
  return [done = std::move(done), read](Result<JsonArray> list) {
    if (!list) return done(std::move(list).error());
    std::vector<T> all;
    for (const Json& value : *list) all.push_back(read(value));
    done(std::move(all));
  };
}

Done<Json> without_value(Done<void> done) {
  return [done = std::move(done)](Result<Json> result) {
    if (!result) return done(std::move(result).error());
    done({});
  };
}

}  // namespace

std::string_view name_of(McpState state) {
  switch (state) {
    case McpState::kIdle:
      return "idle";
    case McpState::kConnecting:
      return "connecting";
    case McpState::kReady:
      return "ready";
    case McpState::kDown:
      return "down";
    case McpState::kClosed:
      return "closed";
  }
  TERTULIA_CHECK(false, "a state has a name");
}

McpServer::McpServer(McpConfig config, McpOptions options)
    : core_(std::make_shared<Core>(std::move(config), std::move(options))) {}

McpServer::~McpServer() {
  core_->detach();
  if (McpLoop::shared().on_thread()) {
    core_->close([] {});
  } else {
    (void)wait<void>([&](auto done) { close(std::move(done)); });
  }
}

const std::string& McpServer::name() const { return core_->config().name; }

McpStatus McpServer::status() const {
  if (McpLoop::shared().on_thread()) return core_->status();
  return *wait<McpStatus>(
      [&](const Done<McpStatus>& done) { core_->post([done](const Core& core) { done(core.status()); }); });
}

void McpServer::connect(Done<void> done) {
  core_->post([done = std::move(done)](Core& core) { core.connect(done); });
}

Result<void> McpServer::connect() {
  return wait<void>([&](auto done) { connect(std::move(done)); });
}

void McpServer::close(Done<void> done) {
  core_->post([done = std::move(done)](Core& core) { core.close([done] { done({}); }); });
}

Toolkit McpServer::toolkit() const { return core_->toolkit(); }

Result<void> McpServer::attach(ToolRegistry& registry) { return core_->attach(registry); }

void McpServer::list_resources(Done<std::vector<McpResource>> done) {
  core_->post([done = std::move(done)](Core& core) {
    core.list("resources/list", "resources", "resources", reading_each(done, &resource_of));
  });
}

void McpServer::list_resource_templates(Done<std::vector<McpResourceTemplate>> done) {
  core_->post([done = std::move(done)](Core& core) {
    core.list("resources/templates/list", "resourceTemplates", "resources",
              reading_each(done, &resource_template_of));
  });
}

void McpServer::read_resource(std::string uri, Done<std::vector<McpResourceContent>> done) {
  core_->post([uri = std::move(uri), done = std::move(done)](Core& core) {
    core.request("resources/read", JsonObject{{"uri", uri}}, reading(done, &contents_of));
  });
}

void McpServer::subscribe(std::string uri, Done<void> done) {
  core_->post(
      [uri = std::move(uri), done = std::move(done)](Core& core) { core.subscribe(uri, true, done); });
}

void McpServer::unsubscribe(std::string uri, Done<void> done) {
  core_->post(
      [uri = std::move(uri), done = std::move(done)](Core& core) { core.subscribe(uri, false, done); });
}

void McpServer::list_prompts(Done<std::vector<McpPrompt>> done) {
  core_->post([done = std::move(done)](Core& core) {
    core.list("prompts/list", "prompts", "prompts", reading_each(done, &prompt_of));
  });
}

void McpServer::get_prompt(std::string name, const Json& arguments, Done<McpPromptText> done) {
  JsonObject params{{"name", std::move(name)}};
  if (arguments.as_object() != nullptr) params.append("arguments", arguments);
  core_->post([params = Json(std::move(params)), done = std::move(done)](Core& core) {
    core.request("prompts/get", params, reading(done, &prompt_text_of));
  });
}

void McpServer::complete(const Json& ref, std::string argument, std::string value,
                         Done<std::vector<std::string>> done) {
  Json params = JsonObject{
      {"ref", ref}, {"argument", JsonObject{{"name", std::move(argument)}, {"value", std::move(value)}}}};
  core_->post([params = std::move(params), done = std::move(done)](Core& core) {
    core.request("completion/complete", params, reading(done, [](const Json& result) {
                   std::vector<std::string> values;
                   const Json* completion = member_of(result, "completion");
                   if (completion == nullptr) return values;
                   for (const Json& one : list_of(*completion, "values")) {
                     if (const std::string* text = one.as_string()) values.push_back(*text);
                   }
                   return values;
                 }));
  });
}

void McpServer::set_log_level(std::string level, Done<void> done) {
  core_->post([level = std::move(level), done = std::move(done)](Core& core) {
    core.request("logging/setLevel", JsonObject{{"level", level}}, without_value(done));
  });
}

void McpServer::ping(Done<void> done) {
  core_->post(
      [done = std::move(done)](Core& core) { core.request("ping", JsonObject{}, without_value(done)); });
}

}  // namespace tertulia
