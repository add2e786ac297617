// The tools of a story, what they really did, and the life of the process they run in.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tertulia/base/thread_annotations.h"
#include "tertulia/tools/function_tool.h"

#include "script.h"

namespace tertulia {

// What tools really did: outside of what the agent believes, and not touched by its death.
//
// Concurrency: any thread.
class Ledger {
 public:
  struct Entry {
    std::string tool;
    std::string arguments;
    std::string key;
  };
  void add(Entry entry) {
    MutexLock lock(mutex_);
    entries_.push_back(std::move(entry));
  }
  std::vector<Entry> entries() const {
    MutexLock lock(mutex_);
    return entries_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<Entry> entries_ TERTULIA_GUARDED_BY(mutex_);
};

// One life of a process, as its tools see it. In a life that is over nothing has an effect any more.
//
// Concurrency: any thread.
class Life {
 public:
  explicit Life(std::function<void()> die) : die_(std::move(die)) {}

  // False if the life is over. Ends it if the story says so, after this run of the tool has had its effect.
  bool begin(const std::string& tool, const std::function<void()>& effect);
  // Until the tool is released, the call is cancelled (unless it is deaf), or the life is over. True if it
  // was released.
  bool stand(const std::string& tool, const ToolCall& call, bool deaf);

  void die_during(const std::string& tool);
  void release(const std::string& tool);
  // Until the tool has begun so many times in this life.
  void wait_for_runs(const std::string& tool, std::size_t count);
  void end();
  bool all_came() const;

 private:
  const std::function<void()> die_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::map<std::string, std::size_t> runs_ TERTULIA_GUARDED_BY(mutex_);
  std::set<std::string> released_ TERTULIA_GUARDED_BY(mutex_);
  std::set<std::string> deadly_ TERTULIA_GUARDED_BY(mutex_);
  bool over_ TERTULIA_GUARDED_BY(mutex_) = false;
};

struct ToolPlan {
  std::string name;
  // name → JSON type
  std::vector<std::pair<std::string, std::string>> parameters;
  ToolClass tool_class = ToolClass::kUnsafe;
  // "returns", "fails", "throws", "hangs", "adds", "multiplies", "fills", "ends"
  std::string behaviour = "returns";
  std::string text;
  std::size_t size = 0;
  bool deaf = false;
  // "", "done", "not done", "unknown", "throws"
  std::string probe;
  std::string probe_text;
  std::optional<Duration> timeout;
};

// `tool add(a: number, b: number) read_only adds`, without the first word.
ToolPlan read_tool(Words& words);
// 20ms, 3s
Duration read_duration(Words& words);
ToolPtr make_story_tool(const ToolPlan& plan, std::shared_ptr<Ledger> ledger, std::shared_ptr<Life> life);

}  // namespace tertulia
