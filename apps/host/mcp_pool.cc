#include "mcp_pool.h"

#include <algorithm>
#include <latch>
#include <utility>

#include "tertulia/base/log.h"

namespace tertulia {

McpPool::~McpPool() {
  // A server that is destroyed waits for its thread, which may be about to call publish().
  std::map<std::string, Entry> entries;
  {
    MutexLock lock(mutex_);
    std::swap(entries, entries_);
  }
}

void McpPool::add(const McpConfig& config) {
  McpOptions options;
  options.environment = environment_;
  options.questions = questions_;
  options.listeners.on_tools_changed = [this, name = config.name] { publish(name); };
  MutexLock lock(mutex_);
  if (!entries_.contains(config.name)) {
    entries_[config.name].server = std::make_unique<McpServer>(config, std::move(options));
  }
}

void McpPool::attach(const std::string& name, std::shared_ptr<ToolRegistry> registry) {
  MutexLock lock(mutex_);
  entries_.at(name).registries.push_back(std::move(registry));
}

void McpPool::connect() {
  std::vector<std::pair<std::string, McpServer*>> servers;
  std::vector<std::string> all;
  {
    MutexLock lock(mutex_);
    for (auto& [name, entry] : entries_) {
      all.push_back(name);
      if (!std::exchange(entry.connecting, true)) servers.emplace_back(name, entry.server.get());
    }
  }
  std::latch left(static_cast<std::ptrdiff_t>(servers.size()));
  for (const auto& [id, server] : servers) {
    server->connect([&left, this, name = id](const Result<void>& connected) {
      if (!connected) {
        MutexLock lock(mutex_);
        warnings_.push_back("the MCP server '" + name +
                            "' is not there, and neither are its tools: " + connected.error().message());
      }
      left.count_down();
    });
  }
  left.wait();
  for (const std::string& name : all) publish(name);
}

void McpPool::publish(const std::string& name) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  const Toolkit kit = entry.server->toolkit();
  for (const auto& registry : entry.registries) {
    const ToolSetPtr there = registry->snapshot();
    for (const ToolPtr& tool : entry.published) {
      const ToolEntry* old = there->find(tool->definition().name);
      const bool stays = std::ranges::find(kit.tools(), tool) != kit.tools().end();
      if (!stays && old != nullptr && old->tool == tool) registry->remove(tool->definition().name);
    }
    if (const Result<void> added = registry->add(kit); !added) {
      const std::string warning =
          "the tools of the MCP server '" + name + "' are missing: " + added.error().message();
      // A server may change its tools at any time, when nobody reads the warnings of the start any more.
      Log().component("mcp").warn(warning, {});
      warnings_.push_back(warning);
    }
  }
  entry.published = kit.tools();
}

std::vector<std::string> McpPool::warnings() const {
  MutexLock lock(mutex_);
  return warnings_;
}

std::map<std::string, McpStatus> McpPool::statuses() const {
  std::map<std::string, McpStatus> statuses;
  MutexLock lock(mutex_);
  for (const auto& [name, entry] : entries_) statuses.emplace(name, entry.server->status());
  return statuses;
}

}  // namespace tertulia
