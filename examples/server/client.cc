// client URL [KEY]: a C++ program whose agent speaks through an agent of a server, as it would through
// OpenAI.
#include <iostream>
#include <memory>
#include <string>

#include <tertulia/tertulia.h>

using namespace tertulia;

int main(int argc, char** argv) {
  ModelConfig server;
  server.name = "openai-compatible/default";
  server.provider.base_url = std::string(argc > 1 ? argv[1] : "http://127.0.0.1:8080") + "/v1";
  if (argc > 2) server.provider.key = std::make_shared<const Secret>(argv[2]);
  const ConfiguredModel model = make_model(server).value();
  Agent agent = AgentBuilder().with_model(model.model, model.name).build().value();
  for (const Event& event : agent.run("Add 10 and 20")) {
    if (event.kind == EventKind::kTextDelta) std::cout << event.text << std::flush;
  }
  std::cout << "\n";
}
