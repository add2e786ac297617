#include "tertulia/base/http_client.h"

#include <algorithm>
#include <array>
#include <exception>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tertulia/base/env.h"
#include "tertulia/base/thread_annotations.h"

#include "http_transfer.h"

namespace tertulia {
namespace {

bool same_name(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, [](char a, char b) {
    const auto low = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return low(a) == low(b);
  });
}

}  // namespace

std::string_view HttpHead::header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (same_name(header.name, name)) return header.value;
  }
  return {};
}

// The thread, its epoll set, and every transfer under way. Other threads only leave orders in `orders_` and
// ring the bell.
class HttpClient::Loop : public std::enable_shared_from_this<Loop> {
 public:
  explicit Loop(HttpClientOptions options) : options_(std::move(options)) {}
  ~Loop() { close_all(); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void stop() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    if (!thread_.joinable()) return;
    ring();
    if (std::this_thread::get_id() == thread_.get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  void send(std::unique_ptr<HttpTransfer> transfer) {
    HttpEnd refusal{.how = HttpEnd::How::kClosed, .sentence = "the HTTP client is closed"};
    {
      MutexLock lock(mutex_);
      if (!stopping_) {
        // With the first request, and again with the next one if there was no room for it.
        std::optional<std::string> missing = thread_.joinable() ? std::nullopt : start();
        if (missing) {
          refusal = {.how = HttpEnd::How::kUnreachable, .sentence = *std::move(missing)};
        } else {
          orders_.push_back(std::move(transfer));
        }
      }
    }
    if (transfer) {
      transfer->end(std::move(refusal));
    } else {
      ring();
    }
  }

  void cancel(std::uint64_t number) {
    {
      MutexLock lock(mutex_);
      // What was refused is over.
      if (!thread_.joinable()) return;
      cancels_.push_back(number);
    }
    ring();
  }

  std::uint64_t next_number() {
    MutexLock lock(mutex_);
    return ++last_number_;
  }

  const HttpClientOptions& options() const { return options_; }

 private:
  // What the machine lacks for it, in words; nothing if it runs.
  std::optional<std::string> start() TERTULIA_REQUIRES(mutex_) {
    if (const auto& library = loaded_curl(); !library) return library.error().message();
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (epoll_ >= 0 && bell_ >= 0) multi_ = curl().multi_init();
    if (multi_ == nullptr) {
      close_all();
      return "the process has no file descriptors or no memory left for an HTTP client";
    }
    epoll_event event{.events = EPOLLIN, .data = {.fd = bell_}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, bell_, &event);
    curl().multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Loop::on_socket);
    curl().multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl().multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Loop::on_timer);
    curl().multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    curl().multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(options_.idle_connections));
    try {
      thread_ = std::thread([self = shared_from_this()] { self->run(); });
    } catch (const std::exception&) {
      close_all();
      return "the machine allows no further thread for an HTTP client; end other programs or raise its limit";
    }
    return std::nullopt;
  }

  void close_all() {
    if (multi_ != nullptr) curl().multi_cleanup(multi_);
    multi_ = nullptr;
    for (int* const file : {&bell_, &epoll_}) {
      if (*file >= 0) close(*file);
      *file = -1;
    }
  }

  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void* known) {
    Loop& loop = *static_cast<Loop*>(self);
    if (what == CURL_POLL_REMOVE) {
      epoll_ctl(loop.epoll_, EPOLL_CTL_DEL, fd, nullptr);
      return 0;
    }
    epoll_event event{.events = 0, .data = {.fd = fd}};
    if ((what & CURL_POLL_IN) != 0) event.events |= EPOLLIN;
    if ((what & CURL_POLL_OUT) != 0) event.events |= EPOLLOUT;
    epoll_ctl(loop.epoll_, known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
    // Any pointer that is not null says that the socket is in the set.
    if (known == nullptr) curl().multi_assign(loop.multi_, fd, self);
    return 0;
  }

  static int on_timer(CURLM*, long milliseconds, void* self) {
    Loop& loop = *static_cast<Loop*>(self);
    loop.curl_due_.reset();
    if (milliseconds >= 0) loop.curl_due_ = loop.now() + std::chrono::milliseconds(milliseconds);
    return 0;
  }

  Instant now() const { return real_env().clock().instant(); }

  void ring() {
    const std::uint64_t one = 1;
    // It can only fail when the counter is full, and then the bell is ringing.
    [[maybe_unused]] const ssize_t written = write(bell_, &one, sizeof one);
  }

  void run() {
    while (take_orders()) {
      wait_for_events();
      const Instant time = now();
      if (curl_due_ && *curl_due_ <= time) {
        curl_due_.reset();
        int running = 0;
        curl().multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
      }
      for (HttpTransfer* transfer : std::exchange(hurried_, {})) {
        if (transfer->timer) timers_.erase({*transfer->timer, transfer});
        schedule(*transfer);
      }
      collect_finished();
      expire(time);
    }
    for (auto& [handle, transfer] : transfers_) {
      curl().multi_remove_handle(multi_, handle);
      transfer->end({.how = HttpEnd::How::kClosed, .sentence = "the HTTP client is closed"});
    }
    timers_.clear();
    by_number_.clear();
    transfers_.clear();
  }

  int milliseconds_to_wait() const {
    std::optional<Instant> due = curl_due_;
    if (!timers_.empty() && (!due || timers_.begin()->first < *due)) due = timers_.begin()->first;
    if (!due) return -1;
    const Instant time = now();
    if (*due <= time) return 0;
    // Rounded up, so that it is really due when the wait ends.
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*due - time).count();
    return static_cast<int>(std::min<std::int64_t>(wait, 60'000));
  }

  void wait_for_events() {
    std::array<epoll_event, 64> events;  // NOLINT: filled by epoll_wait
    const int count =
        epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), milliseconds_to_wait());
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.fd == bell_) {
        std::uint64_t rung = 0;
        [[maybe_unused]] const ssize_t got = read(bell_, &rung, sizeof rung);
        continue;
      }
      int what = 0;
      if ((event.events & (EPOLLIN | EPOLLHUP)) != 0) what |= CURL_CSELECT_IN;
      if ((event.events & EPOLLOUT) != 0) what |= CURL_CSELECT_OUT;
      if ((event.events & EPOLLERR) != 0) what |= CURL_CSELECT_ERR;
      int running = 0;
      curl().multi_socket_action(multi_, event.data.fd, what, &running);
    }
  }

  // False if the loop is to end.
  bool take_orders() {
    std::vector<std::unique_ptr<HttpTransfer>> orders;
    std::vector<std::uint64_t> cancels;
    bool stopping = false;
    {
      MutexLock lock(mutex_);
      orders.swap(orders_);
      cancels.swap(cancels_);
      stopping = stopping_;
    }
    for (auto& transfer : orders) begin(std::move(transfer));
    for (const std::uint64_t number : cancels) {
      if (const auto found = by_number_.find(number); found != by_number_.end())
        abort(found->second, {.how = HttpEnd::How::kCancelled, .sentence = "the request was cancelled"});
    }
    return !stopping;
  }

  void begin(std::unique_ptr<HttpTransfer> transfer) {
    if (std::optional<HttpEnd> problem = transfer->prepare(options_, hurried_))
      return transfer->end(*std::move(problem));
    HttpTransfer& one = *transfer;
    by_number_[one.number()] = &one;
    transfers_.emplace(one.handle(), std::move(transfer));
    schedule(one);
    if (curl().multi_add_handle(multi_, one.handle()) != CURLM_OK)
      abort(&one, {.how = HttpEnd::How::kUnreachable, .sentence = "libcurl would not take the request"});
  }

  void schedule(HttpTransfer& transfer) {
    transfer.timer = transfer.next_due(now());
    if (transfer.timer) timers_.emplace(*transfer.timer, &transfer);
  }

  void expire(Instant time) {
    while (!timers_.empty() && timers_.begin()->first <= time) {
      HttpTransfer* transfer = timers_.begin()->second;
      timers_.erase(timers_.begin());
      transfer->timer.reset();
      if (std::optional<HttpEnd> end = transfer->expired(time)) {
        abort(transfer, *std::move(end));
      } else {
        schedule(*transfer);
      }
    }
  }

  void abort(HttpTransfer* transfer, HttpEnd end) {
    curl().multi_remove_handle(multi_, transfer->handle());
    take_out(transfer)->end(std::move(end));
  }

  std::unique_ptr<HttpTransfer> take_out(HttpTransfer* transfer) {
    if (transfer->timer) timers_.erase({*transfer->timer, transfer});
    by_number_.erase(transfer->number());
    auto node = transfers_.extract(transfer->handle());
    return std::move(node.mapped());
  }

  void collect_finished() {
    if (multi_ == nullptr) return;
    int left = 0;
    while (const CURLMsg* message = curl().multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const auto found = transfers_.find(message->easy_handle);
      if (found == transfers_.end()) continue;
      HttpTransfer* transfer = found->second.get();
      abort(transfer, transfer->outcome(message->data.result));
    }
  }

  const HttpClientOptions options_;
  int epoll_ = -1;
  int bell_ = -1;
  CURLM* multi_ = nullptr;
  std::thread thread_;

  Mutex mutex_;
  std::vector<std::unique_ptr<HttpTransfer>> orders_ TERTULIA_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> cancels_ TERTULIA_GUARDED_BY(mutex_);
  std::uint64_t last_number_ TERTULIA_GUARDED_BY(mutex_) = 0;
  bool stopping_ TERTULIA_GUARDED_BY(mutex_) = false;

  // Only the loop's own thread touches what follows.
  std::unordered_map<CURL*, std::unique_ptr<HttpTransfer>> transfers_;
  std::unordered_map<std::uint64_t, HttpTransfer*> by_number_;
  std::set<std::pair<Instant, HttpTransfer*>> timers_;
  std::vector<HttpTransfer*> hurried_;
  std::optional<Instant> curl_due_;
};

HttpClient::HttpClient(HttpClientOptions options) : loop_(std::make_shared<Loop>(std::move(options))) {}

HttpClient::~HttpClient() { loop_->stop(); }

void HttpClient::send(HttpRequest request, HttpHandlers handlers, const CancelToken& cancel) {
  const std::uint64_t number = loop_->next_number();
  auto transfer = std::make_unique<HttpTransfer>(number, std::move(request), std::move(handlers));
  transfer->hold(cancel, cancel.on_cancel([weak = std::weak_ptr<Loop>(loop_), number](CancelReason) {
    if (const auto loop = weak.lock()) loop->cancel(number);
  }));
  loop_->send(std::move(transfer));
}

std::shared_ptr<HttpClient> HttpClient::shared(const HttpClientOptions& options) {
  struct Known {
    HttpClientOptions options;
    std::weak_ptr<HttpClient> client;
  };
  static Mutex mutex;
  static std::vector<Known>& known = *new std::vector<Known>;
  MutexLock lock(mutex);
  std::erase_if(known, [](const Known& one) { return one.client.expired(); });
  for (const Known& one : known) {
    if (one.options != options) continue;
    if (auto client = one.client.lock()) return client;
  }
  auto client = std::make_shared<HttpClient>(options);
  known.push_back({.options = options, .client = client});
  return client;
}

}  // namespace tertulia
