#include "openai/responses_socket.h"

#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tertulia/base/thread_annotations.h"

#include "http/socket_session.h"
#include "http/upgrade.h"
#include "openai/create_response.h"
#include "openai/error_form.h"
#include "openai/fields.h"

namespace tertulia::server {
namespace {

constexpr std::size_t kMostWaiting = 16;
constexpr std::chrono::minutes kLongest{60};

// A call that needs no connection, for as long as it takes.
struct OwnCall {
  OwnCall(Services& services, Peer peer_in) : peer(std::move(peer_in)), call(services, request, peer) {}
  Request request;
  Peer peer;
  Call call;
};

std::string error_event(const Problem& problem) {
  std::string message;
  JsonWriter out(message);
  out.begin_object().key("type").string("error").key("status").number(problem.status);
  out.key("error").raw(openai_error(problem)).end_object();
  return message;
}

class ResponsesSocket final : public SocketSession, public std::enable_shared_from_this<ResponsesSocket> {
 public:
  explicit ResponsesSocket(const Call& call)
      : services_(call.services),
        principal_(call.principal),
        peer_(call.peer),
        request_id_(call.request_id),
        opened_(services_.env.clock().instant()) {}

  void next(std::function<void(SocketSaid)> done) override {
    {
      MutexLock lock(mutex_);
      done_ = std::move(done);
    }
    go_on();
  }

  void take(std::string message) override {
    {
      MutexLock lock(mutex_);
      waiting_.push_back(std::move(message));
    }
    begin_next();
  }

  bool wants_more() const override {
    MutexLock lock(mutex_);
    return waiting_.size() < kMostWaiting;
  }
  bool idle() const override {
    MutexLock lock(mutex_);
    // What was given to the connection has been said once it asks again.
    return !busy_ && waiting_.empty() && said_.empty() && done_ != nullptr;
  }
  void gone() override {
    std::shared_ptr<ByteStream> dropped;
    MutexLock lock(mutex_);
    gone_ = true;
    done_ = nullptr;
    waiting_.clear();
    dropped = std::move(events_);
  }

 private:
  void begin_next();
  void begin(const std::string& message);
  Result<void> create(const std::string& message);
  void begun(Result<BegunResponse> begun, const std::string& previous);
  void refuse(const Problem& problem, const std::string& previous);
  void finish();
  void go_on();
  void take_events(std::optional<std::string> frames);
  RememberedPtr remembered() const {
    MutexLock lock(mutex_);
    return remembered_;
  }

  Services& services_;
  const Principal principal_;
  const Peer peer_;
  const RequestId request_id_;
  const Instant opened_;

  mutable Mutex mutex_;
  // Requests that came, and what is to be said.
  std::deque<std::string> waiting_ TERTULIA_GUARDED_BY(mutex_);
  std::deque<SocketSaid> said_ TERTULIA_GUARDED_BY(mutex_);
  std::function<void(SocketSaid)> done_ TERTULIA_GUARDED_BY(mutex_);
  // Of the response that is being said.
  std::shared_ptr<ByteStream> events_ TERTULIA_GUARDED_BY(mutex_);
  RememberedPtr remembered_ TERTULIA_GUARDED_BY(mutex_);
  bool busy_ TERTULIA_GUARDED_BY(mutex_) = false;
  bool asking_ TERTULIA_GUARDED_BY(mutex_) = false;
  bool gone_ TERTULIA_GUARDED_BY(mutex_) = false;
};

void ResponsesSocket::begin_next() {
  std::string message;
  {
    MutexLock lock(mutex_);
    if (busy_ || gone_ || waiting_.empty()) return;
    busy_ = true;
    message = std::move(waiting_.front());
    waiting_.pop_front();
  }
  // Also because there may be no pool any more.
  if (services_.draining()) {
    return refuse(Problem::of(HttpProblem::kShuttingDown, "the server is shutting down; connect again"), {});
  }
  const Result<void> posted = services_.pool.post([self = shared_from_this(), message = std::move(message)] {
    try {
      self->begin(message);
    } catch (const std::exception& problem) {
      self->services_.log.error("a handler failed",
                                {{"request", self->request_id_.view()}, {"reason", problem.what()}});
      self->refuse(Problem::of(HttpProblem::kInternal, "the server made a mistake; its log says more"), {});
    }
  });
  if (!posted) refuse(Problem::of(posted.error()), {});
}

void ResponsesSocket::begin(const std::string& message) {
  if (Result<void> created = create(message); !created) refuse(Problem::of(created.error()), {});
}

Result<void> ResponsesSocket::create(const std::string& message) {
  // A request like one that came by itself.
  TERTULIA_TRY(services_.admit_again(principal_));
  TERTULIA_TRY_AS(const Json json, parse_json(message));
  TERTULIA_TRY_AS(const JsonObject* body, as_object(json, "the message"));
  const Fields in(*body);
  TERTULIA_TRY_AS(const std::string type, in.text("type"));
  if (type != "response.create") {
    return in.unsupported("type", "the only message that is understood here is 'response.create'");
  }
  TERTULIA_TRY_AS(const bool background, in.flag_or("background", false));
  TERTULIA_TRY_AS(const bool generate, in.flag_or("generate", true));
  if (background) return in.unsupported("background", "a WebSocket has no background: ask over HTTP");
  if (!generate) return in.unsupported("generate", "a response without an answer is not prepared here");
  if (in.find("stream_id") != nullptr) {
    return in.unsupported("stream_id", "one response is said at a time: open another WebSocket");
  }
  TERTULIA_TRY_AS(const std::string previous, in.text_or("previous_response_id", {}));
  auto own = std::make_shared<OwnCall>(services_, peer_);
  own->call.principal = principal_;
  own->call.request_id = request_id_;
  begin_response(
      CallPtr(own, &own->call), *body,
      [self = shared_from_this(), previous](Result<BegunResponse> begun) {
        self->begun(std::move(begun), previous);
      },
      remembered());
  return {};
}

void ResponsesSocket::begun(Result<BegunResponse> begun, const std::string& previous) {
  if (!begun) return refuse(Problem::of(begun.error()), previous);
  auto remember = [weak = weak_from_this()](RememberedPtr response) {
    const auto self = weak.lock();
    if (!self) return;
    MutexLock lock(self->mutex_);
    self->remembered_ = std::move(response);
  };
  std::shared_ptr<ByteStream> events = stream_of(services_, *std::move(begun), std::move(remember));
  {
    MutexLock lock(mutex_);
    // A response that was to go on from this one and fails leaves nothing to go on from.
    if (remembered_ && remembered_->id == previous) remembered_ = nullptr;
    if (!gone_) events_ = std::move(events);
  }
  go_on();
}

void ResponsesSocket::refuse(const Problem& problem, const std::string& previous) {
  SocketSaid said{.message = error_event(problem)};
  {
    MutexLock lock(mutex_);
    if (remembered_ && remembered_->id == previous) remembered_ = nullptr;
    said_.push_back(std::move(said));
  }
  finish();
}

// The response has been said, or was refused.
void ResponsesSocket::finish() {
  const bool too_old = services_.env.clock().instant() - opened_ >= kLongest;
  {
    MutexLock lock(mutex_);
    busy_ = false;
    if (too_old) {
      const Problem problem{.status = 400,
                            .code = "websocket_connection_limit_reached",
                            .message = "a WebSocket is open for at most 60 minutes; connect again",
                            .facts = {}};
      said_.push_back({.message = error_event(problem), .close = CloseCode::kNormal, .reason = "too old"});
      waiting_.clear();
    }
  }
  begin_next();
  go_on();
}

// Says what waits to be said, or asks for more of the response.
void ResponsesSocket::go_on() {
  std::function<void(SocketSaid)> done;
  SocketSaid said;
  std::shared_ptr<ByteStream> events;
  {
    MutexLock lock(mutex_);
    if (!done_) return;
    if (!said_.empty()) {
      said = std::move(said_.front());
      said_.pop_front();
      done = std::exchange(done_, nullptr);
    } else if (events_ && !asking_) {
      asking_ = true;
      events = events_;
    }
  }
  if (done) done(std::move(said));
  if (events) {
    events->next([self = shared_from_this()](std::optional<std::string> frames) {
      self->take_events(std::move(frames));
    });
  }
}

void ResponsesSocket::take_events(std::optional<std::string> frames) {
  std::deque<SocketSaid> said;
  if (frames) {
    for_each_event(*frames,
                   [&said](const SentEvent& sent) { said.push_back({.message = std::string(sent.data)}); });
  }
  {
    MutexLock lock(mutex_);
    asking_ = false;
    if (!frames) events_ = nullptr;
    for (SocketSaid& one : said) said_.push_back(std::move(one));
  }
  if (!frames) return finish();
  go_on();
}

}  // namespace

Result<Reply> open_responses_socket(Call& call) {
  TERTULIA_TRY(call.no_query());
  if (!wants_socket(call.request)) {
    return Reply::refused(HttpProblem::kUpgradeRequired, "this is a WebSocket; over HTTP, POST to it")
        .with("Upgrade", "websocket");
  }
  Reply reply;
  reply.socket = std::make_shared<ResponsesSocket>(call);
  return reply;
}

}  // namespace tertulia::server
