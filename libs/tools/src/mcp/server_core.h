// What is behind an McpServer: the connection and its repair, and the calls that go through it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tertulia/base/thread_annotations.h"
#include "tertulia/tools/mcp_server.h"

#include "mcp/session.h"
#include "mcp/tool_list.h"

namespace tertulia {

// Lives on the loop's thread, except for what is guarded by the mutex and the methods that say so.
class McpServer::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(McpConfig config, McpOptions options);

  const McpConfig& config() const { return config_; }

  // Any thread.
  Toolkit toolkit() const;
  Result<void> attach(ToolRegistry& registry);
  void detach();
  void call(const McpToolInfo& tool, ToolCall call, Done<ToolOutput> done);
  void post(std::function<void(Core&)> job);

  McpStatus status() const;
  void connect(Done<void> done);
  void close(std::function<void()> done);
  void request(std::string method, Json params, Done<Json> done);
  // Every page. `offered`: the capability without which the list is empty.
  void list(std::string method, std::string key, std::string_view offered, Done<JsonArray> done);
  void subscribe(const std::string& uri, bool wanted, Done<void> done);

 private:
  struct Call {
    McpToolInfo tool;
    ToolCall call;
    Done<ToolOutput> done;
    int attempts = 0;
  };
  using CallPtr = std::shared_ptr<Call>;
  using Ready = std::function<void(const Result<void>&)>;

  // server_core.cc
  std::shared_ptr<McpTransport> new_transport() const;
  Json capabilities() const;
  void attempt();
  void greeted(Result<McpHello> hello);
  void ready(const Result<void>& listed);
  void failed(const Error& why);
  void lost(const Error& why);
  void attempt_later();
  void give_up(const Error& why);
  void drop_session(const Error& why);
  // Calls `job` when there is a connection, or with the reason why there will be none.
  void when_ready(Ready job);
  void settle_waiting(const Result<void>& result);
  void load_tools(std::function<void(const Result<void>&)> done);
  void reload_tools();
  void publish_tools(McpToolList list);
  Toolkit toolkit_locked() const TERTULIA_REQUIRES(mutex_);
  void withdraw_locked(const std::vector<std::pair<McpToolInfo, ToolPtr>>& tools) TERTULIA_REQUIRES(mutex_);
  void ended();

  // server_calls.cc
  void send(const CallPtr& call);
  void replied(const CallPtr& call, McpReply reply);
  void list_page(std::string method, std::string key, JsonArray so_far, std::string cursor, int pages,
                 Done<JsonArray> done);
  void on_notification(const std::string& method, const Json& params);
  void on_request(const std::string& method, const Json& params, CancelToken cancel,
                  McpSessionHandlers::Respond respond);
  void ask(const Json& params, CancelToken cancel, const McpSessionHandlers::Respond& respond);
  std::string asking_call() const;
  void tell_progress(const CallPtr& call, const Json& params) const;

  McpLoop& loop_ = McpLoop::shared();
  const McpConfig config_;
  const McpOptions options_;

  McpState state_ = McpState::kIdle;
  std::shared_ptr<McpSession> session_;
  McpHello hello_;
  std::string problem_;
  std::string error_output_;
  std::uint64_t restarts_ = 0;
  std::uint64_t garbage_ = 0;  // of earlier sessions
  std::uint64_t late_ = 0;
  // In a row. A connection that has answered a call, or stood for a while, ends the row.
  int failures_ = 0;
  bool was_ready_ = false;
  bool answered_ = false;
  Instant ready_at_{};
  Instant gave_up_at_{};
  McpLoop::TimerId retry_timer_ = 0;
  // The address answers to the older transport.
  bool old_transport_ = false;
  std::optional<Error> first_error_;
  std::vector<Ready> waiting_;
  std::set<std::string> subscriptions_;
  std::map<const Call*, std::string> open_calls_;
  // How many questions are open for a call, by its key.
  std::map<std::string, int> asked_for_;
  bool loading_ = false;
  bool reload_ = false;
  // Sessions whose connection has not ended yet, and who waits for that.
  int ending_ = 0;
  std::vector<std::function<void()>> on_ended_;

  mutable Mutex mutex_;
  std::vector<std::pair<McpToolInfo, ToolPtr>> tools_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<std::string> warnings_ TERTULIA_GUARDED_BY(mutex_);
  ToolRegistry* registry_ TERTULIA_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace tertulia
