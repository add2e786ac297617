#include "mcp/http_transport.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tertulia/base/env.h"
#include "tertulia/base/sse_reader.h"

#include "mcp/loop.h"

namespace tertulia {
namespace {

// How often in a row a stream is resumed without bringing anything.
constexpr int kMostResumes = 5;
constexpr Duration kDefaultPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(30);
constexpr Duration kGoodbye = std::chrono::seconds(2);

bool is_stream(const HttpHead& head) {
  return head.header("content-type").find("text/event-stream") != std::string_view::npos;
}
bool is_json(const HttpHead& head) {
  return head.header("content-type").find("application/json") != std::string_view::npos;
}
bool is_good(const HttpHead& head) { return head.status >= 200 && head.status < 300; }

// One request under way, and the stream that it may have become.
struct Exchange {
  // None: the stream for what the server says by itself, or a message without an answer.
  std::optional<std::int64_t> request;
  std::shared_ptr<HttpClient> client;
  // A GET: the listening stream, or the rest of one that broke.
  bool is_get = false;
  std::string text;
  std::function<void()> on_sent;
  // Where a GET goes on.
  std::string last_event;
  int resumes = 0;
  std::optional<Duration> pause;

  HttpHead head;
  std::string body;
  std::unique_ptr<SseReader> reader;
  CancelSource cancel;
};
using ExchangePtr = std::shared_ptr<Exchange>;

class HttpTransport final : public McpTransport, public std::enable_shared_from_this<HttpTransport> {
 public:
  HttpTransport(McpHttpOptions options, Log log)
      : options_(std::move(options)), log_(std::move(log)), client_(HttpClient::shared({})) {}

  bool whole_texts() const override { return true; }

  void start(McpTransportEvents events) override { events_ = std::move(events); }

  void send(McpOutgoing message) override {
    auto exchange = std::make_shared<Exchange>();
    exchange->request = message.request;
    exchange->client = client_for(client_, message.once);
    exchange->text = std::move(message.text);
    exchange->on_sent = std::move(message.on_sent);
    begin(exchange);
  }

  void forget(std::int64_t request) override {
    std::erase_if(open_, [&](const ExchangePtr& exchange) {
      if (exchange->request != request) return false;
      exchange->cancel.cancel(CancelReason::kUser);
      return true;
    });
  }

  void established(const std::string& version) override { version_ = version; }

  void close(std::function<void()> done) override {
    events_ = {};
    for (const ExchangePtr& exchange : std::exchange(open_, {}))
      exchange->cancel.cancel(CancelReason::kShutdown);
    if (session_.empty()) return loop_.post(std::move(done));
    HttpRequest request = new_request("DELETE");
    request.deadline = Deadline::after(kGoodbye, real_env().clock());
    session_.clear();
    // The server may not know DELETE, or be gone: that is as good.
    send_from_loop(*client_, std::move(request),
                   {.on_end = [self = shared_from_this(), done](const HttpEnd&) { done(); }}, {});
  }

 private:
  HttpRequest new_request(std::string method) const {
    HttpRequest request = mcp_http_request(options_, std::move(method), options_.url);
    if (!version_.empty()) request.headers.push_back({"MCP-Protocol-Version", version_});
    if (!session_.empty()) request.headers.push_back({"Mcp-Session-Id", session_});
    return request;
  }

  void begin(const ExchangePtr& exchange) {
    HttpRequest request = new_request(exchange->is_get ? "GET" : "POST");
    if (exchange->is_get) {
      request.headers.push_back({"Accept", "text/event-stream"});
      if (!exchange->last_event.empty()) request.headers.push_back({"Last-Event-ID", exchange->last_event});
    } else {
      request.headers.push_back({"Accept", "application/json, text/event-stream"});
      request.headers.push_back({"Content-Type", "application/json"});
      request.body = std::exchange(exchange->text, {});
    }
    exchange->head = {};
    exchange->body.clear();
    exchange->reader.reset();
    open_.push_back(exchange);
    const auto weak = weak_from_this();
    send_from_loop(*exchange->client, std::move(request),
                   {.on_head = [weak, exchange](const HttpHead& head) -> Result<void> {
                      if (const auto self = weak.lock()) self->take_head(exchange, head);
                      return {};
                    },
                    .on_body = [weak, exchange](std::string_view bytes) -> Result<void> {
                      if (const auto self = weak.lock()) self->take_body(exchange, bytes);
                      return {};
                    },
                    .on_end =
                        [weak, exchange](const HttpEnd& end) {
                          if (const auto self = weak.lock()) self->take_end(exchange, end);
                        }},
                   exchange->cancel.token());
  }

  bool is_open(const ExchangePtr& exchange) const {
    return std::ranges::find(open_, exchange) != open_.end();
  }

  void take_head(const ExchangePtr& exchange, const HttpHead& head) {
    exchange->head = head;
    if (!is_open(exchange) || !is_good(head)) return;
    // Given with the answer to "initialize".
    if (const std::string_view session = head.header("mcp-session-id"); !session.empty()) session_ = session;
    if (exchange->is_get && !exchange->request) heard_ = true;
    if (is_stream(head)) exchange->reader = std::make_unique<SseReader>(kMcpMessageBytes);
  }

  void take_body(const ExchangePtr& exchange, std::string_view bytes) {
    if (!is_open(exchange)) return;
    const auto self = shared_from_this();
    if (!exchange->reader) {
      // One byte more than is allowed is enough to be refused by whoever reads it.
      exchange->body +=
          bytes.substr(0, kMcpMessageBytes + 1 - std::min(kMcpMessageBytes + 1, exchange->body.size()));
      return;
    }
    const Result<void> read = exchange->reader->feed(bytes, [&](const SseEvent& event) -> Result<void> {
      if (!event.id.empty()) exchange->last_event = event.id;
      exchange->resumes = 0;
      if (event.type == "message" && !event.data.empty() && events_.on_bytes) events_.on_bytes(event.data);
      return {};
    });
    if (const auto retry = exchange->reader->retry_milliseconds())
      exchange->pause =
          std::min(Duration(std::chrono::milliseconds(std::min<std::uint64_t>(*retry, 3'600'000))),
                   Duration(std::chrono::hours(1)));
    // The connection goes on, and is given up: what follows cannot be read.
    if (!read) exchange->cancel.cancel(CancelReason::kUser);
  }

  void take_end(const ExchangePtr& exchange, const HttpEnd& end) {
    if (std::erase(open_, exchange) == 0) return;
    const auto self = shared_from_this();
    const bool listens = exchange->is_get && !exchange->request;
    // Some servers say 404 where they mean that they do not offer to be listened to.
    const bool not_offered = listens && !heard_;
    if (exchange->head.status == 404 && !session_.empty() && !not_offered) return session_gone(exchange);
    if (listens) return listening_ended(exchange);
    if (!exchange->request) return sent(exchange, end);
    if (exchange->reader) return stream_ended(exchange, end);
    if (is_json(exchange->head) && end.how == HttpEnd::How::kComplete && events_.on_bytes)
      events_.on_bytes(exchange->body);
    if (!events_.is_awaited || !events_.is_awaited(*exchange->request)) return;
    // Some servers say so of a session that they do not know, instead of 404.
    if (exchange->head.status == 400 && !session_.empty()) return session_gone(exchange);
    if (exchange->is_get) return resume(exchange, end);
    fail(exchange, end);
  }

  // It has been answered with what is no answer.
  void fail(const ExchangePtr& exchange, const HttpEnd& end) {
    const int status = exchange->head.status;
    if (end.how != HttpEnd::How::kComplete && status == 0) {
      events_.on_failed(*exchange->request, mcp_end_error(end), was_not_sent(end));
      if (was_not_sent(end)) down(mcp_end_error(end));
      return;
    }
    if (is_good(exchange->head))
      return events_.on_failed(*exchange->request,
                               Error(ErrorCode::kBadStream, "the server answered without an answer"), false);
    events_.on_failed(*exchange->request, mcp_status_error(status), status < 500);
  }

  void sent(const ExchangePtr& exchange, const HttpEnd& end) {
    if (end.how != HttpEnd::How::kComplete && was_not_sent(end)) return down(mcp_end_error(end));
    // A server that speaks at once may answer a response with messages.
    if (!exchange->body.empty() && is_json(exchange->head) && is_good(exchange->head) && events_.on_bytes)
      events_.on_bytes(exchange->body);
    // Before anything else is sent, so that nothing the server then says by itself is missed.
    if (!version_.empty() && !std::exchange(listening_, true)) listen();
    if (exchange->on_sent) exchange->on_sent();
  }

  void listen() {
    auto exchange = std::make_shared<Exchange>();
    exchange->is_get = true;
    exchange->client = client_;
    begin(exchange);
  }

  void listening_ended(const ExchangePtr& exchange) {
    // 405 and its like: this server says nothing by itself.
    if (exchange->head.status >= 400 && exchange->head.status < 500) return;
    if (exchange->head.status != 0 && !exchange->reader) return;
    const Duration pause = std::min(
        exchange->pause.value_or(kDefaultPause * (1 << std::min(exchange->resumes, 6))), kLongestPause);
    begin_after(pause, exchange);
  }

  void stream_ended(const ExchangePtr& exchange, const HttpEnd& end) {
    if (events_.is_awaited && events_.is_awaited(*exchange->request)) resume(exchange, end);
  }

  // The rest of a stream, from the last event that came.
  void resume(const ExchangePtr& exchange, const HttpEnd& end) {
    if (exchange->last_event.empty() || exchange->resumes >= kMostResumes) {
      events_.on_failed(*exchange->request, mcp_end_error(end).in("the stream with the answer broke"), false);
      return;
    }
    exchange->is_get = true;
    exchange->client = client_;
    begin_after(exchange->pause.value_or(kDefaultPause), exchange);
  }

  void begin_after(Duration pause, const ExchangePtr& exchange) {
    ++exchange->resumes;
    log_.debug("MCP stream is resumed", {{"attempt", exchange->resumes}});
    loop_.after(pause, [weak = weak_from_this(), exchange] {
      const auto self = weak.lock();
      if (!self || !self->events_.on_down) return;
      if (exchange->request && !self->events_.is_awaited(*exchange->request)) return;
      self->begin(exchange);
    });
  }

  void session_gone(const ExchangePtr& exchange) {
    const Error why(ErrorCode::kClosed, "the server has forgotten the session");
    session_.clear();
    if (exchange->request && events_.on_failed) events_.on_failed(*exchange->request, why, !exchange->is_get);
    down(why);
  }

  void down(const Error& why) {
    const auto on_down = std::exchange(events_, {}).on_down;
    if (on_down) on_down(why);
  }

  McpLoop& loop_ = McpLoop::shared();
  const McpHttpOptions options_;
  const Log log_;
  const std::shared_ptr<HttpClient> client_;
  McpTransportEvents events_;
  std::vector<ExchangePtr> open_;
  std::string version_;
  std::string session_;
  bool listening_ = false;
  bool heard_ = false;
};

}  // namespace

std::shared_ptr<McpTransport> http_transport(McpHttpOptions options, Log log) {
  return std::make_shared<HttpTransport>(std::move(options), std::move(log));
}

}  // namespace tertulia
