// An agent with a tool, that streams and remembers. Run it twice: it remembers the first time.
#include <iostream>

#include <tertulia/tertulia.h>

using namespace tertulia;

int main(int argc, char** argv) {
  // quickstart
  Agent agent = AgentBuilder()
                    .with_tool(make_tool("add", "Adds two numbers.", {"a", "b"},
                                         [](double a, double b) { return a + b; }))
                    .with_tool(make_tool("multiply", "Multiplies two numbers.", {"a", "b"},
                                         [](double a, double b) { return a * b; }))
                    .with_session_store(argc > 1 ? argv[1] : "./conversations")
                    .build()
                    .value();
  for (const char* message : {"Add 10 and 20", "Now multiply the result by 5"}) {
    for (const Event& event : agent.run(message, "user-123")) {
      if (event.kind == EventKind::kTextDelta) std::cout << event.text << std::flush;
    }
    std::cout << "\n";
  }
  // end
}
