// The WorkflowEngine: where workflows run. One for a program, beside the Engine whose agents take part.
//
// Durability
//   A run is durable at its entry, after each superstep and at each answer: what was said, the bindings, and
//   the checkpoint are one commit of the session. Whoever opens the data next can resume it; a node of a
//   superstep that was committed does not run again. Without a store nothing is durable, and nothing else
//   differs.
// Concurrency
//   Any thread. Any number of runs at a time, one at a time on a branch.
// Ownership
//   Destroying it stops its runs where they are, as a crash would, and waits for their nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/agent/engine.h"
#include "tertulia/conversation/handle.h"
#include "tertulia/workflow/conversation_manager.h"
#include "tertulia/workflow/node_mark.h"
#include "tertulia/workflow/workflow.h"
#include "tertulia/workflow/workflow_run.h"

namespace tertulia {

struct WorkflowEngineOptions {
  // Its store is where runs are kept.
  std::shared_ptr<Engine> engine{};
  // Signs the handles that runs give out. None: made up, so handles end with the program.
  std::optional<HandleKey> handle_key{};
  // Threads for nodes that block.   Default: 64.
  std::size_t threads = 64;
  // Every so many checkpoints one is whole, and those before the last whole one go.   Default: 16. 0: every
  // checkpoint is kept, so that a run can be forked from any.
  std::uint64_t keep_checkpoints = 16;
};

// What a workflow is given.
struct WorkflowInput {
  WorkflowInput() = default;
  // Implicit: a text is an input as it stands. NOLINTBEGIN(google-explicit-constructor)
  WorkflowInput(std::string value) : text(std::move(value)) {}
  WorkflowInput(const char* value) : text(value) {}
  WorkflowInput(Message value) : messages({std::move(value)}) {}
  WorkflowInput(std::vector<Message> value) : messages(std::move(value)) {}
  WorkflowInput(WorkflowMessage value) : message(std::move(value)) {}
  // NOLINTEND(google-explicit-constructor)

  // For people and agents: becomes a message of the conversation, and the start node's turn.
  std::string text{};
  std::vector<Message> messages{};
  // For a start node of another type.
  std::optional<WorkflowMessage> message{};

  bool empty() const { return text.empty() && messages.empty() && !message; }
};

struct WorkflowOptions {
  // None: a new session.
  std::string session{};
  // None: the only one there is.
  std::optional<BranchId> branch{};
  // Instead of both: what an earlier run gave out. One that is not ours is kInvalidHandle.
  std::string handle{};
  // The session must not have moved on since the handle was given out: kRevisionConflict {current}.
  bool exact = false;
  // Empty: "local".
  TenantId tenant{};
  OwnerId owner{};
  // Over what the builder of the workflow said.
  std::map<std::string, ConversationPolicy> policies{};
  // Payloads that the session gets with the run's entry.
  std::vector<Attachment> attachments{};
  // For participants whose thread a service keeps. None: a turn brings what the thread lacks.
  ResumeHook resume_thread{};
  // Answers to requests of a run that is resumed, by their ids: as answer() would give them. What has been
  // answered before is left as it was.
  std::map<std::string, Json> answers{};
  // Events of internal nodes too.
  bool show_internal = false;
  // Made if empty. A run of this id that is there already is resumed instead.
  std::string run{};
  // For a session of the program's own that the run makes: the session of the same owner that it goes with
  // when that is deleted or erased. Empty: none.
  SessionId inside_of{};
};

struct StoredRun {
  SessionKey key;
  // Where its words are.
  BranchId branch;
  std::string run;
  std::string workflow;
  WorkflowStatus status = WorkflowStatus::kRunning;
  std::uint64_t supersteps = 0;
  Time started_at{};
  Time last_activity{};
  std::vector<InfoRequest> requests;
  // What became of its nodes so far.
  std::map<std::string, NodeMark> marks;
  // The newest, and where it began if it is a fork of another run.
  std::string checkpoint;
  std::string forked_from;
};

struct CheckpointInfo {
  // run/number
  std::string id;
  // Empty for the first.
  std::string parent;
  std::uint64_t superstep = 0;
  WorkflowStatus status = WorkflowStatus::kRunning;
  Revision revision{};
  Time time{};
};

class WorkflowEngine {
 public:
  class Impl;

  static Result<std::unique_ptr<WorkflowEngine>> open(WorkflowEngineOptions options);
  ~WorkflowEngine();
  WorkflowEngine(const WorkflowEngine&) = delete;
  WorkflowEngine& operator=(const WorkflowEngine&) = delete;

  // With a handle and no input it goes on with the conversation as it is.
  WorkflowRun run(const Workflow& workflow, WorkflowInput input, WorkflowOptions options = {});
  // Goes on with a run: one that a crash cut, that failed, or whose requests have been answered. A run that
  // waits still asks again. kNoCheckpoint; kBadGraph {changes} if the workflow is not the one it began with;
  // kTurnRunning if it runs here.
  WorkflowRun resume(const Workflow& workflow, const SessionKey& key, const std::string& run,
                     WorkflowOptions options = {});
  // A new run that begins where an earlier one was at a checkpoint, on a new branch.
  WorkflowRun fork(const Workflow& workflow, const SessionKey& key, const std::string& checkpoint,
                   WorkflowOptions options = {});
  // Answers a request, durably and once. kNoQuestion if there is none, or it has been answered.
  Result<void> answer(const SessionKey& key, const std::string& run, const std::string& request,
                      const Json& answer);

  // Plain messages in and out, for callers that keep their own: a session that is gone after the run. Logs a
  // deprecation warning.
  Result<std::vector<Message>> run_messages(const Workflow& workflow, std::vector<Message> messages);

  // The latest first.
  Result<std::vector<StoredRun>> list(const TenantId& tenant, const OwnerId& owner);
  // kNoCheckpoint.
  Result<StoredRun> show(const SessionKey& key, const std::string& run);
  Result<std::vector<CheckpointInfo>> checkpoints(const SessionKey& key, const std::string& run);

  Engine& engine() const { return *engine_ptr(); }
  const std::shared_ptr<Engine>& engine_ptr() const;

 private:
  explicit WorkflowEngine(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace tertulia
