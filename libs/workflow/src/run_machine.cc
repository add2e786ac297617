#include "run_machine.h"

#include <utility>

#include "caught.h"
#include "node_run.h"

namespace tertulia {

RunMachine::RunMachine(std::shared_ptr<EngineParts> parts, RunPlan plan, std::shared_ptr<RunLog> log)
    : parts_(std::move(parts)), plan_(std::move(plan)), log_(std::move(log)), strand_(*parts_->pool) {
  facts_.run = plan_.how == RunPlan::How::kResume ? plan_.run : plan_.options.run;
  if (facts_.run.empty()) facts_.run = parts_->uuids.make().text();
}

RunMachine::~RunMachine() = default;

void RunMachine::start() {
  strand_.post([self = shared_from_this()] {
    // The start may be an internal node, which is the caller's code.
    const auto opened = caught("the start of the workflow", [&] { return self->open(); });
    if (!opened) {
      self->tell(EventKind::kError, std::string(name_of(opened.error().code())), opened.error().message());
      self->finish(opened.error());
    }
  });
}

void RunMachine::cancel(CancelReason reason) { cancel_.cancel(reason); }

Event RunMachine::event_of(EventKind kind, std::string name, std::string text, std::uint64_t index) const {
  Event event;
  event.kind = kind;
  event.name = std::move(name);
  event.text = std::move(text);
  event.index = index;
  return event;
}

void RunMachine::tell(EventKind kind, std::string name, std::string text, std::uint64_t index) {
  log_->add(event_of(kind, std::move(name), std::move(text), index));
}

WorkflowOutcome RunMachine::outcome_of(WorkflowStatus status) const {
  const ConversationManager& conversation = head_.conversation;
  WorkflowOutcome outcome{.run = facts_.run,
                          .key = key_,
                          .branch = facts_.branch,
                          .status = status,
                          .supersteps = head_.state.step,
                          .outputs = head_.state.outputs,
                          .requests = head_.state.requests,
                          .snapshot = {}};
  outcome.snapshot.transcript = conversation.transcript();
  const ConversationHandle handle{.tenant = key_.tenant,
                                  .session = key_.session,
                                  .branch = facts_.branch,
                                  .revision = conversation.session().revision,
                                  .expires_at = std::nullopt};
  outcome.snapshot.handle = encode_handle(handle, parts_->handle_key).value_or({});
  return outcome;
}

// The last superstep was committed as running: what it ended as is one more checkpoint only if it waits.
void RunMachine::finish_as(WorkflowStatus status) {
  if (head_.state.status != status) {
    PendingCommit commit{.state = head_.state};
    commit.state.status = status;
    submit(std::move(commit));
  }
  when_durable([this, status] { finish(outcome_of(status)); });
}

void RunMachine::finish(Result<WorkflowOutcome> outcome) {
  if (finished_) return;
  finished_ = true;
  if (outcome)
    tell(EventKind::kWorkflowStatus, std::string(name_of(outcome->status)));
  else
    tell(EventKind::kWorkflowStatus, "failed");
  // Before others may take it up. After an error it is not sure what is stored.
  if (claimed_ && durable() && outcome && pending_.empty())
    parts_->conversations.keep(key_, head_.conversation);
  if (claimed_) parts_->release(key_, facts_.branch);
  // The engine may hold the shared branch as it was.
  if (durable()) parts_->engine->forget(key_);
  if (ended_) ended_();
  log_->close(outcome);
}

}  // namespace tertulia
