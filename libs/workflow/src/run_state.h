// The state of a run: what a checkpoint holds.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/conversation/thread_binding.h"
#include "tertulia/store/record.h"
#include "tertulia/workflow/workflow_engine.h"

namespace tertulia {

// A message on its way to a node, or the answer to one of its requests.
struct Delivery {
  std::string to;
  WorkflowMessage message;
  std::optional<InfoAnswer> answer{};
};

struct KeyChange {
  std::string key;
  // None: erased.
  std::optional<Json> value;
};

// All that a node did in a superstep.
struct NodeEffects {
  std::string node;
  std::vector<WorkflowMessage> sends{};
  std::vector<Json> outputs{};
  std::vector<KeyChange> changes{};
  std::vector<Message> said{};
  std::vector<InfoRequest> requests{};
  std::optional<ThreadBinding> binding{};
  // It failed, and was passed over.
  bool skipped = false;
  // A turn of its own was committed to the session.
  bool durable_turn = false;
};

struct RunState {
  std::uint64_t step = 0;
  WorkflowStatus status = WorkflowStatus::kRunning;
  std::vector<Delivery> inflight{};
  // What fan-ins wait with: by edge, then by source.
  std::map<std::size_t, std::vector<std::deque<WorkflowMessage>>> buffers{};
  std::map<std::string, Json, std::less<>> values{};
  std::vector<InfoRequest> requests{};
  std::vector<WorkflowOutput> outputs{};
  // What nodes of the superstep under way did before another one failed: they do not run again.
  std::vector<NodeEffects> done{};
  // Why it failed.
  std::string error{};
  // What became of the nodes that have run.
  std::map<std::string, NodeMark> marks{};
};

// What of a run does not change.
struct RunFacts {
  std::string run;
  std::string workflow;
  BranchId branch;
  // When that was made: another branch may get its name. Not known of runs of older versions.
  std::optional<Time> branch_made{};
  std::uint64_t base = 0;
  std::uint64_t input = 0;
  Time started_at{};
  std::string forked_from{};
  std::vector<std::string> signature{};
};

// How far the thread of a participant was.
struct ThreadPlace {
  std::string participant;
  std::uint64_t applied = 0;
  // In the branch that keeps it; 0 if none does.
  std::uint64_t messages = 0;
};

struct Checkpoint {
  RunFacts facts;
  RunState state;
  // In the shared branch.
  std::uint64_t messages = 0;
  std::vector<ThreadPlace> threads{};
  std::string parent;
  Revision revision{};
  std::uint64_t number = 0;
  Time time{};
};

// The text of a checkpoint. `before`: what the one before it held; null makes it whole. Else what has not
// changed is left out of it.
std::string encode_checkpoint(const Checkpoint& checkpoint, const RunState* before);
// Applies the text to `checkpoint`, which is what the ones before it made, or nothing for a whole one.
Result<void> apply_checkpoint(std::string_view text, Checkpoint& checkpoint);
bool is_whole(std::string_view text);

StreamId checkpoint_stream(const std::string& run);
// Each request has a stream of one record, its answer, so it is answered once.
StreamId answer_stream(const std::string& run, const std::string& request);
inline constexpr std::string_view kAnswerName = "answer";
Record answer_record(const std::string& run, const std::string& request, const Json& answer, Time now);

std::string checkpoint_id(const std::string& run, std::uint64_t number);

}  // namespace tertulia
