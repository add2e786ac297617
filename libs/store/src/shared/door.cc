#include "door.h"

#include <array>
#include <map>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tertulia/base/log.h"
#include "tertulia/base/run_safely.h"
#include "tertulia/store/session_hold.h"

#include "serve.h"

namespace tertulia {

// One process that shares the store. Answers keep its channel alive, and nothing else of it.
struct StoreDoor::Peer {
  explicit Peer(std::shared_ptr<Channel> to) : channel(std::move(to)) {}

  const std::shared_ptr<Channel> channel;
  std::thread thread;
  // Guards the store: whoever serves a question is inside.
  Mutex serving;
  bool stopped TERTULIA_GUARDED_BY(serving) = false;
  bool greeted = false;
  std::atomic<bool> over = false;
  // The threads of the other process, by its own numbers.
  std::map<std::uint64_t, AskingThread> askers;
  std::map<SessionKey, SessionHold> holds;
};

StoreDoor::StoreDoor(Store& store, const Path& directory, const SharedStoreOptions& options,
                     Descriptor listening, Bell bell)
    : store_(store),
      directory_(directory),
      options_(options),
      listening_(std::move(listening)),
      bell_(std::move(bell)) {}

Result<std::unique_ptr<StoreDoor>> StoreDoor::open(Store& store, const Path& directory,
                                                   const SharedStoreOptions& options) {
  TERTULIA_TRY_AS(Descriptor listening, listen_in(directory, kStoreSocket));
  TERTULIA_TRY_AS(Bell bell, Bell::make());
  std::unique_ptr<StoreDoor> door(
      new StoreDoor(store, directory, options, std::move(listening), std::move(bell)));
  try {
    door->listener_ =
        std::thread([raw = door.get()] { run_safely("the door of a store", [&] { raw->listen(); }); });
  } catch (...) {
    return error_thrown("the thread that shares the store");
  }
  return door;
}

StoreDoor::~StoreDoor() {
  stop();
  std::list<std::shared_ptr<Peer>> peers;
  {
    MutexLock lock(mutex_);
    peers.swap(peers_);
  }
  for (const auto& peer : peers) peer->channel->close();
  for (const auto& peer : peers) {
    if (peer->thread.joinable()) peer->thread.join();
  }
}

void StoreDoor::stop() {
  if (stopped_.exchange(true)) return;
  bell_.ring();
  if (listener_.joinable()) listener_.join();
  ::unlink((directory_ / kStoreSocket).c_str());
  {
    const Descriptor closed = std::move(listening_);
  }
  std::list<std::shared_ptr<Peer>> peers;
  {
    MutexLock lock(mutex_);
    peers = peers_;
  }
  for (const auto& peer : peers) {
    MutexLock inside(peer->serving);
    peer->stopped = true;
    peer->holds.clear();
  }
}

void StoreDoor::listen() {
  while (!stopped_) {
    std::array<pollfd, 2> waits{pollfd{listening_.get(), POLLIN, 0}, pollfd{bell_.fd(), POLLIN, 0}};
    (void)::poll(waits.data(), waits.size(), -1);
    if (stopped_) return;
    Descriptor socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.open()) admit(std::move(socket));
    // Out of descriptors, perhaps: not at full speed.
    if (!socket.open() && (waits[0].revents & POLLIN) != 0) (void)::poll(&waits[1], 1, 20);
  }
}

void StoreDoor::admit(Descriptor socket) {
  const Log log = Log().component("store");
  if (!is_peer_trusted(socket)) {
    return log.warn("a process of another user was not let into the store", {});
  }
  Result<Bell> bell = Bell::make();
  if (!bell) return log.warn("a process was not let in", {{"reason", bell.error().message()}});
  const auto peer = std::make_shared<Peer>(std::make_shared<Channel>(std::move(socket), *std::move(bell)));
  MutexLock lock(mutex_);
  std::erase_if(peers_, [](const std::shared_ptr<Peer>& one) {
    if (!one->over) return false;
    one->thread.join();
    return true;
  });
  if (peers_.size() >= kMaxPeers) {
    return log.warn("a process was not let into the store: too many share it",
                    {{"limit", static_cast<std::int64_t>(kMaxPeers)}});
  }
  peers_.push_back(peer);
  try {
    peer->thread = std::thread([this, peer] {
      run_safely("a process that shares the store", [&] { serve(peer); });
      peer->over = true;
    });
  } catch (...) {
    peers_.pop_back();
    log_thrown("the thread for a process that shares the store");
  }
}

void StoreDoor::serve(const std::shared_ptr<Peer>& peer) {
  peer->channel->run([&](std::string_view frame) { return take_frame(peer, frame); });
  if (peer->greeted) --peer_count_;
  MutexLock inside(peer->serving);
  if (!peer->stopped) peer->holds.clear();
  peer->stopped = true;
}

// False ends the connection.
bool StoreDoor::take_frame(const std::shared_ptr<Peer>& peer, std::string_view frame) {
  const Result<FrameHead> head = read_frame_head(frame);
  if (!head) return false;
  const std::string_view body = frame.substr(kFrameHeadBytes);
  if (head->verb == Verb::kHello) return greet(*peer, body);
  if (!peer->greeted) return false;
  MutexLock inside(peer->serving);
  // Asked again of whoever holds the store next.
  if (peer->stopped) return true;
  auto [asker, fresh] = peer->askers.try_emplace(head->asker);
  if (fresh) asker->second = new_asking_thread();
  const AskingFor other(asker->second);
  const auto answer = [channel = peer->channel, number = head->number](std::string bytes) {
    channel->send(frame_of({.verb = Verb::kAnswer, .number = number}, bytes));
  };
  if (head->verb == Verb::kHold || head->verb == Verb::kRelease) {
    answer(answer_of(take_or_release(*peer, head->verb, body)));
    return true;
  }
  if (head->verb == Verb::kBackUp) {
    const Result<Path> file = read_body<Path>(body);
    answer(answer_of(file ? back_up_store(store_, options_, *file) : Result<void>(file.error())));
    return true;
  }
  const auto changed = [this, origin = peer](const SessionKey& key) {
    if (options_.changed) run_safely("whoever follows the store", [&] { options_.changed(key); });
    tell_others(key, origin.get());
  };
  serve_question(store_, head->verb, body, changed, answer);
  return true;
}

bool StoreDoor::greet(Peer& peer, std::string_view body) {
  const Result<Hello> hello = read_body<Hello>(body);
  if (!hello) return false;
  const bool fits = hello->version == kWireVersion;
  if (fits && !peer.greeted) ++peer_count_;
  peer.greeted = peer.greeted || fits;
  peer.channel->send(frame_of({.verb = Verb::kHello}, body_of(Hello{.kind = options_.kind})));
  return fits;
}

Result<void> StoreDoor::take_or_release(Peer& peer, Verb verb, std::string_view body) {
  TERTULIA_TRY_AS(SessionKey key, read_body<SessionKey>(body));
  if (verb == Verb::kRelease) {
    peer.holds.erase(key);
    return {};
  }
  TERTULIA_TRY_AS(SessionHold hold, SessionHold::take(store_, key));
  peer.holds.emplace(std::move(key), std::move(hold));
  return {};
}

Result<void> back_up_store(Store& store, const SharedStoreOptions& options, const Path& file) {
  if (options.back_up) return options.back_up(store, file);
  return Error(ErrorCode::kLocked,
               "a store of the kind '" + options.kind +
                   "' is copied while nobody else has it open; stop the server or whoever "
                   "has it, or export an archive: tertulia sessions export");
}

void StoreDoor::tell_changed(const SessionKey& key) {
  if (has_peers()) tell_others(key, nullptr);
}

void StoreDoor::tell_others(const SessionKey& key, const Peer* except) {
  const Result<std::string> body = body_of(key);
  if (!body) return;
  const std::string frame = frame_of({.verb = Verb::kChanged}, *body);
  MutexLock lock(mutex_);
  for (const auto& peer : peers_) {
    if (peer.get() != except && !peer->over) peer->channel->send(frame);
  }
}

}  // namespace tertulia
