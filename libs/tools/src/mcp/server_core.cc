#include "mcp/server_core.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tertulia/base/env.h"

#include "mcp/access.h"
#include "mcp/http_transport.h"
#include "mcp/sse_transport.h"
#include "mcp/stdio_transport.h"

namespace tertulia {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(200);
constexpr Duration kLongestRestartPause = std::chrono::seconds(30);
// A connection that stood so long was a good one.
constexpr Duration kStood = std::chrono::seconds(30);
constexpr std::size_t kMostWaiting = 1'000;
// Of a call that is not silent; a turn has its own limit.
constexpr Duration kLongestCall = std::chrono::hours(24);

constexpr std::array<std::string_view, 10> kPassedOn = {"HOME",  "LANG", "LC_ALL", "LOGNAME", "PATH",
                                                        "SHELL", "TERM", "TMPDIR", "TZ",      "USER"};

Instant server_now() { return real_env().clock().instant(); }

Environment child_environment(const McpConfig& config, const Environment& ours) {
  Environment theirs;
  const auto pass = [&](std::string_view name) {
    if (const auto found = ours.find(name); found != ours.end()) theirs.insert(*found);
  };
  for (const std::string_view name : kPassedOn) pass(name);
  for (const std::string& name : config.pass_env) pass(name);
  for (const auto& [name, value] : config.env)
    theirs[name] = value == nullptr ? std::string() : std::string(value->reveal());
  return theirs;
}

// The address is that of an older server, or of nothing.
bool suggests_old_transport(const Error& why) {
  const auto* fact = why.fact("status");
  const auto* status = fact == nullptr ? nullptr : std::get_if<std::int64_t>(fact);
  return status != nullptr && (*status == 400 || *status == 404 || *status == 405);
}

}  // namespace

// One tool of a server. Does not keep the server alive: a connection ends when its owner says so.
class McpTool final : public Tool {
 public:
  McpTool(McpToolInfo info, std::optional<Duration> silence, std::weak_ptr<McpServer::Core> core)
      : info_(std::move(info)), silence_(silence), core_(std::move(core)) {}

  const ToolDefinition& definition() const override { return info_.definition; }
  ToolClass tool_class() const override { return info_.tool_class; }
  // What has a limit for its silence keeps it itself: a call that reports progress may take long.
  std::optional<Duration> timeout() const override {
    return silence_ ? std::optional<Duration>(kLongestCall) : std::nullopt;
  }

  void run(ToolCall call, Done<ToolOutput> done) override {
    if (const auto core = core_.lock()) return core->call(info_, std::move(call), std::move(done));
    done(Error(ErrorCode::kClosed, "the MCP server of tool '" + info_.definition.name + "' is closed"));
  }

 private:
  const McpToolInfo info_;
  const std::optional<Duration> silence_;
  const std::weak_ptr<McpServer::Core> core_;
};

McpServer::Core::Core(McpConfig config, McpOptions options)
    : config_(std::move(config)), options_(std::move(options)) {}

void McpServer::Core::post(std::function<void(Core&)> job) {
  loop_.post([self = shared_from_this(), job = std::move(job)] { job(*self); });
}

McpStatus McpServer::Core::status() const {
  McpStatus status{.state = state_,
                   .protocol = hello_.protocol,
                   .server_name = hello_.name,
                   .server_version = hello_.version,
                   .instructions = hello_.instructions,
                   .restarts = restarts_,
                   .garbage = garbage_,
                   .late_answers = late_,
                   .problem = problem_,
                   .error_output = error_output_};
  if (session_) {
    status.garbage += session_->garbage();
    status.late_answers += session_->late_answers();
    status.process = std::max(session_->transport().process(), 0);
    status.error_output = session_->transport().error_tail();
  }
  MutexLock lock(mutex_);
  status.tools = tools_.size();
  status.warnings = warnings_;
  return status;
}

void McpServer::Core::connect(Done<void> done) {
  if (state_ == McpState::kDown) state_ = McpState::kIdle;
  when_ready([done = std::move(done)](const Result<void>& result) { done(result); });
}

std::shared_ptr<McpTransport> McpServer::Core::new_transport() const {
  if (!config_.command.empty())
    return stdio_transport({.program = config_.command,
                            .arguments = config_.args,
                            .environment = child_environment(config_, options_.environment),
                            .directory = config_.directory},
                           options_.log);
  const McpHttpOptions http{.url = config_.url, .headers = config_.headers, .timeout = config_.timeout};
  return old_transport_ ? sse_transport(http, options_.log) : http_transport(http, options_.log);
}

Json McpServer::Core::capabilities() const {
  JsonObject all;
  if (!config_.roots.empty()) all.append("roots", JsonObject{});
  if (options_.questions)
    all.append("elicitation", JsonObject{{"form", JsonObject{}}, {"url", JsonObject{}}});
  if (options_.sampling) all.append("sampling", JsonObject{});
  return all;
}

void McpServer::Core::attempt() {
  state_ = McpState::kConnecting;
  answered_ = false;
  session_ = std::make_shared<McpSession>(new_transport());
  const std::weak_ptr<Core> weak = weak_from_this();
  McpSessionHandlers handlers{.on_notification =
                                  [weak](const std::string& method, const Json& params) {
                                    if (const auto self = weak.lock()) self->on_notification(method, params);
                                  },
                              .on_request =
                                  [weak](const std::string& method, const Json& params, CancelToken cancel,
                                         McpSessionHandlers::Respond respond) {
                                    if (const auto self = weak.lock())
                                      self->on_request(method, params, std::move(cancel), std::move(respond));
                                  },
                              .on_down =
                                  [weak](const Error& why) {
                                    if (const auto self = weak.lock()) self->lost(why);
                                  }};
  session_->start(capabilities(), config_.timeout, std::move(handlers), [weak](Result<McpHello> hello) {
    if (const auto self = weak.lock()) self->greeted(std::move(hello));
  });
}

void McpServer::Core::greeted(Result<McpHello> hello) {
  if (!hello) return failed(hello.error());
  hello_ = *std::move(hello);
  options_.log.info("MCP server connected", {{"server", config_.name}, {"protocol", hello_.protocol}});
  load_tools([weak = weak_from_this(), session = std::weak_ptr(session_)](const Result<void>& listed) {
    const auto self = weak.lock();
    if (self && self->session_ == session.lock() && self->session_) self->ready(listed);
  });
}

void McpServer::Core::ready(const Result<void>& listed) {
  if (!listed) return failed(listed.error());
  state_ = McpState::kReady;
  was_ready_ = true;
  ready_at_ = server_now();
  first_error_.reset();
  problem_.clear();
  for (const std::string& uri : subscriptions_) {
    session_->request({.method = "resources/subscribe",
                       .params = JsonObject{{"uri", uri}},
                       .deadline = Deadline::after(config_.timeout, real_env().clock())},
                      [](const McpReply&) {});
  }
  settle_waiting({});
}

void McpServer::Core::failed(const Error& why) {
  if (state_ == McpState::kClosed) return;
  drop_session(why);
  if (!config_.url.empty() && !old_transport_ && !was_ready_ && suggests_old_transport(why)) {
    old_transport_ = true;
    first_error_ = why;
    return attempt();
  }
  if (first_error_) old_transport_ = false;
  const Error told = std::exchange(first_error_, std::nullopt).value_or(why);
  problem_ = told.message();
  // One that never worked is not declared rightly: trying again would only hide it.
  if (!was_ready_ || ++failures_ > config_.max_restarts) return give_up(told);
  attempt_later();
}

void McpServer::Core::lost(const Error& why) {
  if (state_ == McpState::kClosed) return;
  if (state_ != McpState::kReady) return failed(why);
  options_.log.warn("MCP server lost", {{"server", config_.name}, {"code", name_of(why.code())}});
  drop_session(why);
  problem_ = why.message();
  if (answered_ || server_now() - ready_at_ > kStood) failures_ = 0;
  if (++failures_ > config_.max_restarts) return give_up(why);
  attempt_later();
}

void McpServer::Core::attempt_later() {
  state_ = McpState::kConnecting;
  ++restarts_;
  // The first one at once: a call may be waiting.
  const Duration pause = failures_ <= 1
                             ? Duration::zero()
                             : std::min(kFirstPause * (1 << std::min(failures_, 16)), kLongestRestartPause);
  retry_timer_ = loop_.after(pause, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->state_ == McpState::kConnecting) self->attempt();
  });
}

void McpServer::Core::give_up(const Error& why) {
  options_.log.warn("MCP server given up", {{"server", config_.name}, {"code", name_of(why.code())}});
  state_ = McpState::kDown;
  gave_up_at_ = server_now();
  settle_waiting(Error(why).in("MCP server '" + config_.name + "'"));
}

void McpServer::Core::drop_session(const Error& why) {
  const auto session = std::exchange(session_, nullptr);
  if (!session) return;
  garbage_ += session->garbage();
  late_ += session->late_answers();
  error_output_ = session->transport().error_tail();
  loading_ = false;
  ++ending_;
  session->close(why, [self = shared_from_this(), session] { self->ended(); });
}

void McpServer::Core::ended() {
  if (--ending_ > 0) return;
  for (const auto& done : std::exchange(on_ended_, {})) done();
}

void McpServer::Core::close(std::function<void()> done) {
  state_ = McpState::kClosed;
  loop_.cancel(retry_timer_);
  const Error why(ErrorCode::kClosed, "MCP server '" + config_.name + "' is closed");
  problem_ = why.message();
  drop_session(why);
  settle_waiting(why);
  on_ended_.push_back(std::move(done));
  ++ending_;
  loop_.post([self = shared_from_this()] { self->ended(); });
}

void McpServer::Core::when_ready(Ready job) {
  const std::string where = "MCP server '" + config_.name + "'";
  if (state_ == McpState::kReady) return job({});
  if (state_ == McpState::kClosed) return job(Error(ErrorCode::kClosed, where + " is closed"));
  if (state_ == McpState::kDown && server_now() - gave_up_at_ < kLongestRestartPause)
    return job(Error(ErrorCode::kClosed, where + " is down: " + problem_));
  if (waiting_.size() >= kMostWaiting)
    return job(Error(ErrorCode::kQueueFull, where + " is not connected, and too many calls wait for it"));
  waiting_.push_back(std::move(job));
  if (state_ == McpState::kConnecting) return;
  failures_ = 0;
  attempt();
}

void McpServer::Core::settle_waiting(const Result<void>& result) {
  for (const Ready& job : std::exchange(waiting_, {})) {
    // What the one before it sent may have lost the connection: then it waits for the next.
    if (result && state_ != McpState::kReady) {
      when_ready(job);
    } else {
      job(result);
    }
  }
}

void McpServer::Core::load_tools(std::function<void(const Result<void>&)> done) {
  if (!hello_.offers("tools")) {
    publish_tools({});
    return done({});
  }
  loading_ = true;
  list_page("tools/list", "tools", {}, "", 0, [weak = weak_from_this(), done](Result<JsonArray> tools) {
    const auto self = weak.lock();
    if (!self) return;
    self->loading_ = false;
    if (!tools) return done(std::move(tools).error().in("list its tools"));
    self->publish_tools(read_tool_list(self->config_, *tools));
    done({});
    if (std::exchange(self->reload_, false)) self->reload_tools();
  });
}

void McpServer::Core::reload_tools() {
  if (loading_) {
    reload_ = true;
    return;
  }
  load_tools([weak = weak_from_this()](const Result<void>& listed) {
    const auto self = weak.lock();
    if (!self || self->state_ == McpState::kClosed) return;
    if (!listed) self->options_.log.warn("MCP tools not listed", {{"server", self->config_.name}});
    if (listed && self->options_.listeners.on_tools_changed) self->options_.listeners.on_tools_changed();
  });
}

void McpServer::Core::publish_tools(McpToolList list) {
  MutexLock lock(mutex_);
  std::vector<std::pair<McpToolInfo, ToolPtr>> next;
  for (McpToolInfo& info : list.tools) {
    // A tool that has not changed stays the same object.
    const auto same = std::ranges::find(tools_, info, &std::pair<McpToolInfo, ToolPtr>::first);
    ToolPtr tool = same != tools_.end()
                       ? same->second
                       : std::make_shared<McpTool>(info, config_.call_timeout, weak_from_this());
    next.emplace_back(std::move(info), std::move(tool));
  }
  std::swap(tools_, next);
  if (list.warnings != std::exchange(warnings_, list.warnings)) {
    for (const std::string& warning : warnings_)
      options_.log.warn("MCP tool", {{"server", config_.name}, {"problem", warning}});
  }
  if (registry_ == nullptr) return;
  if (const Result<void> replaced = registry_->replace(toolkit_locked()); !replaced) {
    // Those that are gone would only answer with errors.
    withdraw_locked(next);
    warnings_.push_back("the tools are not in the registry: " + replaced.error().message());
  }
}

Toolkit McpServer::Core::toolkit() const {
  MutexLock lock(mutex_);
  return toolkit_locked();
}

Toolkit McpServer::Core::toolkit_locked() const {
  Toolkit kit(config_.name);
  for (const auto& [info, tool] : tools_) kit.add(tool);
  return kit;
}

// Of `tools`, those that there are no more.
void McpServer::Core::withdraw_locked(const std::vector<std::pair<McpToolInfo, ToolPtr>>& tools) {
  const ToolSetPtr set = registry_->snapshot();
  for (const auto& [info, tool] : tools) {
    const bool stays =
        std::ranges::find(tools_, tool, &std::pair<McpToolInfo, ToolPtr>::second) != tools_.end();
    const ToolEntry* entry = set->find(info.definition.name);
    // The name may be another's, if ours was refused.
    if (!stays && entry != nullptr && entry->tool == tool) registry_->remove(info.definition.name);
  }
}

Result<void> McpServer::Core::attach(ToolRegistry& registry) {
  MutexLock lock(mutex_);
  TERTULIA_TRY(registry.add(toolkit_locked()));
  registry_ = &registry;
  return {};
}

void McpServer::Core::detach() {
  MutexLock lock(mutex_);
  if (registry_ == nullptr) return;
  withdraw_locked(std::exchange(tools_, {}));
  registry_ = nullptr;
}

}  // namespace tertulia
