#include "tertulia/model/scripted_model.h"

#include <algorithm>
#include <atomic>
#include <deque>

#include "tertulia/base/check.h"

namespace tertulia {

struct ModelGate::State {
  mutable Mutex mutex;
  mutable CondVar arrived;
  bool open TERTULIA_GUARDED_BY(mutex) = false;
  std::size_t arrivals TERTULIA_GUARDED_BY(mutex) = 0;
  std::vector<std::function<void()>> waiting TERTULIA_GUARDED_BY(mutex);

  // True if the door is open; else `go_on` is called when it is.
  bool pass(std::function<void()> go_on) {
    MutexLock lock(mutex);
    ++arrivals;
    arrived.notify_all();
    if (!open) waiting.push_back(std::move(go_on));
    return open;
  }
};

ModelGate::ModelGate() : state_(std::make_shared<State>()) {}

void ModelGate::open() {
  std::vector<std::function<void()>> waiting;
  {
    MutexLock lock(state_->mutex);
    state_->open = true;
    waiting.swap(state_->waiting);
  }
  for (const auto& go_on : waiting) go_on();
}

void ModelGate::wait_for_arrivals(std::size_t count) const {
  MutexLock lock(state_->mutex);
  while (state_->arrivals < count) state_->arrived.wait(state_->mutex);
}

ModelStep& ModelStep::add(Act act) {
  acts_.push_back(std::move(act));
  return *this;
}
ModelStep& ModelStep::reason(std::string text, std::string signature) {
  return add({.kind = Act::Kind::kReasoning, .text = std::move(text), .id = std::move(signature)});
}
ModelStep& ModelStep::call(std::string tool, std::string arguments, std::string id) {
  return add(
      {.kind = Act::Kind::kCall, .text = std::move(arguments), .name = std::move(tool), .id = std::move(id)});
}
ModelStep& ModelStep::retry(std::string why) {
  return add({.kind = Act::Kind::kRetry, .text = std::move(why)});
}
ModelStep& ModelStep::fail(Error error) { return add({.kind = Act::Kind::kFail, .error = std::move(error)}); }
ModelStep& ModelStep::hang() { return add({.kind = Act::Kind::kHang}); }
ModelStep& ModelStep::wait(ModelGate gate) {
  return add({.kind = Act::Kind::kGate, .gate = std::move(gate)});
}

ModelStep& ModelStep::finish(Finish finish) {
  finish_ = finish;
  return *this;
}
ModelStep& ModelStep::usage(Usage usage) {
  usage_ = usage;
  return *this;
}
ModelStep& ModelStep::model(std::string name) {
  model_ = std::move(name);
  return *this;
}
ModelStep& ModelStep::response_id(std::string id) {
  response_id_ = std::move(id);
  return *this;
}
ModelStep& ModelStep::service_thread(std::string thread) {
  service_thread_ = std::move(thread);
  return *this;
}

namespace {

Error mismatch(std::string sentence) { return Error(ErrorCode::kScriptMismatch, std::move(sentence)); }

std::string last_user_text(const ModelRequest& request) {
  std::string text;
  for (const Message& message : request.view) {
    if (message.role() == Role::kUser) text = message.text_content();
  }
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "none" : text;
}

}  // namespace

ModelStep& ModelStep::expect(std::function<Result<void>(const ModelRequest&)> looks_right) {
  expectations_.push_back(std::move(looks_right));
  return *this;
}
ModelStep& ModelStep::expect_last_user(std::string text) {
  return expect([text = std::move(text)](const ModelRequest& request) -> Result<void> {
    const std::string got = last_user_text(request);
    if (got == text) return {};
    return mismatch("the last user message should be '" + text + "', but is '" + got + "'");
  });
}
ModelStep& ModelStep::expect_last_user_contains(std::string text) {
  return expect([text = std::move(text)](const ModelRequest& request) -> Result<void> {
    const std::string got = last_user_text(request);
    if (got.find(text) != std::string::npos) return {};
    return mismatch("the last user message should contain '" + text + "', but is '" + got + "'");
  });
}
ModelStep& ModelStep::expect_tools(std::vector<std::string> names) {
  std::ranges::sort(names);
  return expect([names = std::move(names)](const ModelRequest& request) -> Result<void> {
    std::vector<std::string> got;
    for (const ToolDefinition& tool : request.tools) got.push_back(tool.name);
    std::ranges::sort(got);
    if (got == names) return {};
    return mismatch("the tools should be " + joined(names) + ", but are " + joined(got));
  });
}
ModelStep& ModelStep::expect_messages(std::size_t count) {
  return expect([count](const ModelRequest& request) -> Result<void> {
    if (request.view.size() == count) return {};
    return mismatch("the view should have " + std::to_string(count) + " messages, but has " +
                    std::to_string(request.view.size()));
  });
}
ModelStep& ModelStep::expect_service_thread(std::string thread) {
  return expect([thread = std::move(thread)](const ModelRequest& request) -> Result<void> {
    if (request.service_thread == thread) return {};
    return mismatch("the service thread should be '" + thread + "', but is '" + request.service_thread + "'");
  });
}

struct ScriptedModel::State {
  mutable Mutex mutex;
  std::deque<ModelStep> steps TERTULIA_GUARDED_BY(mutex);
  std::size_t taken TERTULIA_GUARDED_BY(mutex) = 0;
  std::vector<ModelRequest> requests TERTULIA_GUARDED_BY(mutex);
  std::optional<Error> problem TERTULIA_GUARDED_BY(mutex);
  std::optional<ModelInfo> info TERTULIA_GUARDED_BY(mutex);
  // The steps that stand still. Whoever takes one out of the list is the one to go on with it or to end it.
  std::vector<std::shared_ptr<Performance>> standing TERTULIA_GUARDED_BY(mutex);
  std::atomic<std::size_t> calls{0};
};

// One step under way. While it stands still, at a gate or hanging, the model's list keeps it alive.
//
// A cancel may come on any thread at any time, also from within a delta: if the step stands still it is ended
// by the cancel, else it sees for itself before it does anything more.
struct ScriptedModel::Performance : std::enable_shared_from_this<Performance> {
  Performance(ModelStep s, ModelCall c, Done<ModelResponse> d, std::shared_ptr<State> m)
      : step(std::move(s)), call(std::move(c)), done(std::move(d)), state(std::move(m)) {}

  void begin() {
    response.model = step.model_.empty() ? call.request.model : step.model_;
    response.id = step.response_id_;
    response.service_thread = step.service_thread_;
    // The registration holds a weak pointer: a token that lives for long keeps nothing of the script.
    registration = call.cancel.on_cancel([weak = weak_from_this()](CancelReason) {
      if (const auto self = weak.lock()) self->wake();
    });
    go_on();
  }

  void wake() {
    const auto self = shared_from_this();
    if (leave()) end(call.cancel.check().error());
  }

  // True if it stood still, and the caller is the one to go on with it.
  bool leave() {
    MutexLock lock(state->mutex);
    return std::erase_if(state->standing, [&](const auto& one) { return one.get() == this; }) > 0;
  }

  void go_on() {
    while (next < step.acts_.size()) {
      if (const Result<void> alive = call.cancel.check(); !alive) return end(alive.error());
      const ModelStep::Act& act = step.acts_[next++];
      if (act.kind == ModelStep::Act::Kind::kFail) return end(*act.error);
      if (act.kind == ModelStep::Act::Kind::kHang || act.kind == ModelStep::Act::Kind::kGate) {
        if (stand(act)) return;
        continue;
      }
      tell(act);
    }
    if (const Result<void> alive = call.cancel.check(); !alive) return end(alive.error());
    finish();
  }

  // True if the step stands still now and will be continued or ended by another call.
  bool stand(const ModelStep::Act& act) {
    {
      MutexLock lock(state->mutex);
      state->standing.push_back(shared_from_this());
    }
    if (act.kind == ModelStep::Act::Kind::kGate) {
      const bool open = act.gate->state_->pass([weak = weak_from_this()] {
        if (const auto self = weak.lock(); self && self->leave()) self->go_on();
      });
      if (open && leave()) return false;
    }
    // Cancelled before it was in the list: nobody else will wake it.
    if (call.cancel.cancelled()) wake();
    return true;
  }

  void tell(const ModelStep::Act& act) {
    switch (act.kind) {
      case ModelStep::Act::Kind::kText:
        ++deltas;
        add_text(PartKind::kText, act.text);
        emit({.kind = ModelDelta::Kind::kText, .text = act.text});
        return;
      case ModelStep::Act::Kind::kReasoning:
        ++deltas;
        response.parts.push_back({.kind = PartKind::kReasoning, .text = act.text, .call_id = act.id});
        emit({.kind = ModelDelta::Kind::kReasoning, .text = act.text});
        return;
      case ModelStep::Act::Kind::kCall:
        ++deltas;
        tell_call(act);
        return;
      case ModelStep::Act::Kind::kRetry:
        response.parts.clear();
        calls = 0;
        emit({.kind = ModelDelta::Kind::kRetry, .index = ++attempt, .text = act.text});
        return;
      case ModelStep::Act::Kind::kFail:
      case ModelStep::Act::Kind::kHang:
      case ModelStep::Act::Kind::kGate:
        return;
    }
  }

  void tell_call(const ModelStep::Act& act) {
    const std::string id = act.id.empty() ? "call_" + std::to_string(++state->calls) : act.id;
    response.parts.push_back(
        {.kind = PartKind::kToolCall, .text = act.text, .name = act.name, .call_id = id});
    emit({.kind = ModelDelta::Kind::kToolCall, .index = calls, .call_id = id, .name = act.name});
    emit({.kind = ModelDelta::Kind::kToolArguments, .index = calls, .text = act.text});
    ++calls;
  }

  void add_text(PartKind kind, const std::string& text) {
    if (!response.parts.empty() && response.parts.back().kind == kind) {
      response.parts.back().text += text;
    } else {
      response.parts.push_back({.kind = kind, .text = text});
    }
  }

  void emit(const ModelDelta& delta) {
    if (call.on_delta) call.on_delta(delta);
  }

  void finish() {
    response.finish = step.finish_.value_or(calls > 0 ? Finish::kToolCalls : Finish::kStop);
    response.usage = step.usage_.value_or(Usage{.output_tokens = deltas});
    done(std::move(response));
  }
  void end(Error error) { done(std::move(error)); }

  const ModelStep step;
  const ModelCall call;
  const Done<ModelResponse> done;
  const std::shared_ptr<State> state;
  ModelResponse response;
  std::size_t next = 0;
  std::uint32_t calls = 0;
  std::uint32_t attempt = 0;
  std::uint64_t deltas = 0;
  CancelRegistration registration;
};

ScriptedModel::ScriptedModel(std::vector<ModelStep> steps) : state_(std::make_shared<State>()) {
  MutexLock lock(state_->mutex);
  for (ModelStep& step : steps) state_->steps.push_back(std::move(step));
}
ScriptedModel::~ScriptedModel() {
  std::vector<std::shared_ptr<Performance>> standing;
  {
    MutexLock lock(state_->mutex);
    standing.swap(state_->standing);
  }
  for (const auto& one : standing) one->end(Error(ErrorCode::kClosed, "the script is gone"));
}

void ScriptedModel::add(ModelStep step) {
  MutexLock lock(state_->mutex);
  state_->steps.push_back(std::move(step));
}

void ScriptedModel::set_info(ModelInfo info) {
  TERTULIA_CHECK(info.tokenizer != nullptr, "a ModelInfo always has a tokenizer");
  MutexLock lock(state_->mutex);
  state_->info = std::move(info);
}

ModelInfo ScriptedModel::info(std::string_view model) const {
  MutexLock lock(state_->mutex);
  ModelInfo info = state_->info.value_or(ModelInfo{.context_tokens = 128'000,
                                                   .max_output_tokens = 16'000,
                                                   .tokenizer = tokenizer_for_model("gpt-4o"),
                                                   .images = true,
                                                   .files = true,
                                                   .service_threads = true});
  info.name = std::string(model);
  return info;
}

void ScriptedModel::respond(ModelCall call, Done<ModelResponse> done) {
  std::optional<ModelStep> step;
  std::optional<Error> problem;
  {
    MutexLock lock(state_->mutex);
    state_->requests.push_back(call.request);
    if (state_->steps.empty()) {
      problem = mismatch("the model was asked once more than the script has steps (" +
                         std::to_string(state_->taken) + ")");
    } else {
      step = std::move(state_->steps.front());
      state_->steps.pop_front();
      ++state_->taken;
    }
  }
  for (std::size_t i = 0; step && !problem && i < step->expectations_.size(); ++i) {
    if (Result<void> fits = step->expectations_[i](call.request); !fits)
      problem = mismatch(fits.error().message());
  }
  if (problem) {
    MutexLock lock(state_->mutex);
    if (step) problem = std::move(*problem).in("step " + std::to_string(state_->taken) + " of the script");
    if (!state_->problem) state_->problem = problem;
  }
  if (problem) return done(*std::move(problem));
  std::make_shared<Performance>(*std::move(step), std::move(call), std::move(done), state_)->begin();
}

Result<void> ScriptedModel::check() const {
  MutexLock lock(state_->mutex);
  if (state_->problem) return *state_->problem;
  if (state_->steps.empty()) return {};
  return mismatch("the script has " + std::to_string(state_->steps.size()) +
                  " steps left that nobody asked for; " + std::to_string(state_->taken) + " were taken");
}

std::size_t ScriptedModel::steps_left() const {
  MutexLock lock(state_->mutex);
  return state_->steps.size();
}

std::vector<ModelRequest> ScriptedModel::requests() const {
  MutexLock lock(state_->mutex);
  return state_->requests;
}

std::shared_ptr<ScriptedModel> scripted_model(std::vector<ModelStep> steps) {
  return std::make_shared<ScriptedModel>(std::move(steps));
}

}  // namespace tertulia
