// The smallest program that keeps conversations (docs/embed.md). What it needs when it runs is checked.
#include <iostream>

#include <tertulia/tertulia.h>

using namespace tertulia;

int main(int argc, char** argv) {
  Agent agent = AgentBuilder()
                    .with_tool(make_tool("add", "Adds two numbers.", {"a", "b"},
                                         [](double a, double b) { return a + b; }))
                    .with_session_store(argc > 1 ? argv[1] : "./conversations")
                    .build()
                    .value();
  for (const Event& event : agent.run("Add 10 and 20", "user-123")) {
    if (event.kind == EventKind::kTextDelta) std::cout << event.text << std::flush;
  }
  std::cout << "\n";
}
