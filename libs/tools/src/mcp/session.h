// One MCP session over a transport: the handshake, requests with their ends, and what the server asks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/deadline.h"
#include "tertulia/base/done.h"

#include "mcp/loop.h"
#include "mcp/rpc.h"
#include "mcp/transport.h"

namespace tertulia {

// Oldest first.
inline constexpr std::string_view kMcpVersions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

// What became of a request.
enum class McpFate : std::uint8_t {
  kAnswered,
  kRefused,      // the server answered with an error
  kLost,         // the connection was lost: whether it had an effect is not known
  kUnprocessed,  // the connection was lost before the server began with it
  kGivenUp,      // cancelled, or not answered in time
};

struct McpReply {
  McpFate fate = McpFate::kAnswered;
  Result<Json> result;
  // Of kRefused.
  RpcError refusal{};
};

struct McpRequest {
  std::string method;
  Json params = JsonObject{};
  Deadline deadline{};
  // The longest silence, which progress ends. Zero: no limit.
  Duration silence{};
  CancelToken cancel{};
  // As McpOutgoing::once.
  bool once = false;
  // The params of the notification. Not null: asks the server for progress.
  std::function<void(const Json&)> on_progress{};
};

struct McpHello {
  std::string protocol;
  std::string name;
  std::string version;
  std::string instructions;
  // What the server can do: an object.
  Json capabilities;

  bool offers(std::string_view what) const { return option(what, "") != nullptr; }
  bool offers(std::string_view what, std::string_view how) const {
    const Json* value = option(what, how);
    return value != nullptr && *value == Json(true);
  }

 private:
  const Json* option(std::string_view what, std::string_view how) const;
};

struct McpSessionHandlers {
  std::function<void(const std::string& method, const Json& params)> on_notification;
  // `respond` once, from any thread.
  using Respond = std::function<void(std::variant<Json, RpcError>)>;
  std::function<void(const std::string& method, const Json& params, CancelToken cancel, Respond respond)>
      on_request;
  // The connection is lost; the replies of open requests have been given.
  std::function<void(const Error&)> on_down;
};

// Lives on the loop's thread. Close it before it is destroyed.
class McpSession : public std::enable_shared_from_this<McpSession> {
 public:
  explicit McpSession(std::shared_ptr<McpTransport> transport) : transport_(std::move(transport)) {}

  void start(Json capabilities, Duration timeout, McpSessionHandlers handlers, Done<McpHello> done);
  void request(McpRequest request, std::function<void(McpReply)> done);
  void notify(std::string_view method, const Json& params, std::function<void()> on_sent = nullptr);
  // Open requests are lost, and `done` is called when the connection has ended.
  void close(const Error& why, std::function<void()> done);

  std::uint64_t garbage() const { return reader_.counts().garbage; }
  std::uint64_t late_answers() const { return late_; }
  const McpTransport& transport() const { return *transport_; }

 private:
  struct Pending {
    std::string method;
    Deadline deadline;
    Duration silence{};
    std::function<void(const Json&)> on_progress;
    std::function<void(McpReply)> done;
    CancelRegistration cancel;
    McpLoop::TimerId timer = 0;
  };

  void initialize(std::string_view version, bool is_retry);
  void greet(McpReply reply, bool is_retry);
  void take(RpcMessage message);
  void answer(const RpcMessage& message);
  void take_notification(const RpcMessage& message);
  void take_request(RpcMessage message);
  void arm(std::int64_t id);
  void arm_all();
  void expire(std::int64_t id);
  void give_up(std::int64_t id, Error why);
  void settle(std::int64_t id, McpReply reply);
  void lose_all(const Error& why);
  void down(const Error& why);

  McpLoop& loop_ = McpLoop::shared();
  const std::shared_ptr<McpTransport> transport_;
  RpcReader reader_;
  McpSessionHandlers handlers_;
  Json capabilities_;
  Duration timeout_{};
  Done<McpHello> started_;
  std::int64_t last_id_ = 0;
  std::map<std::int64_t, Pending> pending_;
  std::map<RpcId, CancelSource> asked_;
  std::uint64_t late_ = 0;
  bool closed_ = false;
};

}  // namespace tertulia
