// A Channel: frames between two processes over a socket.
//
// One thread runs it and is told of what arrives. Any thread sends; sending never waits: what the socket does
// not take at once is kept and follows. While more than kMostUnsent bytes wait, nothing further is read, so
// that the other end cannot ask for more than it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "tertulia/base/descriptor.h"
#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"

#include "wire.h"

namespace tertulia {

// Something that poll() sees when another thread has rung.
class Bell {
 public:
  static Result<Bell> make();
  void ring() const;
  void quiet() const;
  int fd() const { return event_.get(); }

 private:
  Descriptor event_;
};

inline constexpr std::size_t kMostUnsent = std::size_t{64} << 20U;

class Channel {
 public:
  // Takes a connected socket over, which must not block.
  Channel(Descriptor socket, Bell bell) : socket_(std::move(socket)), bell_(std::move(bell)) {}

  // Any thread. False once the channel is closed: the frame goes nowhere.
  bool send(std::string frame) TERTULIA_EXCLUDES(mutex_);
  // Gives each frame, without its length, to `take`, until the other end is gone, close() was called, or
  // `take` says false. What was to be sent until then is sent, if the other end takes it within a second.
  void run(const std::function<bool(std::string_view frame)>& take);
  // Any thread: run() ends soon.
  void close();

 private:
  bool flush() TERTULIA_REQUIRES(mutex_);
  bool receive(const std::function<bool(std::string_view)>& take);
  void finish_sending() TERTULIA_EXCLUDES(mutex_);

  Descriptor socket_;
  Bell bell_;
  Mutex mutex_;
  std::deque<std::string> unsent_ TERTULIA_GUARDED_BY(mutex_);
  std::size_t unsent_bytes_ TERTULIA_GUARDED_BY(mutex_) = 0;
  // Of the first of them.
  std::size_t sent_ TERTULIA_GUARDED_BY(mutex_) = 0;
  bool closed_ TERTULIA_GUARDED_BY(mutex_) = false;
  std::string received_;
};

// The socket in `directory`, also where its path is too long for a socket's address. kClosed if nobody
// listens there.
Result<Descriptor> connect_in(const Path& directory, const char* name);
// Listens there, for the owner of the directory alone. A socket that a dead process left is replaced: only
// for whoever has the directory's lock.
Result<Descriptor> listen_in(const Path& directory, const char* name);
// Whether the other end is a process of this user or of the administrator.
bool is_peer_trusted(const Descriptor& socket);

}  // namespace tertulia
