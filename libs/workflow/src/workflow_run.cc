#include "tertulia/workflow/workflow_run.h"

#include <utility>

#include "workflow_run_impl.h"

namespace tertulia {

std::string_view name_of(WorkflowStatus status) {
  switch (status) {
    case WorkflowStatus::kRunning:
      return "running";
    case WorkflowStatus::kWaiting:
      return "waiting";
    case WorkflowStatus::kCompleted:
      return "completed";
    case WorkflowStatus::kCancelled:
      return "cancelled";
    case WorkflowStatus::kFailed:
      return "failed";
  }
  return "invalid";
}

Result<WorkflowStatus> workflow_status_named(std::string_view name) {
  for (const WorkflowStatus status :
       {WorkflowStatus::kRunning, WorkflowStatus::kWaiting, WorkflowStatus::kCompleted,
        WorkflowStatus::kCancelled, WorkflowStatus::kFailed}) {
    if (name_of(status) == name) return status;
  }
  return Error(ErrorCode::kOutOfRange, "there is no status '" + std::string(name) + "' of a workflow");
}

std::string WorkflowOutcome::text() const {
  if (!outputs.empty()) {
    const Json& last = outputs.back().data;
    return last.as_string() != nullptr ? *last.as_string() : to_text(last);
  }
  const Transcript& transcript = snapshot.transcript;
  return transcript.empty() ? std::string() : transcript[transcript.size() - 1].text_content();
}

WorkflowRun::WorkflowRun(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkflowRun::WorkflowRun(WorkflowRun&&) noexcept = default;
WorkflowRun& WorkflowRun::operator=(WorkflowRun&&) noexcept = default;
WorkflowRun::~WorkflowRun() = default;

WorkflowRun::Iterator WorkflowRun::begin() { return Iterator(*this); }

std::optional<Event> WorkflowRun::next() {
  Result<std::optional<Event>> event =
      wait<std::optional<Event>>([this](Done<std::optional<Event>> done) { next(std::move(done)); });
  return event ? *std::move(event) : std::nullopt;
}

void WorkflowRun::next(Done<std::optional<Event>> done) { impl_->log->read(from_++, std::move(done)); }

Result<WorkflowOutcome> WorkflowRun::result() {
  return wait<WorkflowOutcome>([this](Done<WorkflowOutcome> done) { impl_->log->wait(std::move(done)); });
}

void WorkflowRun::result(Done<WorkflowOutcome> done) { impl_->log->wait(std::move(done)); }
void WorkflowRun::cancel() {
  if (const auto machine = impl_->machine.lock()) machine->cancel(CancelReason::kUser);
}
const std::string& WorkflowRun::id() const { return impl_->run; }

}  // namespace tertulia
