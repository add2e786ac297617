#include "trace/otlp_exporter.h"

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "tertulia/base/env.h"
#include "tertulia/base/http_client.h"
#include "tertulia/base/json.h"
#include "tertulia/base/utf8.h"
#include "tertulia/base/version.h"

namespace tertulia::server {
namespace {

constexpr int kSendAttempts = 4;
constexpr std::chrono::milliseconds kFirstPause{500};
constexpr std::chrono::seconds kPatience{10};

template <std::size_t N>
std::string hex(const std::array<std::uint8_t, N>& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * N);
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

// 64-bit numbers are texts in the JSON of protocol buffers.
std::string nanoseconds(Time time) { return std::to_string(time.time_since_epoch().count()) + "000"; }

void write_attribute(JsonWriter& out, std::string_view key, const Span::Value& value) {
  out.begin_object().key("key").string(key).key("value").begin_object();
  if (const auto* text = std::get_if<std::string>(&value)) {
    out.key("stringValue").string(sanitize_utf8(*text));
  } else {
    out.key("intValue").string(std::to_string(std::get<std::int64_t>(value)));
  }
  out.end_object().end_object();
}

void write_span(JsonWriter& out, const Span& span) {
  out.begin_object().key("traceId").string(hex(span.trace)).key("spanId").string(hex(span.id));
  if (span.parent != SpanId{}) out.key("parentSpanId").string(hex(span.parent));
  out.key("name").string(sanitize_utf8(span.name)).key("kind").number(static_cast<std::int64_t>(span.kind));
  out.key("startTimeUnixNano").string(nanoseconds(span.begun));
  out.key("endTimeUnixNano").string(nanoseconds(span.begun + span.took));
  out.key("attributes").begin_array();
  for (const auto& [key, value] : span.attributes) write_attribute(out, key, value);
  out.end_array();
  if (!span.failed.empty()) {
    out.key("status").begin_object().key("code").number(2);
    out.key("message").string(sanitize_utf8(span.failed)).end_object();
  }
  out.end_object();
}

enum class Sent { kTaken, kRefused, kTryAgain };

}  // namespace

std::string otlp_body(const std::vector<Span>& spans, const std::string& service) {
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("resourceSpans").begin_array().begin_object();
  out.key("resource").begin_object().key("attributes").begin_array();
  write_attribute(out, "service.name", service);
  write_attribute(out, "service.version", std::string(version()));
  out.end_array().end_object();
  out.key("scopeSpans").begin_array().begin_object();
  out.key("scope").begin_object().key("name").string("tertulia").end_object();
  out.key("spans").begin_array();
  for (const Span& span : spans) write_span(out, span);
  out.end_array().end_object().end_array().end_object().end_array().end_object();
  return body;
}

class OtlpExporter::Impl {
 public:
  Impl(OtlpOptions options, Log log)
      : options_(std::move(options)), log_(std::move(log)), client_(HttpClientOptions{}) {}

  void begin() {
    thread_ = std::thread([this] { run(); });
  }

  void add(Span span) {
    std::size_t waiting = 0;
    {
      const std::scoped_lock lock(mutex_);
      if (queue_.size() >= options_.queue) {
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return;
      }
      queue_.push_back(std::move(span));
      waiting = queue_.size();
    }
    if (waiting == 1 || waiting == options_.batch) changed_.notify_one();
  }

  void end() {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
      until_ = std::chrono::steady_clock::now() + options_.flush;
    }
    changed_.notify_all();
    thread_.join();
  }

  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  void run() {
    while (true) {
      std::vector<Span> spans = take();
      if (spans.empty()) return;
      const std::size_t count = spans.size();
      if (!deliver(otlp_body(spans, options_.service))) dropped_.fetch_add(count, std::memory_order_relaxed);
      if (const std::uint64_t lost = dropped(); lost > told_) {
        log_.warn("spans were dropped", {{"count", lost - told_}});
        told_ = lost;
      }
    }
  }

  // The next batch; nothing at the end.
  std::vector<Span> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    changed_.wait_for(lock, options_.interval, [this] { return ending_ || queue_.size() >= options_.batch; });
    const std::size_t count = std::min(queue_.size(), options_.batch);
    const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<Span> spans(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
    queue_.erase(queue_.begin(), end);
    return spans;
  }

  bool deliver(const std::string& body) {
    std::chrono::milliseconds pause = kFirstPause;
    for (int attempt = 1;; ++attempt) {
      const Sent sent = send(body);
      if (sent != Sent::kTryAgain) return sent == Sent::kTaken;
      std::unique_lock lock(mutex_);
      const bool ending = changed_.wait_for(lock, pause, [this] { return ending_; });
      // At the end nothing is worth waiting for.
      if (ending || attempt == kSendAttempts) return false;
      pause *= 2;
    }
  }

  Sent send(const std::string& body) {
    HttpRequest request{.method = "POST", .url = options_.endpoint};
    request.headers = {{"Content-Type", "application/json"}};
    if (options_.authorization) request.secret_headers = {{"Authorization", "", options_.authorization}};
    request.body = body;
    request.deadline = Deadline::after(patience(), real_env().clock());
    request.body_limit = 1U << 20U;
    struct Answer {
      int status = 0;
      std::promise<HttpEnd> end;
    };
    auto answer = std::make_shared<Answer>();
    client_.send(std::move(request),
                 {.on_head =
                      [answer](const HttpHead& head) {
                        answer->status = head.status;
                        return Result<void>();
                      },
                  .on_end = [answer](HttpEnd end) { answer->end.set_value(std::move(end)); }});
    const HttpEnd end = answer->end.get_future().get();
    if (end.how != HttpEnd::How::kComplete) {
      log_.debug("the collector did not answer", {{"reason", end.sentence}});
      return Sent::kTryAgain;
    }
    const int status = answer->status;
    if (status >= 200 && status < 300) return Sent::kTaken;
    log_.debug("the collector refused spans", {{"status", status}});
    return status == 429 || (status >= 502 && status <= 504) ? Sent::kTryAgain : Sent::kRefused;
  }

  std::chrono::milliseconds patience() {
    const std::scoped_lock lock(mutex_);
    if (!ending_) return kPatience;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until_ - std::chrono::steady_clock::now());
    return std::max(left, std::chrono::milliseconds(1));
  }

  const OtlpOptions options_;
  const Log log_;
  HttpClient client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Span> queue_;
  bool ending_ = false;
  std::chrono::steady_clock::time_point until_{};
  std::atomic<std::uint64_t> dropped_{0};
  std::uint64_t told_ = 0;
  std::thread thread_;
};

OtlpExporter::OtlpExporter(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
OtlpExporter::~OtlpExporter() { impl_->end(); }

Result<std::unique_ptr<OtlpExporter>> OtlpExporter::start(OtlpOptions options, Log log) {
  if (!options.endpoint.starts_with("http://") && !options.endpoint.starts_with("https://")) {
    return Error(ErrorCode::kBadConfig,
                 "trace.endpoint must be an address such as \"http://127.0.0.1:4318/v1/traces\"")
        .with("param", "trace.endpoint");
  }
  auto impl = std::make_shared<Impl>(std::move(options), std::move(log));
  impl->begin();
  return std::unique_ptr<OtlpExporter>(new OtlpExporter(std::move(impl)));
}

void OtlpExporter::add(Span span) { impl_->add(std::move(span)); }
std::uint64_t OtlpExporter::dropped() const { return impl_->dropped(); }

}  // namespace tertulia::server
