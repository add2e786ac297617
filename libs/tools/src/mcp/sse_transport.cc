#include "mcp/sse_transport.h"

#include <utility>
#include <vector>

#include "tertulia/base/sse_reader.h"

#include "mcp/loop.h"

namespace tertulia {
namespace {

class SseTransport final : public McpTransport, public std::enable_shared_from_this<SseTransport> {
 public:
  SseTransport(McpHttpOptions options, Log log)
      : options_(std::move(options)), log_(std::move(log)), client_(HttpClient::shared({})) {}

  bool whole_texts() const override { return true; }

  void start(McpTransportEvents events) override {
    events_ = std::move(events);
    HttpRequest request = mcp_http_request(options_, "GET", options_.url);
    request.headers.push_back({"Accept", "text/event-stream"});
    const auto weak = weak_from_this();
    send_from_loop(*client_, std::move(request),
                   {.on_head = [weak](const HttpHead& head) -> Result<void> {
                      if (const auto self = weak.lock()) self->status_ = head.status;
                      return {};
                    },
                    .on_body = [weak](std::string_view bytes) -> Result<void> {
                      if (const auto self = weak.lock()) self->take_stream(bytes);
                      return {};
                    },
                    .on_end =
                        [weak](const HttpEnd& end) {
                          if (const auto self = weak.lock()) self->stream_ended(end);
                        }},
                   cancel_.token());
  }

  void send(McpOutgoing message) override {
    if (endpoint_.empty()) {
      waiting_.push_back(std::move(message));
      return;
    }
    HttpRequest request = mcp_http_request(options_, "POST", endpoint_);
    request.headers.push_back({"Content-Type", "application/json"});
    request.body = std::move(message.text);
    const auto status = std::make_shared<int>(0);
    const auto client = client_for(client_, message.once);
    send_from_loop(*client, std::move(request),
                   {.on_head = [status](const HttpHead& head) -> Result<void> {
                      *status = head.status;
                      return {};
                    },
                    .on_end =
                        [weak = weak_from_this(), status, client, id = message.request,
                         on_sent = std::move(message.on_sent)](const HttpEnd& end) {
                          const auto self = weak.lock();
                          if (self && id) self->request_sent(*id, *status, end);
                          if (self && !id && on_sent) on_sent();
                        }},
                   cancel_.token());
  }

  void forget(std::int64_t) override {}
  void established(const std::string&) override {}

  void close(std::function<void()> done) override {
    events_ = {};
    cancel_.cancel(CancelReason::kShutdown);
    McpLoop::shared().post(std::move(done));
  }

 private:
  void take_stream(std::string_view bytes) {
    if (status_ != 200 || !events_.on_bytes) return;
    const auto self = shared_from_this();
    const Result<void> read = reader_.feed(bytes, [this](const SseEvent& event) -> Result<void> {
      if (event.type == "endpoint") return take_endpoint(event.data);
      if (event.type == "message" && events_.on_bytes) events_.on_bytes(event.data);
      return {};
    });
    if (!read) down(read.error());
  }

  Result<void> take_endpoint(std::string_view reference) {
    TERTULIA_TRY_AS(endpoint_, same_origin_url(options_.url, reference));
    for (McpOutgoing& message : std::exchange(waiting_, {})) send(std::move(message));
    return {};
  }

  void request_sent(std::int64_t id, int status, const HttpEnd& end) {
    if (!events_.on_failed) return;
    if (status == 0) return events_.on_failed(id, mcp_end_error(end), was_not_sent(end));
    if (status >= 300) events_.on_failed(id, mcp_status_error(status), status < 500);
  }

  void stream_ended(const HttpEnd& end) {
    log_.debug("MCP stream ended", {{"status", status_}});
    down(status_ != 0 && status_ != 200 ? mcp_status_error(status_) : mcp_end_error(end));
  }

  void down(const Error& why) {
    const auto on_down = std::exchange(events_, {}).on_down;
    if (on_down) on_down(why);
  }

  const McpHttpOptions options_;
  const Log log_;
  const std::shared_ptr<HttpClient> client_;
  McpTransportEvents events_;
  SseReader reader_{kMcpMessageBytes};
  CancelSource cancel_;
  int status_ = 0;
  std::string endpoint_;
  std::vector<McpOutgoing> waiting_;
};

}  // namespace

std::shared_ptr<McpTransport> sse_transport(McpHttpOptions options, Log log) {
  return std::make_shared<SseTransport>(std::move(options), std::move(log));
}

}  // namespace tertulia
