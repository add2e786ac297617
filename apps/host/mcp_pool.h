// The MCP servers of the configuration, each connected once however many agents use it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tertulia/base/thread_annotations.h"
#include "tertulia/tools/mcp_server.h"

namespace tertulia {

// Concurrency: any thread.
class McpPool {
 public:
  // `questions` is asked what servers want to know in the middle of a call.
  McpPool(Environment environment, std::shared_ptr<McpQuestions> questions)
      : environment_(std::move(environment)), questions_(std::move(questions)) {}
  ~McpPool();
  McpPool(const McpPool&) = delete;
  McpPool& operator=(const McpPool&) = delete;

  // It is connected by the next connect().
  void add(const McpConfig& config);
  // Its tools are put into `registry`, and follow what the server says of them.
  void attach(const std::string& name, std::shared_ptr<ToolRegistry> registry);

  // Connects all at once that were added since the last time, and waits until each is there or has failed.
  // One that failed is a warning, and its tools are missing: an agent can do its other work.
  void connect();

  std::vector<std::string> warnings() const;
  std::map<std::string, McpStatus> statuses() const;

 private:
  struct Entry {
    std::unique_ptr<McpServer> server;
    std::vector<std::shared_ptr<ToolRegistry>> registries;
    // What is in the registries now.
    std::vector<ToolPtr> published;
    bool connecting = false;
  };
  void publish(const std::string& name);

  const Environment environment_;
  const std::shared_ptr<McpQuestions> questions_;
  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<std::string> warnings_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace tertulia
