// Supersteps: all nodes that were sent something run side by side; what they did is merged in declared order.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "tertulia/base/thread_annotations.h"

#include "caught.h"
#include "node_run.h"
#include "routing.h"
#include "run_machine.h"

namespace tertulia {
namespace {

// How many internal nodes may send to one another within one superstep.
constexpr int kMaxInner = 1'000;

bool listed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What an internal node answered while its body ran.
//
// Concurrency: any thread.
class InnerAnswer {
 public:
  void give(Result<void> result) {
    MutexLock lock(mutex_);
    if (!result_) result_ = std::move(result);
  }
  std::optional<Result<void>> take() {
    MutexLock lock(mutex_);
    return result_;
  }

 private:
  Mutex mutex_;
  std::optional<Result<void>> result_ TERTULIA_GUARDED_BY(mutex_);
};

void apply_changes(const std::vector<KeyChange>& changes, RunState& state) {
  for (const KeyChange& change : changes) {
    if (change.value)
      state.values[change.key] = *change.value;
    else
      state.values.erase(change.key);
  }
}

}  // namespace

void RunMachine::advance() {
  const RunState& state = head_.state;
  if (cancel_.token().cancelled()) return when_durable([this] { end_cancelled(); });
  if (state.inflight.empty() && state.requests.empty()) {
    return when_durable([this] { finish_as(WorkflowStatus::kCompleted); });
  }
  if (state.inflight.empty()) return when_durable([this] { end_waiting(); });
  const bool harmless =
      std::all_of(state.inflight.begin(), state.inflight.end(),
                  [&](const Delivery& delivery) { return graph().find(delivery.to)->harmless; });
  if (harmless) return start_step();
  when_durable([this] { start_step(); });
}

void RunMachine::start_step() {
  const RunState& state = head_.state;
  if (cancel_.token().cancelled()) return when_durable([this] { end_cancelled(); });
  if (state.step >= graph().max_supersteps) {
    return fail_step({},
                     Error(ErrorCode::kLimitReached,
                           "workflow '" + graph().name + "' has taken " + std::to_string(state.step) +
                               " supersteps and has not come to its end; raise max_supersteps if it needs "
                               "more")
                         .with("limit", static_cast<std::int64_t>(graph().max_supersteps)));
  }
  view_.step = state.step + 1;
  view_.state = &head_.state;
  view_.conversation = &head_.conversation;
  tell(EventKind::kSuperstepStarted, {}, {}, view_.step);
  running_.clear();
  for (const Node& node : graph().nodes) {
    auto run = std::make_unique<NodeRun>(node);
    for (const Delivery& delivery : state.inflight) {
      if (delivery.to == node.id) run->calls.push_back(delivery);
    }
    if (run->calls.empty()) continue;
    const auto done = std::find_if(state.done.begin(), state.done.end(),
                                   [&](const NodeEffects& effects) { return effects.node == node.id; });
    if (done != state.done.end()) {
      run->effects = *done;
      run->finished = true;
    }
    if (node.speaker && node.speaker->thread == ThreadKind::kShared) head_.conversation.hear(node.id);
    running_.push_back(std::move(run));
  }
  nodes_left_ = running_.size();
  for (const auto& run : running_) {
    tell(run->finished ? EventKind::kExecutorBypassed : EventKind::kExecutorInvoked, run->node.id);
  }
  // A node that answers at once reports through the strand: the list does not change here.
  for (const auto& run : running_) {
    if (run->finished)
      strand_.post([self = shared_from_this(), node = run.get()] { self->call_done(*node, {}); });
    else
      run_call(*run);
  }
}

void RunMachine::run_call(NodeRun& run) {
  run.before = run.effects;
  if (run.began == Time{}) run.began = parts_->clock().now();
  run.call = std::make_unique<NodeCall>(view_, run.node, run.effects, run.calls[run.next], run.next);
  auto once = std::make_shared<std::atomic<bool>>(false);
  Done<void> done = [self = shared_from_this(), node = &run, once](Result<void> ended) {
    if (once->exchange(true)) return;
    self->strand_.post(
        [self, node, ended = std::move(ended)]() mutable { self->call_done(*node, std::move(ended)); });
  };
  auto body = [node = &run, done]() {
    Result<void> begun = caught("node '" + node->node.id + "'", [&]() -> Result<void> {
      node->node.body(*node->call, done);
      return {};
    });
    if (!begun) done(std::move(begun).error());
  };
  if (!run.node.blocks) return body();
  if (auto posted = parts_->pool->post(body); !posted) done(std::move(posted).error());
}

void RunMachine::call_done(NodeRun& run, Result<void> ended) {
  run.call.reset();
  if (run.began != Time{}) run.ended = parts_->clock().now();
  const bool stopped = cancel_.token().cancelled();
  if (!ended && !stopped) {
    if (run.tries++ < run.node.on_failure.retries) {
      run.effects = run.before;
      tell(EventKind::kRetry, run.node.id, ended.error().message(), run.tries);
      return run_call(run);
    }
    if (run.node.on_failure.skip) {
      run.effects = NodeEffects{.node = run.node.id, .skipped = true};
      tell(EventKind::kWarning, run.node.id, "passed over: " + ended.error().message());
      tell(EventKind::kExecutorBypassed, run.node.id);
      run.finished = true;
    } else {
      tell(EventKind::kExecutorFailed, run.node.id, ended.error().message());
      run.error = std::move(ended).error();
    }
  } else if (!ended) {
    run.error = std::move(ended).error();
  } else if (!run.finished) {
    run.tries = 0;
    if (++run.next < run.calls.size() && !stopped) return run_call(run);
    run.finished = true;
    tell(EventKind::kExecutorCompleted, run.node.id);
  }
  if (--nodes_left_ > 0) return;
  settle();
  finish_step();
}

// What the superstep made of its nodes.
void RunMachine::mark_nodes(RunState& state) const {
  for (const auto& run : running_) {
    NodeMark& mark = state.marks[run->node.id];
    mark.state = run->error                       ? NodeMark::State::kFailed
                 : run->effects.skipped           ? NodeMark::State::kBypassed
                 : !run->effects.requests.empty() ? NodeMark::State::kWaiting
                                                  : NodeMark::State::kCompleted;
    // One that was done before a failure has been counted then.
    if (run->began == Time{}) continue;
    mark.calls += static_cast<std::uint32_t>(run->calls.size());
    mark.time += run->ended - run->began;
  }
}

void RunMachine::finish_step() {
  if (broken_) return finish(*broken_);
  if (cancel_.token().cancelled()) return when_durable([this] { end_cancelled(); });
  std::vector<NodeEffects> done;
  const Error* error = nullptr;
  bool turns = false;
  for (const auto& run : running_) {
    if (run->error && error == nullptr) error = &*run->error;
    if (run->error) continue;
    turns = turns || run->effects.durable_turn;
    done.push_back(run->effects);
  }
  if (turns) {
    if (auto refreshed = refresh_session(); !refreshed) return finish(std::move(refreshed).error());
  }
  if (error != nullptr) return fail_step(std::move(done), *error);
  PendingCommit commit;
  // Merges, conditions and internal nodes are the caller's code.
  const auto merged = caught("a function of the workflow", [&] { return merge(std::move(done), commit); });
  if (!merged) return fail_step({}, merged.error());
  // What they did is in the commit, and must not be taken for something that a cancel cut off.
  running_.clear();
  for (std::string& warning : warnings_) tell(EventKind::kWarning, {}, std::move(warning));
  warnings_.clear();
  after_.push_back(event_of(EventKind::kSuperstepCompleted, {}, {}, view_.step));
  submit(std::move(commit));
  advance();
}

// What two nodes gave the same key is an error, unless somebody said how to make one value of it.
Result<void> RunMachine::merge_changes(const std::vector<NodeEffects>& all, RunState& next) const {
  std::map<std::string, std::vector<std::pair<std::string, std::optional<Json>>>> writers;
  for (const NodeEffects& effects : all) {
    std::map<std::string, std::optional<Json>> last;
    for (const KeyChange& change : effects.changes) last[change.key] = change.value;
    for (auto& [key, value] : last) writers[key].emplace_back(effects.node, std::move(value));
  }
  for (auto& [key, values] : writers) {
    const auto merge = graph().merges.find(key);
    if (values.size() > 1 && merge == graph().merges.end()) {
      return Error(ErrorCode::kStateConflict, "nodes '" + values[0].first + "' and '" + values[1].first +
                                                  "' both changed the state '" + key +
                                                  "' in one superstep; give it a merge function, or let one "
                                                  "of them do it")
          .with("key", key)
          .with("nodes", std::vector<std::string>{values[0].first, values[1].first});
    }
    if (values.size() == 1) {
      apply_changes({{.key = key, .value = std::move(values[0].second)}}, next);
      continue;
    }
    std::vector<Json> given;
    for (auto& [node, value] : values) given.push_back(value ? *std::move(value) : Json());
    const auto before = next.values.find(key);
    next.values[key] = merge->second(before == next.values.end() ? Json() : before->second, given);
  }
  return {};
}

void RunMachine::take_effects(NodeEffects& effects, PendingCommit& commit) {
  if (effects.binding) commit.bindings.push_back(*std::move(effects.binding));
  for (Json& output : effects.outputs) {
    const bool out = listed(graph().output_from, effects.node);
    if (!out && !listed(graph().intermediate_from, effects.node)) continue;
    Event event = event_of(out ? EventKind::kWorkflowOutput : EventKind::kWorkflowIntermediate, effects.node);
    event.data = JsonText::of(output);
    after_.push_back(std::move(event));
    if (out) commit.state.outputs.push_back({.node = effects.node, .data = std::move(output)});
  }
  for (InfoRequest& request : effects.requests) {
    after_.push_back(request_event(request));
    commit.state.requests.push_back(std::move(request));
  }
}

Event RunMachine::request_event(const InfoRequest& request) const {
  Event event = event_of(EventKind::kRequestInfo, request.node);
  event.call_id = request.id;
  event.data = JsonText::of(request.data);
  return event;
}

Result<void> RunMachine::merge(std::vector<NodeEffects> all, PendingCommit& commit) {
  commit.state = head_.state;
  commit.state.step = view_.step;
  commit.state.status = WorkflowStatus::kRunning;
  commit.state.inflight.clear();
  commit.state.done.clear();
  commit.state.error.clear();
  mark_nodes(commit.state);
  TERTULIA_TRY(merge_changes(all, commit.state));
  std::vector<Message> said;
  for (const NodeEffects& effects : all) said.insert(said.end(), effects.said.begin(), effects.said.end());
  TERTULIA_TRY(stage(said, commit));
  std::vector<NodeEffects> inner;
  for (const NodeEffects& effects : all) {
    if (effects.skipped) TERTULIA_TRY(pass_over(effects.node, commit, inner));
    for (const WorkflowMessage& message : effects.sends) TERTULIA_TRY(deliver(message, commit, inner, 0));
  }
  for (NodeEffects& effects : all) take_effects(effects, commit);
  for (NodeEffects& effects : inner) {
    said.insert(said.end(), effects.said.begin(), effects.said.end());
    take_effects(effects, commit);
  }
  TERTULIA_TRY(stage(said, commit));
  // How it ended is part of its last commit: no other write is needed.
  if (commit.state.inflight.empty()) {
    commit.state.status =
        commit.state.requests.empty() ? WorkflowStatus::kCompleted : WorkflowStatus::kWaiting;
  }
  return {};
}

// What was said as the turn of the commit.
Result<void> RunMachine::stage(const std::vector<Message>& said, PendingCommit& commit) const {
  if (said.empty() || (commit.turn && commit.turn->messages().size() == said.size())) return {};
  TERTULIA_TRY_AS(commit.turn, Turn::from_messages(TurnId(parts_->uuids.make()), said));
  return {};
}

// Others go on as if the node was not there.
Result<void> RunMachine::pass_over(const std::string& node, PendingCommit& commit,
                                   std::vector<NodeEffects>& inner) {
  for (const Delivery& delivery : head_.state.inflight) {
    if (delivery.to != node) continue;
    TERTULIA_TRY_AS(const std::vector<Delivery> deliveries, route_past(graph(), delivery, commit.state));
    for (const Delivery& one : deliveries) TERTULIA_TRY(hand_over(one, commit, inner, 0));
  }
  return {};
}

// Along the edges, and through the internal nodes on the way.
Result<void> RunMachine::deliver(const WorkflowMessage& message, PendingCommit& commit,
                                 std::vector<NodeEffects>& inner, int depth) {
  TERTULIA_TRY_AS(const std::vector<Delivery> deliveries, route(graph(), message, commit.state, warnings_));
  for (const Delivery& delivery : deliveries) TERTULIA_TRY(hand_over(delivery, commit, inner, depth));
  return {};
}

Result<void> RunMachine::hand_over(const Delivery& delivery, PendingCommit& commit,
                                   std::vector<NodeEffects>& inner, int depth) {
  const Node& node = *graph().find(delivery.to);
  if (!node.internal) {
    commit.state.inflight.push_back(delivery);
    return {};
  }
  if (depth >= kMaxInner) {
    return Error(ErrorCode::kLimitReached,
                 "internal nodes around '" + node.id + "' send to one another in a circle");
  }
  StepView view = view_;
  view.state = &commit.state;
  // It sees what was said in this superstep.
  ConversationManager after = head_.conversation;
  if (commit.turn) after.committed(*commit.turn, Revision{number(after.session().revision) + 1});
  view.conversation = &after;
  NodeEffects effects{.node = node.id};
  NodeCall call(view, node, effects, delivery, 0);
  if (plan_.options.show_internal) tell(EventKind::kExecutorInvoked, node.id);
  // Shared with whoever holds `done` too long: an answer that comes late finds nobody.
  const auto answer = std::make_shared<InnerAnswer>();
  node.body(call, [answer](Result<void> result) { answer->give(std::move(result)); });
  const std::optional<Result<void>> ended = answer->take();
  if (!ended) return Error(ErrorCode::kToolFailed, "internal node '" + node.id + "' has not answered");
  TERTULIA_TRY(*ended);
  if (plan_.options.show_internal) tell(EventKind::kExecutorCompleted, node.id);
  apply_changes(effects.changes, commit.state);
  const std::vector<WorkflowMessage> sends = effects.sends;
  inner.push_back(std::move(effects));
  for (const WorkflowMessage& message : sends) TERTULIA_TRY(deliver(message, commit, inner, depth + 1));
  return {};
}

// What the other nodes did is kept, so that a run that is resumed does not do it again; nothing of the
// superstep takes effect.
void RunMachine::fail_step(std::vector<NodeEffects> done, const Error& error) {
  after_.clear();
  PendingCommit commit{.state = head_.state};
  commit.state.done = std::move(done);
  commit.state.status = WorkflowStatus::kFailed;
  commit.state.error = error.message();
  mark_nodes(commit.state);
  // It may be one of theirs.
  const Error kept = error;
  running_.clear();
  submit(std::move(commit));
  when_durable([this, kept] {
    tell(EventKind::kWorkflowFailed, std::string(name_of(kept.code())), kept.message());
    finish(kept);
  });
}

// What was said is kept, marked interrupted where it was cut; state and messages are not.
void RunMachine::end_cancelled() {
  if (cancel_.token().reason() == CancelReason::kShutdown) return finish(cancel_.token().check().error());
  PendingCommit commit{.state = head_.state};
  std::vector<Message> said;
  for (const auto& run : running_) {
    for (Message& message : run->effects.said) said.push_back(std::move(message));
    if (run->effects.binding) commit.bindings.push_back(*run->effects.binding);
  }
  running_.clear();
  commit.state.status = WorkflowStatus::kCancelled;
  commit.state.inflight.clear();
  commit.state.buffers.clear();
  commit.state.requests.clear();
  commit.state.done.clear();
  if (!said.empty()) {
    Result<Turn> turn = Turn::from_messages(TurnId(parts_->uuids.make()), std::move(said));
    if (turn) {
      commit.turn = *std::move(turn);
    } else {
      // Such as calls of tools whose results the cancel has cut off: nothing of it can stand in a history.
      tell(EventKind::kWarning, "words_dropped",
           "what was said until the cancel cannot be kept: " + turn.error().message());
    }
  }
  if (auto refreshed = refresh_session(); !refreshed) return finish(std::move(refreshed).error());
  submit(std::move(commit));
  when_durable([this] { finish(outcome_of(WorkflowStatus::kCancelled)); });
}

// Answers may have come while other nodes ran.
void RunMachine::end_waiting() {
  PendingCommit commit{.state = head_.state};
  Result<std::vector<Delivery>> answers = take_answers(commit);
  if (!answers) return finish(std::move(answers).error());
  if (!answers->empty()) {
    for (Delivery& answer : *answers) commit.state.inflight.push_back(std::move(answer));
    submit(std::move(commit));
    return advance();
  }
  if (head_.state.status == WorkflowStatus::kWaiting) return finish(outcome_of(WorkflowStatus::kWaiting));
  finish_as(WorkflowStatus::kWaiting);
}

}  // namespace tertulia
