#include "channel.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../bytes.h"

namespace tertulia {
namespace {

constexpr std::size_t kReceiveBytes = std::size_t{64} << 10U;
constexpr std::chrono::seconds kLastWords{1};

Error socket_error(std::string_view what) {
  const ErrorCode code = errno == EACCES || errno == EPERM ? ErrorCode::kNotPermitted : ErrorCode::kStorageIo;
  return {code, std::string(what) + ": " + std::strerror(errno)};
}

struct SocketPlace {
  // Keeps the path below valid.
  Descriptor directory;
  sockaddr_un address{};
};

// By way of /proc, where a directory has a short name whatever its path.
Result<SocketPlace> place_of(const Path& directory, const char* name) {
  SocketPlace place{.directory = Descriptor(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC))};
  if (!place.directory.open()) return socket_error("the data directory cannot be opened");
  place.address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(place.directory.get()) + "/" + name;
  if (path.size() >= sizeof place.address.sun_path)
    return Error(ErrorCode::kTooLarge, "the name of a socket is too long");
  std::memcpy(place.address.sun_path, path.c_str(), path.size() + 1);
  return place;
}

const sockaddr* address_of(const SocketPlace& place) {
  return reinterpret_cast<const sockaddr*>(&place.address);
}

Result<Descriptor> new_socket() {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open()) return socket_error("no socket can be made");
  return socket;
}

}  // namespace

Result<Bell> Bell::make() {
  Bell bell;
  bell.event_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell.event_.open()) return socket_error("no event can be made");
  return bell;
}

void Bell::ring() const {
  const std::uint64_t one = 1;
  // It fails only when it was rung more often than anybody counts, and then it is heard as well.
  (void)!::write(event_.get(), &one, sizeof one);
}

void Bell::quiet() const {
  std::uint64_t count = 0;
  (void)!::read(event_.get(), &count, sizeof count);
}

bool Channel::send(std::string frame) {
  MutexLock lock(mutex_);
  if (closed_) return false;
  unsent_bytes_ += frame.size();
  unsent_.push_back(std::move(frame));
  // Behind what waits already, it waits as well.
  if (unsent_.size() > 1) return true;
  if (!flush()) {
    closed_ = true;
    bell_.ring();
    return false;
  }
  if (!unsent_.empty()) bell_.ring();
  return true;
}

// False if the other end is gone.
bool Channel::flush() {
  while (!unsent_.empty()) {
    const std::string& frame = unsent_.front();
    const ssize_t count =
        ::send(socket_.get(), frame.data() + sent_, frame.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    sent_ += static_cast<std::size_t>(count);
    if (sent_ < frame.size()) continue;
    unsent_bytes_ -= frame.size();
    unsent_.pop_front();
    sent_ = 0;
  }
  return true;
}

// False if the channel is over.
bool Channel::receive(const std::function<bool(std::string_view)>& take) {
  std::array<char, kReceiveBytes> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv fills it
  const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count == 0) return false;
  if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  received_.append(buffer.data(), static_cast<std::size_t>(count));
  std::string_view rest = received_;
  while (rest.size() >= 4) {
    const std::size_t size = ByteReader(rest).u32();
    if (size > kMaxFrameBytes) return false;
    if (rest.size() < 4 + size) break;
    if (!take(rest.substr(4, size))) return false;
    rest.remove_prefix(4 + size);
  }
  received_.erase(0, received_.size() - rest.size());
  if (received_.empty() && received_.capacity() > 16 * kReceiveBytes) received_.shrink_to_fit();
  return true;
}

void Channel::run(const std::function<bool(std::string_view)>& take) {
  while (true) {
    short events = 0;
    {
      MutexLock lock(mutex_);
      if (closed_ || !flush()) break;
      if (unsent_bytes_ < kMostUnsent) events |= POLLIN;
      if (!unsent_.empty()) events |= POLLOUT;
    }
    std::array<pollfd, 2> waits{pollfd{socket_.get(), events, 0}, pollfd{bell_.fd(), POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
    if ((waits[1].revents & POLLIN) != 0) bell_.quiet();
    const bool arrived = (waits[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
    if (arrived && !receive(take)) break;
  }
  finish_sending();
}

void Channel::finish_sending() {
  const auto until = std::chrono::steady_clock::now() + kLastWords;
  MutexLock lock(mutex_);
  closed_ = true;
  while (flush() && !unsent_.empty() && std::chrono::steady_clock::now() < until) {
    pollfd wait{socket_.get(), POLLOUT, 0};
    (void)::poll(&wait, 1, 100);
  }
  unsent_.clear();
  ::shutdown(socket_.get(), SHUT_RDWR);
}

void Channel::close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
  }
  bell_.ring();
}

Result<Descriptor> connect_in(const Path& directory, const char* name) {
  TERTULIA_TRY_AS(const SocketPlace place, place_of(directory, name));
  TERTULIA_TRY_AS(Descriptor socket, new_socket());
  if (::connect(socket.get(), address_of(place), sizeof place.address) == 0) return socket;
  if (errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN)
    return Error(ErrorCode::kClosed, "nobody shares the store in '" + directory.string() + "'");
  return socket_error("the process that holds the store cannot be reached");
}

Result<Descriptor> listen_in(const Path& directory, const char* name) {
  TERTULIA_TRY_AS(const SocketPlace place, place_of(directory, name));
  TERTULIA_TRY_AS(Descriptor socket, new_socket());
  ::unlinkat(place.directory.get(), name, 0);
  if (::bind(socket.get(), address_of(place), sizeof place.address) != 0)
    return socket_error("the data directory takes no socket");
  // Nobody can connect before it listens.
  if (::fchmodat(place.directory.get(), name, S_IRUSR | S_IWUSR, 0) != 0)
    return socket_error("the socket in the data directory cannot be closed to others");
  if (::listen(socket.get(), SOMAXCONN) != 0)
    return socket_error("the socket in the data directory cannot be listened to");
  return socket;
}

bool is_peer_trusted(const Descriptor& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

}  // namespace tertulia
