#include "mcp/stdio_transport.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <sys/epoll.h>
#include <unistd.h>

#include "tertulia/base/printable.h"
#include "tertulia/base/secret_mask.h"
#include "tertulia/base/utf8.h"

#include "mcp/loop.h"

namespace tertulia {
namespace {

// Read of one pipe before the others are looked at.
constexpr int kReadsAtATime = 16;

class StdioTransport final : public McpTransport, public std::enable_shared_from_this<StdioTransport> {
 public:
  StdioTransport(ChildCommand command, Log log, StdioLimits limits)
      : command_(std::move(command)), log_(std::move(log)), limits_(limits) {}

  bool whole_texts() const override { return false; }

  void start(McpTransportEvents events) override {
    events_ = std::move(events);
    Result<Child> child = start_child(command_);
    if (!child) {
      loop_.post([self = shared_from_this(), why = child.error()] { self->down(why); });
      return;
    }
    child_ = *std::move(child);
    for (const auto& [name, value] : command_.environment) {
      if (names_secret(name)) mask_.add(value);
    }
    log_.info("MCP server started", {{"pid", child_.pid}});
    output_watch_ = watch(child_.output, EPOLLIN, &StdioTransport::read_output);
    error_watch_ = watch(child_.errors, EPOLLIN, &StdioTransport::read_errors);
    exit_watch_ = watch(child_.exited, EPOLLIN, &StdioTransport::exited);
  }

  void send(McpOutgoing message) override {
    if (!child_.input.open()) return;
    if (unsent_.size() + message.text.size() > limits_.unsent_bytes) {
      down(Error(ErrorCode::kQueueFull,
                 "the server does not read: " + std::to_string(unsent_.size()) + " bytes wait for it"));
      return;
    }
    unsent_ += message.text;
    unsent_ += '\n';
    write_input();
    if (message.on_sent) message.on_sent();
  }

  void forget(std::int64_t) override {}
  void established(const std::string&) override {}

  void close(std::function<void()> done) override {
    events_ = {};
    if (child_.pid < 0) {
      loop_.post(std::move(done));
      return;
    }
    on_ended_ = std::move(done);
    self_ = shared_from_this();  // until the child has ended
    if (ending_) return;
    ending_ = true;
    close_input();
    end_later(SIGTERM);
  }

  std::string error_tail() const override { return printable(sanitize_utf8(mask_.whole(error_tail_))); }
  int process() const override { return child_.pid; }

 private:
  McpLoop::WatchId watch(const Descriptor& descriptor, std::uint32_t events,
                         void (StdioTransport::*handler)()) {
    return loop_.watch(descriptor.get(), events, [weak = weak_from_this(), handler] {
      if (const auto self = weak.lock()) (self.get()->*handler)();
    });
  }

  void end_later(int signal) {
    end_timer_ = loop_.after(limits_.grace, [weak = weak_from_this(), signal] {
      const auto self = weak.lock();
      if (!self || self->child_.pid < 0) return;
      self->log_.warn("MCP server does not end by itself", {{"pid", self->child_.pid}, {"signal", signal}});
      signal_group(self->child_, signal);
      if (signal != SIGKILL) self->end_later(SIGKILL);
    });
  }

  void close_input() {
    loop_.unwatch(std::exchange(input_watch_, 0));
    child_.input.reset();
    unsent_.clear();
  }

  void write_input() {
    std::size_t at = 0;
    while (at < unsent_.size()) {
      const ssize_t written = write(child_.input.get(), unsent_.data() + at, unsent_.size() - at);
      if (written > 0) {
        at += static_cast<std::size_t>(written);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno == EAGAIN) break;
      // It has closed its input; that it has ended, if so, is told by exited().
      unsent_.clear();
      at = 0;
      break;
    }
    unsent_.erase(0, at);
    if (unsent_.empty()) return loop_.unwatch(std::exchange(input_watch_, 0));
    if (input_watch_ == 0) input_watch_ = watch(child_.input, EPOLLOUT, &StdioTransport::write_input);
  }

  // The bytes that are there, through `take`. False at the end of the pipe.
  template <class Take>
  static bool drain(const Descriptor& pipe, int reads, const Take& take) {
    std::array<char, 65'536> buffer;  // NOLINT: filled by read
    for (int i = 0; i < reads && pipe.open(); ++i) {
      const ssize_t got = read(pipe.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno == EAGAIN;
      if (got == 0) return false;
      take(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    }
    return true;
  }

  void read_output() {
    const auto self = shared_from_this();
    const bool more =
        drain(child_.output, kReadsAtATime, [this](std::string_view bytes) { tell(mask_.next(bytes)); });
    if (more) return;
    tell(mask_.rest());
    loop_.unwatch(std::exchange(output_watch_, 0));
    child_.output.reset();
    // One that talks no more is of no use. If it has ended, how is worth waiting for.
    if (ending_) return;
    silent_timer_ = loop_.after(std::chrono::milliseconds(200), [weak = weak_from_this()] {
      if (const auto transport = weak.lock())
        transport->down(Error(ErrorCode::kClosed, "the server has closed its output"));
    });
  }

  void tell(std::string_view bytes) {
    if (!bytes.empty() && events_.on_bytes) events_.on_bytes(bytes);
  }

  void read_errors() {
    const bool more = drain(child_.errors, kReadsAtATime, [this](std::string_view bytes) {
      error_lines_ += static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
      error_tail_ += bytes;
      if (error_tail_.size() > 2 * limits_.error_bytes)
        error_tail_.erase(0, error_tail_.size() - limits_.error_bytes);
    });
    if (more) return;
    loop_.unwatch(std::exchange(error_watch_, 0));
    child_.errors.reset();
  }

  void exited() {
    const auto self = shared_from_this();
    // What it said before it ended counts: drained to the end, or as far as it goes.
    if (child_.output.open()) {
      drain(child_.output, 1 << 12, [this](std::string_view bytes) { tell(mask_.next(bytes)); });
      tell(mask_.rest());
    }
    if (child_.errors.open()) read_errors();
    for (McpLoop::WatchId* watch : {&exit_watch_, &output_watch_, &error_watch_})
      loop_.unwatch(std::exchange(*watch, 0));
    loop_.cancel(end_timer_);
    loop_.cancel(silent_timer_);
    close_input();
    child_.output.reset();
    child_.errors.reset();
    const std::string how = reap(child_);
    log_.info("MCP server ended", {{"how", how}, {"stderr_lines", error_lines_}});
    down(Error(ErrorCode::kClosed, "the server ended with " + how));
    if (const auto done = std::exchange(on_ended_, nullptr)) done();
    self_.reset();
  }

  void down(const Error& why) {
    const auto on_down = std::exchange(events_, {}).on_down;
    if (on_down) on_down(why);
  }

  McpLoop& loop_ = McpLoop::shared();
  const ChildCommand command_;
  const Log log_;
  const StdioLimits limits_;
  McpTransportEvents events_;
  Child child_;
  SecretMask mask_;
  std::string unsent_;
  McpLoop::WatchId input_watch_ = 0;
  McpLoop::WatchId output_watch_ = 0;
  McpLoop::WatchId error_watch_ = 0;
  McpLoop::WatchId exit_watch_ = 0;
  McpLoop::TimerId end_timer_ = 0;
  McpLoop::TimerId silent_timer_ = 0;
  std::uint64_t error_lines_ = 0;
  std::string error_tail_;
  bool ending_ = false;
  std::function<void()> on_ended_;
  std::shared_ptr<StdioTransport> self_;
};

}  // namespace

std::shared_ptr<McpTransport> stdio_transport(ChildCommand command, Log log, StdioLimits limits) {
  return std::make_shared<StdioTransport>(std::move(command), std::move(log), limits);
}

}  // namespace tertulia
