#include "story_tools.h"

#include <stdexcept>
#include <utility>

namespace tertulia {

bool Life::begin(const std::string& tool, const std::function<void()>& effect) {
  bool die = false;
  {
    MutexLock lock(mutex_);
    if (over_) return false;
    effect();
    die = deadly_.erase(tool) > 0;
    // From here on no other tool of this life does anything.
    if (die) over_ = true;
    ++runs_[tool];
  }
  changed_.notify_all();
  if (die) die_();
  return true;
}

bool Life::stand(const std::string& tool, const ToolCall& call, bool deaf) {
  const CancelRegistration on_cancel = call.cancel.on_cancel([this](CancelReason) {
    MutexLock lock(mutex_);
    changed_.notify_all();
  });
  MutexLock lock(mutex_);
  while (!over_ && !released_.contains(tool) && (deaf || !call.cancel.cancelled())) changed_.wait(mutex_);
  return released_.contains(tool) && !over_;
}

void Life::die_during(const std::string& tool) {
  MutexLock lock(mutex_);
  deadly_.insert(tool);
}

void Life::release(const std::string& tool) {
  MutexLock lock(mutex_);
  released_.insert(tool);
  changed_.notify_all();
}

void Life::wait_for_runs(const std::string& tool, std::size_t count) {
  MutexLock lock(mutex_);
  while (!over_ && runs_[tool] < count) changed_.wait(mutex_);
}

void Life::end() {
  MutexLock lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

bool Life::all_came() const {
  MutexLock lock(mutex_);
  return deadly_.empty();
}

Duration read_duration(Words& words) {
  const std::size_t count = words.required_number();
  const auto signed_count = static_cast<std::int64_t>(count);
  if (words.take("ms")) return std::chrono::milliseconds(signed_count);
  if (words.take("s")) return std::chrono::seconds(signed_count);
  words.fail("a time is written as 20ms or 3s");
}

ToolPlan read_tool(Words& words) {
  ToolPlan plan;
  plan.name = words.word();
  for (const std::string& parameter : split(words.parenthesised(), ',')) {
    const std::vector<std::string> parts = split(parameter, ':');
    plan.parameters.emplace_back(parts.front(), parts.size() > 1 ? parts[1] : "string");
  }
  if (words.take("read_only")) plan.tool_class = ToolClass::kReadOnly;
  if (words.take("idempotent")) plan.tool_class = ToolClass::kIdempotent;
  (void)words.take("unsafe");
  if (words.take("within")) plan.timeout = read_duration(words);
  plan.behaviour = words.word();
  if (plan.behaviour == "hangs") plan.deaf = words.take("deaf");
  if (plan.behaviour == "fills") plan.size = words.required_number();
  plan.text = words.rest();
  for (const char* known : {"returns", "fails", "throws", "hangs", "adds", "multiplies", "fills", "ends"}) {
    if (plan.behaviour == known) return plan;
  }
  words.fail("no tool '" + plan.behaviour + "'");
}

namespace {

Json schema_of(const ToolPlan& plan) {
  JsonObject properties;
  JsonArray required;
  for (const auto& [name, type] : plan.parameters) {
    properties.append(name, JsonObject{{"type", type}});
    required.emplace_back(name);
  }
  return JsonObject{
      {"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}

// Whole numbers only.
std::int64_t argument(const ToolCall& call, std::string_view name) {
  const Json* value = call.arguments.as_object()->find(name);
  const std::int64_t* whole = value == nullptr ? nullptr : value->as_int();
  return whole == nullptr ? 0 : *whole;
}

Result<ToolOutput> behave(const ToolPlan& plan, const ToolCall& call, Life& life) {
  if (plan.behaviour == "fails") return ToolOutput{.text = plan.text, .failed = true};
  if (plan.behaviour == "throws") throw std::runtime_error(plan.text);
  if (plan.behaviour == "fills") return ToolOutput{.text = std::string(plan.size, 'x')};
  if (plan.behaviour == "ends") return ToolOutput{.text = plan.text, .end_conversation = true};
  if (plan.behaviour == "adds")
    return ToolOutput{.text = std::to_string(argument(call, "a") + argument(call, "b"))};
  if (plan.behaviour == "multiplies") {
    return ToolOutput{.text = std::to_string(argument(call, "a") * argument(call, "b"))};
  }
  if (plan.behaviour == "hangs" && !life.stand(plan.name, call, plan.deaf)) {
    return ToolOutput{.text = "cut short", .failed = true};
  }
  return ToolOutput{.text = plan.text};
}

Result<std::optional<ToolOutput>> tell(const ToolPlan& plan) {
  if (plan.probe == "done") return std::optional(ToolOutput{.text = plan.probe_text});
  if (plan.probe == "not done") return std::optional<ToolOutput>();
  if (plan.probe == "throws") throw std::runtime_error("the probe broke");
  return Error(ErrorCode::kToolFailed, "nobody knows");
}

}  // namespace

ToolPtr make_story_tool(const ToolPlan& plan, std::shared_ptr<Ledger> ledger, std::shared_ptr<Life> life) {
  ToolOptions options{.tool_class = plan.tool_class, .timeout = plan.timeout};
  if (!plan.probe.empty()) {
    options.probe = [plan, ledger, life](const ToolCall& call) -> Result<std::optional<ToolOutput>> {
      life->begin("probe " + plan.name,
                  [&] { ledger->add({"probe " + plan.name, to_text(call.arguments), call.key}); });
      return tell(plan);
    };
  }
  auto body = [plan, ledger, life](const ToolCall& call) -> Result<ToolOutput> {
    const auto effect = [&] { ledger->add({plan.name, to_text(call.arguments), call.key}); };
    if (!life->begin(plan.name, effect)) return ToolOutput{.text = "nobody is there", .failed = true};
    return behave(plan, call, *life);
  };
  return make_raw_tool(plan.name, "The tool '" + plan.name + "' of the story.", schema_of(plan),
                       std::move(body), std::move(options));
}

}  // namespace tertulia
