// A WorkflowRun: one run of a workflow, as its caller sees it.
//
//   for (const Event& event : run) std::cout << name_of(event.kind) << "\n";
//
// Reading is watching: a WorkflowRun that is destroyed does not stop the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/done.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/event.h"
#include "tertulia/conversation/snapshot.h"
#include "tertulia/store/session_key.h"
#include "tertulia/workflow/node.h"

namespace tertulia {

enum class WorkflowStatus : std::uint8_t {
  kRunning,
  kWaiting,  // somebody has to answer
  kCompleted,
  kCancelled,
  kFailed,  // resuming tries again
};
std::string_view name_of(WorkflowStatus status);
Result<WorkflowStatus> workflow_status_named(std::string_view name);

struct WorkflowOutput {
  std::string node;
  Json data;

  bool operator==(const WorkflowOutput&) const = default;
};

struct WorkflowOutcome {
  std::string run;
  SessionKey key;
  BranchId branch;
  WorkflowStatus status = WorkflowStatus::kCompleted;
  std::uint64_t supersteps = 0;
  std::vector<WorkflowOutput> outputs;
  // What waits to be answered.
  std::vector<InfoRequest> requests;
  // The transcript, and the handle to come back with.
  ConversationSnapshot snapshot;

  // The text of the last output; that of the last message if there is no output.
  std::string text() const;
};

// Concurrency: one thread at a time reads; cancel() may come from any.
class WorkflowRun {
 public:
  class Impl;
  explicit WorkflowRun(std::shared_ptr<Impl> impl);
  WorkflowRun(WorkflowRun&&) noexcept;
  WorkflowRun& operator=(WorkflowRun&&) noexcept;
  ~WorkflowRun();

  class Iterator;
  struct End {};
  // Each step blocks until there is an event, and ends after the last.
  Iterator begin();
  End end() { return {}; }

  // The next event, or nothing after the last.
  std::optional<Event> next();
  // Without blocking.
  void next(Done<std::optional<Event>> done);

  // Waits for the end. The error is that of the node that failed; the run can be resumed.
  Result<WorkflowOutcome> result();
  void result(Done<WorkflowOutcome> done);

  // Stops the nodes that run and starts no others. What was said is kept.
  void cancel();

  // Empty if the run was refused.
  const std::string& id() const;

 private:
  std::shared_ptr<Impl> impl_;
  std::uint64_t from_ = 0;
};

class WorkflowRun::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Event;
  using difference_type = std::ptrdiff_t;
  using pointer = const Event*;
  using reference = const Event&;

  explicit Iterator(WorkflowRun& run) : run_(&run) { ++*this; }
  reference operator*() const { return *event_; }
  pointer operator->() const { return &*event_; }
  Iterator& operator++() {
    event_ = run_->next();
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(const End&) const { return !event_; }

 private:
  WorkflowRun* run_;
  std::optional<Event> event_;
};

}  // namespace tertulia
