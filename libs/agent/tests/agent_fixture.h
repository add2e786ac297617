// An agent with a script for a model and a ledger for its tools, on a store that outlives it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tertulia/agent/agent.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/conversation/json_forms.h"
#include "tertulia/model/scripted_model.h"
#include "tertulia/store/memory_store.h"
#include "tertulia/tools/function_tool.h"

namespace tertulia {

// What tools really did, outside of what the agent believes.
class Ledger {
 public:
  void add(std::string entry) {
    MutexLock lock(mutex_);
    entries_.push_back(std::move(entry));
  }
  std::vector<std::string> entries() const {
    MutexLock lock(mutex_);
    return entries_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> entries_ TERTULIA_GUARDED_BY(mutex_);
};

// A model that the test keeps, whatever becomes of the agent.
class AgentTest : public testing::Test {
 protected:
  std::shared_ptr<Store> store = open_memory_store();
  std::shared_ptr<ScriptedModel> model = scripted_model();
  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
  AgentLimits limits;

  ToolPtr add_tool(ToolOptions options = {}) {
    return make_tool(
        "add", "Adds two numbers.", {"a", "b"},
        [book = ledger](double a, double b) {
          book->add("add " + std::to_string(static_cast<int>(a)) + " " + std::to_string(static_cast<int>(b)));
          return a + b;
        },
        std::move(options));
  }

  Agent make_agent(std::vector<ToolPtr> tools = {}) {
    AgentBuilder builder;
    builder.with_model(model, "script").with_session_store(store).with_limits(limits);
    for (ToolPtr& tool : tools) builder.with_tool(std::move(tool));
    return builder.build().value();
  }

  // What was stored, as "role: text" lines.
  std::vector<std::string> transcript(const std::string& session, const std::string& branch = "main") {
    SessionStore sessions(*store, real_env().clock());
    const Branch loaded =
        sessions.load_branch(SessionId::parse(session).value(), BranchId::parse(branch).value()).value();
    std::vector<std::string> lines;
    loaded.transcript.for_each(0, loaded.transcript.size(), [&](std::size_t, const Message& message) {
      std::string line = std::string(name_of(message.role())) + ":";
      for (std::size_t i = 0; i < message.part_count(); ++i) {
        const Part part = message.part(i);
        if (part.kind == PartKind::kToolCall) line += " call " + std::string(part.name);
        line += " " + std::string(part.text);
        if (part.outcome != ToolOutcome::kOk) line += " (" + std::string(name_of(part.outcome)) + ")";
      }
      if (message.interrupted()) line += " [interrupted]";
      lines.push_back(std::move(line));
    });
    return lines;
  }
};

// The events of a run, as their names; deltas with their text.
inline std::vector<std::string> names_of(Run& run) {
  std::vector<std::string> names;
  for (const Event& event : run) {
    std::string name(name_of(event.kind));
    if (event.kind == EventKind::kTextDelta) name += " " + event.text;
    if (event.kind == EventKind::kReceipt) continue;
    names.push_back(std::move(name));
  }
  return names;
}

inline ErrorCode code_of(Run run) {
  const Result<TurnOutcome> outcome = run.result();
  EXPECT_FALSE(outcome.ok());
  return outcome ? ErrorCode::kWouldDeadlock : outcome.error().code();
}

}  // namespace tertulia
