// The wrappers around a model call and a tool call: each goes on with the next, the last with the real thing.
//
// A chain may outlive its turn: a wrapper holds it as long as it likes. Everything in it is its own, and once
// the turn does not listen any more it starts nothing.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "tertulia/agent/agent_definition.h"
#include "tertulia/agent/middleware.h"
#include "tertulia/base/run_safely.h"
#include "tertulia/base/thread_annotations.h"

#include "async.h"

namespace tertulia {

// A completion that answers once; one that is dropped unanswered answers with an error.
template <class T>
Done<T> answered_once(Done<T> done, std::string_view who) {
  struct State {
    State(Done<T> answer, std::string_view owner) : done(std::move(answer)), name(owner) {}
    ~State() {
      if (called.exchange(true)) return;
      run_safely("whoever waits for an answer",
                 [this] { done(Error(ErrorCode::kToolFailed, name + " gave no answer")); });
    }
    Done<T> done;
    std::string name;
    std::atomic<bool> called = false;
  };
  return [state = std::make_shared<State>(std::move(done), who)](Result<T> result) {
    if (!state->called.exchange(true)) state->done(std::move(result));
  };
}

struct CallChain {
  AgentDefinitionPtr agent;
  TurnInfo turn;
  // Where middleware goes on, and where its times are kept.
  std::shared_ptr<Crew> crew;
  std::shared_ptr<Timers> timers;
  CancelToken cancel;
  // Nobody waits for the answer any more.
  std::atomic<bool> over = false;

  void later(Duration time, std::function<void()> then) const;
};

struct NextModelCall::Chain : CallChain {
  std::shared_ptr<LanguageModel> model;
};

// One try of a tool call, with its time.
class ToolAttempt;

struct NextToolCall::Chain : CallChain {
  ToolCallPlan plan;
  std::shared_ptr<const ToolEntry> tool;
  // Without its deadline, which each attempt has its own of.
  ToolCall context;
  Deadline deadline;
  Duration timeout{};
  ToolLimits limits;
  Clock* clock = nullptr;
  std::atomic<bool> tried = false;

  void attempt(Done<ToolAnswer> done);
  // Ends what waits for a time.
  void stop();

 private:
  Mutex mutex_;
  std::shared_ptr<ToolAttempt> running_ TERTULIA_GUARDED_BY(mutex_);
};

// What became of a call that did not answer in time.
ToolAnswer timeout_answer(ToolClass tool_class);
ToolAnswer failed_answer(std::string text, ToolOutcome outcome = ToolOutcome::kError);

}  // namespace tertulia
