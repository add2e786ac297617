// mcp_conformance_client URL: what the conformance suite runs. Connects, calls every tool with arguments that
// fit its schema, accepts every question with nothing but its defaults, and leaves.
#include <cstdio>
#include <string>

#include "tertulia/tools/mcp_server.h"

namespace tertulia {
namespace {

class Agreeable final : public McpQuestions {
 public:
  void ask(McpQuestion, Done<McpAnswer> done) override {
    done(McpAnswer{McpAnswer::Action::kAccept, JsonObject{}});
  }
};

Json value_for(const Json& schema) {
  const JsonObject* object = schema.as_object();
  const Json* type = object == nullptr ? nullptr : object->find("type");
  if (type == nullptr || *type == Json("string")) return Json("text");
  if (*type == Json("boolean")) return Json(true);
  if (*type == Json("array")) return Json(JsonArray{});
  if (*type == Json("object")) return Json(JsonObject{});
  return Json(5);
}

Json arguments_for(const Json& schema) {
  JsonObject arguments;
  const Json* properties = schema.as_object() == nullptr ? nullptr : schema.as_object()->find("properties");
  if (properties == nullptr || properties->as_object() == nullptr) return arguments;
  for (const auto& [name, one] : *properties->as_object()) arguments.set(name, value_for(one));
  return arguments;
}

int run(const std::string& url) {
  McpServer server({.name = "judge", .url = url}, {.questions = std::make_shared<Agreeable>()});
  if (const Result<void> connected = server.connect(); !connected) {
    std::fprintf(stderr, "%s\n", connected.error().message().c_str());
    return 1;
  }
  const Toolkit kit = server.toolkit();
  for (const ToolPtr& tool : kit.tools()) {
    const Result<ToolOutput> output = wait<ToolOutput>([&](auto done) {
      tool->run({.arguments = arguments_for(tool->definition().parameters.value())}, std::move(done));
    });
    std::printf("%s: %s\n", tool->definition().name.c_str(),
                output ? output->text.c_str() : output.error().message().c_str());
    if (!output || output->failed) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace tertulia

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: mcp_conformance_client URL\n");
    return 2;
  }
  return tertulia::run(arguments[1]);
}
