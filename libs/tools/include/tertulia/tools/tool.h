// A Tool: something an agent can do.
//
//   ToolPtr add = make_tool("add", "Adds two numbers.", {"a", "b"}, [](double a, double b) { return a + b;
//   });
//
// (make_tool is in function_tool.h.) What a crash may do to a running tool is decided by its class: read_only
// is run again, idempotent is run again with the same key, unsafe, the default, never.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/deadline.h"
#include "tertulia/base/done.h"
#include "tertulia/base/executor.h"
#include "tertulia/base/json.h"
#include "tertulia/conversation/tool_call_record.h"
#include "tertulia/model/tool_definition.h"

namespace tertulia {

// One call of a tool, as the tool is given it.
struct ToolCall {
  // Valid against the tool's schema.
  Json arguments;
  // The same for every attempt of the same call: session/branch/turn/number. What an idempotent tool hands on
  // to whom it calls.
  std::string key;
  // Whose conversation it is. Empty outside of a session.
  TenantId tenant;
  OwnerId owner;
  SessionId session;
  BranchId branch;
  TurnId turn;
  // A tool that works for long looks at it now and then.
  CancelToken cancel;
  Deadline deadline;
  // Where a tool that blocks does it. Null: where it is called.
  Executor* workers = nullptr;
};

// A file or picture that a tool gives back beside its text.
struct ToolAsset {
  std::string name;
  std::string media_type;
  std::string bytes;

  bool operator==(const ToolAsset&) const = default;
};

struct ToolOutput {
  // What the model reads: text, or JSON text.
  std::string text;
  // True: it failed, and the text says how. Errors that a model can act upon are outputs, not Errors.
  bool failed = false;
  std::vector<ToolAsset> assets{};
  // The conversation ends with this turn.
  bool end_conversation = false;
  // Why it failed, for the record and a person only: the model is not shown it.
  std::string detail{};
  // It failed, and nobody can tell whether it took effect: the call is listed for a person.
  bool unknown = false;

  bool operator==(const ToolOutput&) const = default;
};

// Concurrency
//   run() may be called for several calls at a time, from any thread; it must not block its caller (a tool
//   that blocks posts its work to call.workers). Exceptions that leave run() become errors of the call.
// Completion
//   `done` exactly once, from any thread. Answers after the deadline or the cancel are recorded as late and
//   not shown to the model; a second answer is ignored.
class Tool {
 public:
  virtual ~Tool() = default;

  virtual const ToolDefinition& definition() const = 0;
  virtual ToolClass tool_class() const { return ToolClass::kUnsafe; }
  // How long one call may take. None: as the agent's limits say.
  virtual std::optional<Duration> timeout() const { return std::nullopt; }
  // Declared for the model only; the caller of the agent runs it and hands the result back.
  virtual bool runs_at_client() const { return false; }

  virtual void run(ToolCall call, Done<ToolOutput> done) = 0;

  // For a tool that can find out what became of a call that a crash has hidden: its output if it took effect,
  // nothing if it did not (then it is run again), an error if that cannot be told. Asked before the class is.
  virtual bool can_probe() const { return false; }
  virtual void probe(ToolCall call, Done<std::optional<ToolOutput>> done);
};

using ToolPtr = std::shared_ptr<Tool>;

}  // namespace tertulia
