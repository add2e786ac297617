#include "call_chain.h"

#include "tertulia/model/ask_model.h"

#include "hooks.h"

namespace tertulia {
namespace {

// A pause that a cancel cuts short.
class Pause : public std::enable_shared_from_this<Pause> {
 public:
  Pause(std::shared_ptr<Crew> crew, std::function<void()> then)
      : crew_(std::move(crew)), then_(std::move(then)) {}

  void begin(Timers& timers, Duration time, const CancelToken& cancel) {
    Timer timer = timers.after(time, [self = shared_from_this()] { self->end(); });
    CancelRegistration on_cancel = cancel.on_cancel([weak = weak_from_this()](CancelReason) {
      if (const auto self = weak.lock()) self->end();
    });
    MutexLock lock(mutex_);
    if (!then_) return;
    timer_ = std::move(timer);
    on_cancel_ = std::move(on_cancel);
  }

 private:
  // The first that comes counts.
  void end() {
    // Taken away outside of the mutex: a registration waits for a callback that runs.
    Timer timer;
    CancelRegistration on_cancel;
    std::function<void()> then;
    {
      MutexLock lock(mutex_);
      std::swap(timer, timer_);
      std::swap(on_cancel, on_cancel_);
      then = std::exchange(then_, nullptr);
    }
    if (then) crew_->post_step(std::move(then));
  }

  const std::shared_ptr<Crew> crew_;
  Mutex mutex_;
  Timer timer_ TERTULIA_GUARDED_BY(mutex_);
  CancelRegistration on_cancel_ TERTULIA_GUARDED_BY(mutex_);
  std::function<void()> then_ TERTULIA_GUARDED_BY(mutex_);
};

std::string whose(const Middleware& middleware) {
  return "middleware '" + std::string(middleware.name()) + "'";
}

}  // namespace

// Waits for the tool or the time, whatever comes first.
class ToolAttempt : public std::enable_shared_from_this<ToolAttempt> {
 public:
  ToolAttempt(std::shared_ptr<Crew> crew, const CancelToken& outer, Done<ToolAnswer> done)
      : crew_(std::move(crew)), cancel_(outer), done_(std::move(done)) {}

  // Cancelled when its time is up.
  CancelToken cancel() const { return cancel_.token(); }

  void wait(Timers& timers, Duration time, ToolClass tool_class) {
    Timer timer = timers.after(time, [self = shared_from_this(), tool_class] {
      self->crew_->post_step([self, tool_class] {
        self->finish(timeout_answer(tool_class));
        self->cancel_.cancel(CancelReason::kDeadline);
      });
    });
    MutexLock lock(mutex_);
    if (done_) timer_ = std::move(timer);
  }
  void finish(ToolAnswer answer) {
    const Done<ToolAnswer> done = take();
    if (done) done(std::move(answer));
  }
  // Nobody waits any more.
  void drop() { (void)take(); }

 private:
  Done<ToolAnswer> take() {
    Timer timer;
    MutexLock lock(mutex_);
    std::swap(timer, timer_);
    return std::exchange(done_, nullptr);
  }

  const std::shared_ptr<Crew> crew_;
  CancelSource cancel_;
  Mutex mutex_;
  Timer timer_ TERTULIA_GUARDED_BY(mutex_);
  Done<ToolAnswer> done_ TERTULIA_GUARDED_BY(mutex_);
};

void CallChain::later(Duration time, std::function<void()> then) const {
  std::make_shared<Pause>(crew, std::move(then))->begin(*timers, time, cancel);
}

NextModelCall::NextModelCall(std::shared_ptr<Chain> chain, std::size_t index)
    : chain_(std::move(chain)), index_(index) {}

void NextModelCall::operator()(ModelCall call, Done<ModelResponse> done) const {
  if (chain_->over) {
    done(Error(ErrorCode::kCancelled, "the turn does not wait for the model any more"));
    return;
  }
  if (index_ == chain_->agent->middleware.size()) {
    ask_model(*chain_->model, std::move(call), answered_once(std::move(done), "the model"));
    return;
  }
  Middleware& middleware = *chain_->agent->middleware[index_];
  const Done<ModelResponse> once = answered_once(std::move(done), whose(middleware));
  try {
    middleware.around_model_call(chain_->turn, std::move(call), NextModelCall(chain_, index_ + 1), once);
  } catch (...) {
    once(hook_exception(middleware, "around_model_call"));
  }
}

void NextModelCall::later(Duration time, std::function<void()> then) const {
  chain_->later(time, std::move(then));
}

NextToolCall::NextToolCall(std::shared_ptr<Chain> chain, std::size_t index)
    : chain_(std::move(chain)), index_(index) {}

void NextToolCall::operator()(Done<ToolAnswer> done) const {
  if (index_ == chain_->agent->middleware.size()) {
    chain_->attempt(std::move(done));
    return;
  }
  Middleware& middleware = *chain_->agent->middleware[index_];
  // Whatever a wrapper does, a call comes to an answer that the model can read.
  const Done<ToolAnswer> once = answered_once<ToolAnswer>(
      [done = std::move(done)](Result<ToolAnswer> answer) {
        done(answer ? *std::move(answer) : failed_answer(answer.error().message()));
      },
      whose(middleware));
  try {
    middleware.around_tool_call(chain_->turn, chain_->plan, NextToolCall(chain_, index_ + 1), once);
  } catch (...) {
    once(hook_exception(middleware, "around_tool_call"));
  }
}

void NextToolCall::later(Duration time, std::function<void()> then) const {
  chain_->later(time, std::move(then));
}

void NextToolCall::Chain::attempt(Done<ToolAnswer> done) {
  if (over || cancel.cancelled()) {
    done(failed_answer("The turn was interrupted before this call ran.", ToolOutcome::kInterrupted));
    return;
  }
  if (tried.exchange(true) && plan.tool_class == ToolClass::kUnsafe) {
    done(failed_answer("This tool must not run twice for one call. It was not run again."));
    return;
  }
  auto one = std::make_shared<ToolAttempt>(crew, context.cancel, std::move(done));
  {
    MutexLock lock(mutex_);
    running_ = one;
  }
  one->wait(*timers, timeout, plan.tool_class);
  ToolCall call = context;
  call.cancel = one->cancel();
  call.deadline = min(deadline, Deadline::after(timeout, *clock));
  call_tool(tool->tool, tool->schema, plan.arguments, std::move(call), limits, *clock,
            [one](Result<ToolAnswer> answer) { one->finish(*std::move(answer)); });
}

void NextToolCall::Chain::stop() {
  over = true;
  std::shared_ptr<ToolAttempt> running;
  {
    MutexLock lock(mutex_);
    running = std::exchange(running_, nullptr);
  }
  if (running) running->drop();
}

ToolAnswer failed_answer(std::string text, ToolOutcome outcome) {
  ToolAnswer answer;
  answer.text = std::move(text);
  answer.outcome = outcome;
  return answer;
}

ToolAnswer timeout_answer(ToolClass tool_class) {
  return failed_answer("The tool did not answer in time. It may still take effect.",
                       tool_class == ToolClass::kReadOnly ? ToolOutcome::kError : ToolOutcome::kUnknown);
}

}  // namespace tertulia
