// The tools of an MCP server: a program that somebody else wrote, started and asked.
#include <iostream>
#include <string>

#include <tertulia/tertulia.h>
#include <tertulia/tools/mcp_server.h>

using namespace tertulia;

// The smallest server there is, in place of one from a registry: a line of JSON in, a line of JSON out.
constexpr const char* kServer = R"(
const answers = {
  initialize: () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'weather', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'forecast', description: 'Tells the weather forecast of a city.',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    annotations: { readOnlyHint: true } }] }),
  'tools/call': ({ arguments: { city } }) => ({ content: [{ type: 'text', text: `${city}: clear, 21 degrees` }] }),
};
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method](params) }));
});
)";

int main(int argc, char** argv) {
  // mcp
  McpServer weather({.name = "weather", .command = "node", .args = {"-e", kServer}});
  weather.connect().value();
  const Agent agent = AgentBuilder()
                          .with_toolkit(weather.toolkit())
                          .with_session_store(argc > 1 ? argv[1] : "./conversations")
                          .build()
                          .value();
  // end
  std::cout << weather.status().server_name << " speaks " << weather.status().protocol << "\n";
  for (const Event& event : agent.run("What is the weather forecast for Zurich?", "weather")) {
    if (event.kind == EventKind::kToolCallResult) std::cout << event.name << ": " << event.text << "\n";
  }
}
