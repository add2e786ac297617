#include "http/http_server.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <malloc.h>
#include <sys/resource.h>

#include "tertulia/base/run_safely.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/base/with_memory.h"

namespace tertulia::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;

// Files that the rest of the program needs.
constexpr std::size_t kSparedFiles = 512;
constexpr milliseconds kAcceptAgainAfter{50};
constexpr int kAcceptAtOnce = 64;
// How often, and behind how much, memory is given back to the system.
constexpr std::chrono::seconds kTrimEvery{2};
constexpr std::uint64_t kTrimBytes = 8U << 20U;
// So many times after a burst of bodies.
constexpr int kTrimRounds = 5;
// Connections that are cut end at once, unless a handler holds one.
constexpr milliseconds kCutWithin{2'000};

// Raises the limit of open files as far as it goes, and says how many connections that makes.
std::size_t room_for_connections() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1'024;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t files = std::min<std::size_t>(limit.rlim_cur, 1U << 20U);
  return files > 2 * kSparedFiles ? files - kSparedFiles : files / 2;
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const HttpOptions& options, Service& service, Log log)
      : options_(options), service_(service), log_(std::move(log)) {}
  ~Impl() { stop(); }

  Result<void> listen();
  Result<void> begin();
  bool drain(milliseconds at_most);
  Result<void> load_certificate();

  std::uint16_t port() const { return port_; }
  std::size_t connections() const {
    std::size_t count = 0;
    for (const auto& loop : loops_) count += loop->connections();
    return count;
  }

 private:
  void begin_accepting();
  Task<void> accept();
  void accept_waiting(std::size_t& next);
  void welcome(const std::shared_ptr<Loop>& loop, Socket socket);
  void close_acceptor();
  bool wait_for_connections(milliseconds at_most) const;
  void stop();
  void begin_threads();
  void give_memory_back();
  std::shared_ptr<TlsContext> tls() {
    MutexLock lock(mutex_);
    return tls_;
  }

  const HttpOptions options_;
  Service& service_;
  const Log log_;
  std::vector<std::shared_ptr<Loop>> loops_;
  std::vector<asio::executor_work_guard<asio::io_context::executor_type>> work_;
  std::unique_ptr<tcp::acceptor> acceptor_;
  std::vector<std::thread> threads_;
  ByteBudget budget_{options_.body_budget};
  std::thread upkeep_;
  std::size_t room_ = 0;
  std::uint16_t port_ = 0;
  Mutex mutex_;
  CondVar stopped_;
  bool stopping_ TERTULIA_GUARDED_BY(mutex_) = false;
  std::shared_ptr<TlsContext> tls_ TERTULIA_GUARDED_BY(mutex_);
};

Result<void> HttpServer::Impl::load_certificate() {
  if (options_.tls_certificate.empty()) return {};
  TERTULIA_TRY_AS(std::shared_ptr<TlsContext> loaded,
                  TlsContext::load(options_.tls_certificate, options_.tls_key));
  MutexLock lock(mutex_);
  tls_ = std::move(loaded);
  return {};
}

Result<void> HttpServer::Impl::listen() {
  TERTULIA_TRY(load_certificate());
  const std::size_t room = room_for_connections();
  room_ = options_.connections == 0 ? room : std::min(room, options_.connections);
  for (std::size_t i = 0; i < std::max<std::size_t>(options_.threads, 1); ++i) {
    loops_.push_back(std::make_shared<Loop>());
    work_.push_back(asio::make_work_guard(loops_.back()->io()));
  }
  boost::system::error_code failed;
  const auto address = asio::ip::make_address(options_.address, failed);
  if (failed) {
    return Error(ErrorCode::kBadConfig, "'" + options_.address + "' is no address to listen on")
        .with("param", "server.address");
  }
  const tcp::endpoint endpoint(address, options_.port);
  acceptor_ = std::make_unique<tcp::acceptor>(loops_.front()->io());
  acceptor_->open(endpoint.protocol(), failed);
  if (!failed) acceptor_->set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor_->bind(endpoint, failed);
  if (!failed) acceptor_->listen(4'096, failed);
  // Accepting without waiting says so when nobody is there.
  if (!failed) acceptor_->non_blocking(true, failed);
  if (failed) {
    return Error(failed == asio::error::address_in_use ? ErrorCode::kLocked : ErrorCode::kBadConfig,
                 "cannot listen on " + options_.address + " port " + std::to_string(options_.port) + ": " +
                     failed.message());
  }
  port_ = acceptor_->local_endpoint().port();
  return {};
}

Result<void> HttpServer::Impl::begin() {
  try {
    begin_threads();
    return {};
  } catch (const std::exception& problem) {
    return Error(ErrorCode::kQueueFull, "the machine allows no thread for the server (" +
                                            std::string(problem.what()) +
                                            "); end other programs or raise its limit");
  }
}

void HttpServer::Impl::begin_threads() {
  for (const auto& loop : loops_) loop->begin();
  begin_accepting();
  for (const auto& loop : loops_) {
    // What is thrown ends what it was thrown by, not the loop.
    threads_.emplace_back([loop] {
      while (!run_safely("a loop of the server", [&loop] { loop->io().run(); })) {
      }
    });
  }
  upkeep_ = std::thread([this] { give_memory_back(); });
}

void HttpServer::Impl::begin_accepting() {
  asio::co_spawn(loops_.front()->io(), accept(), [this](const std::exception_ptr& thrown) {
    // What has run out of memory begins again: else nobody would be let in any more.
    if (thrown != nullptr && acceptor_->is_open()) with_memory([this] { begin_accepting(); });
  });
}

Task<void> HttpServer::Impl::accept() {
  Timer pause(loops_.front()->io());
  std::size_t next = 0;
  while (acceptor_->is_open()) {
    boost::system::error_code failed;
    if (connections() >= room_) {
      failed = asio::error::no_descriptors;
    } else {
      const std::shared_ptr<Loop>& loop = loops_[next++ % loops_.size()];
      Socket socket = co_await acceptor_->async_accept(loop->io(), asio::redirect_error(use_task, failed));
      if (!failed) {
        // Without memory for it, this one is closed, and others are accepted.
        const bool welcomed = run_safely("the welcome of a connection", [&] {
          welcome(loop, std::move(socket));
          accept_waiting(next);
        });
        if (welcomed) continue;
        failed = asio::error::no_memory;
      }
    }
    if (failed == asio::error::operation_aborted) co_return;
    // Out of files or memory: those who wait are served when others have gone.
    log_.warn("no connection can be accepted", {{"reason", failed.message()}});
    pause.expires_after(kAcceptAgainAfter);
    co_await pause.async_wait(asio::redirect_error(use_task, failed));
  }
}

// Those who came meanwhile: a loop that is busy looks at its acceptor seldom.
void HttpServer::Impl::accept_waiting(std::size_t& next) {
  for (int i = 0; i < kAcceptAtOnce && connections() < room_; ++i) {
    boost::system::error_code none;
    const std::shared_ptr<Loop> loop = loops_[next % loops_.size()];
    Socket socket(loop->io());
    acceptor_->accept(socket, none);
    if (none) return;
    ++next;
    welcome(loop, std::move(socket));
  }
}

void HttpServer::Impl::welcome(const std::shared_ptr<Loop>& loop, Socket socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  auto tls_context = tls();
  auto shared = std::make_shared<Socket>(std::move(socket));
  asio::post(loop->io(), [this, loop, shared, tls_context] {
    auto transport =
        tls_context ? tls_context->transport(std::move(*shared)) : plain_transport(std::move(*shared));
    auto connection = std::make_shared<Connection>(loop, std::move(transport), service_, options_.head,
                                                   options_.times, budget_);
    if (loop->draining()) return;
    asio::co_spawn(loop->io(), [connection]() -> Task<void> { co_await connection->run(); }, asio::detached);
  });
}

// What bodies have taken goes back to the system: the heap would keep it for ever. More than once, because
// what was made of them is freed later than they are.
void HttpServer::Impl::give_memory_back() {
  MutexLock lock(mutex_);
  std::uint64_t given = 0;
  int rounds = 0;
  while (!stopping_) {
    stopped_.wait_until(mutex_, CondVar::now() + kTrimEvery);
    given += budget_.given();
    if (given >= kTrimBytes && budget_.used() == 0) {
      given = 0;
      rounds = kTrimRounds;
    }
    if (rounds == 0) continue;
    --rounds;
    ::malloc_trim(0);
  }
}

void HttpServer::Impl::close_acceptor() {
  std::promise<void> closed;
  asio::post(loops_.front()->io(), [&] {
    boost::system::error_code ignored;
    acceptor_->close(ignored);
    closed.set_value();
  });
  closed.get_future().wait();
}

bool HttpServer::Impl::wait_for_connections(milliseconds at_most) const {
  const Moment until = Loop::now() + at_most;
  for (const auto& loop : loops_) loop->wait_until_empty(until);
  return connections() == 0;
}

bool HttpServer::Impl::drain(milliseconds at_most) {
  if (threads_.empty()) return true;
  close_acceptor();
  for (const auto& loop : loops_) asio::post(loop->io(), [&on = *loop] { on.drain(); });
  const bool all = wait_for_connections(at_most);
  stop();
  return all;
}

void HttpServer::Impl::stop() {
  if (threads_.empty()) return;
  // What is posted does not keep its loop: where nothing is open the loop may stop before it runs, and would
  // be kept by itself for ever.
  for (const auto& loop : loops_) asio::post(loop->io(), [&on = *loop] { on.cut(); });
  wait_for_connections(kCutWithin);
  for (const auto& loop : loops_) loop->io().stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  if (upkeep_.joinable()) upkeep_.join();
  for (const auto& loop : loops_) loop->close_inbox();
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options, Service& service, Log log) {
  auto impl = std::make_unique<Impl>(options, service, std::move(log));
  TERTULIA_TRY(impl->listen());
  TERTULIA_TRY(impl->begin());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::uint16_t HttpServer::port() const { return impl_->port(); }
std::size_t HttpServer::connections() const { return impl_->connections(); }
bool HttpServer::drain(milliseconds at_most) { return impl_->drain(at_most); }
Result<void> HttpServer::reload_certificate() { return impl_->load_certificate(); }

}  // namespace tertulia::server
