#include "place.h"

#include <chrono>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "../bytes.h"
#include "door.h"

namespace tertulia {
namespace {

constexpr std::chrono::seconds kGreeting{5};

bool wait_for(const Descriptor& socket, short events, std::chrono::milliseconds patience) {
  pollfd wait{socket.get(), events, 0};
  return ::poll(&wait, 1, static_cast<int>(patience.count())) == 1;
}

// Says which version this is, and hears which version holds the store.
Result<Hello> greet_holder(const Descriptor& socket) {
  const std::string frame = frame_of({.verb = Verb::kHello}, body_of(Hello{}));
  const Error gone(ErrorCode::kClosed, "the process that holds the store has closed its door");
  if (::send(socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(frame.size()))
    return gone;
  std::string heard;
  while (heard.size() < 4 || heard.size() < 4 + ByteReader(heard).u32()) {
    if (heard.size() > 4'096) return gone;
    if (!wait_for(socket, POLLIN, kGreeting)) {
      return Error(ErrorCode::kLocked,
                   "the process that holds the store does not answer; is it stopped? See: tertulia doctor");
    }
    char byte = 0;
    if (::recv(socket.get(), &byte, 1, 0) != 1) return gone;
    heard.push_back(byte);
  }
  TERTULIA_TRY_AS(const FrameHead head, read_frame_head(std::string_view(heard).substr(4)));
  if (head.verb != Verb::kHello) return gone;
  TERTULIA_TRY_AS(Hello hello, read_body<Hello>(std::string_view(heard).substr(4 + kFrameHeadBytes)));
  if (hello.version == kWireVersion) return hello;
  return Error(ErrorCode::kNeedsVersion,
               "the store is held by another version of Tertulia, which speaks version " +
                   std::to_string(hello.version) + " where this one speaks " + std::to_string(kWireVersion) +
                   "; use the same version, or stop the other one first");
}

Result<StorePlace> join_holder(const Path& directory) {
  TERTULIA_TRY_AS(Descriptor socket, connect_in(directory, kStoreSocket));
  TERTULIA_TRY_AS(Hello hello, greet_holder(socket));
  TERTULIA_TRY_AS(Bell bell, Bell::make());
  return StorePlace{.store = nullptr,
                    .channel = std::make_shared<Channel>(std::move(socket), std::move(bell)),
                    .kind = std::move(hello.kind)};
}

}  // namespace

Result<StorePlace> find_place(const Path& directory, const SharedStoreOptions& options) {
  Result<std::unique_ptr<Store>> opened = options.open();
  if (opened) return StorePlace{.store = *std::move(opened), .channel = nullptr, .kind = options.kind};
  if (opened.error().code() != ErrorCode::kLocked) return std::move(opened).error();
  Result<StorePlace> joined = join_holder(directory);
  // Locked by somebody who shares nothing: the lock says more.
  if (!joined && joined.error().code() == ErrorCode::kClosed) return std::move(opened).error();
  return joined;
}

}  // namespace tertulia
