// JSON-RPC 2.0 as MCP speaks it: bytes in, messages out, and the texts of our own messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"

namespace tertulia {

// Ours are numbers; a peer may use strings.
using RpcId = std::variant<std::int64_t, std::string>;

struct RpcError {
  std::int64_t code = 0;
  std::string message;
  Json data{};
};
inline constexpr std::int64_t kRpcParseError = -32700;
inline constexpr std::int64_t kRpcInvalidRequest = -32600;
inline constexpr std::int64_t kRpcMethodNotFound = -32601;
inline constexpr std::int64_t kRpcInvalidParams = -32602;
inline constexpr std::int64_t kRpcInternalError = -32603;

struct RpcMessage {
  enum class Kind : std::uint8_t { kRequest, kNotification, kResult, kError };
  Kind kind = Kind::kNotification;
  // Of requests and their answers.
  RpcId id{};
  // Of requests and notifications.
  std::string method{};
  // The params or the result: an object, empty where there was none.
  Json body{};
  // Of errors.
  RpcError error{};
};

struct RpcLimits {
  // Of one message. Default: 32 MiB.
  std::size_t bytes = std::size_t{32} << 20;
  // As JsonLimits::depth. Default: 128.
  std::size_t depth = 128;
  // As JsonLimits::values. Default: 1,000,000.
  std::size_t values = 1'000'000;
  // How many messages a batch may hold. Default: 1,000.
  std::size_t batch = 1'000;
};

// What was read so far.
struct RpcCounts {
  std::uint64_t messages = 0;
  // Lines that are no message: noise on standard output, damaged or too long ones.
  std::uint64_t garbage = 0;
};

struct RpcHandlers {
  std::function<void(RpcMessage)> on_message;
  // A text that cannot be read looks like the answer to this request of ours: it will not be answered again.
  std::function<void(std::int64_t id, const Error& why)> on_lost_answer{};
};

// Limits
//   Never keeps more than limits.bytes of a line. Whatever comes, the next line is read afresh.
// Handlers must not destroy the reader.
class RpcReader {
 public:
  explicit RpcReader(RpcLimits limits = {}) : limits_(limits) {}

  // Version 2025-03-26 knows batches; before and after it they are garbage. Default: refused.
  void allow_batches(bool allowed) { batches_ = allowed; }

  // Lines, however they are cut. Blank ones are passed over.
  void feed(std::string_view bytes, const RpcHandlers& handlers);
  // One whole text: the body of an HTTP answer, the data of an event.
  void take(std::string_view text, const RpcHandlers& handlers);

  const RpcCounts& counts() const { return counts_; }

 private:
  void keep(std::string_view bytes);
  void end_line(const RpcHandlers& handlers);
  void give(const Json& value, const RpcHandlers& handlers);
  void refuse(std::string_view text, const Error& why, const RpcHandlers& handlers);

  const RpcLimits limits_;
  bool batches_ = false;
  // The beginning of a line whose end has not come. When it is too long, only its ends are kept.
  std::string line_;
  bool too_long_ = false;
  std::string tail_;
  RpcCounts counts_;
};

// What a JSON value says as a message, or why it is none: kBadJson.
Result<RpcMessage> read_rpc_message(const Json& value);

// One line without its end. `params` without members are left out.
std::string rpc_request(std::int64_t id, std::string_view method, const Json& params);
std::string rpc_notification(std::string_view method, const Json& params);
std::string rpc_result(const RpcId& id, const Json& result);
std::string rpc_error(const RpcId& id, const RpcError& error);

}  // namespace tertulia
