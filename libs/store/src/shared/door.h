// A StoreDoor: lends the store that this process holds to others on the same machine, through a socket in the
// data directory.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <thread>

#include "tertulia/base/file_system.h"
#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/store/session_key.h"
#include "tertulia/store/shared_store.h"
#include "tertulia/store/store.h"

#include "channel.h"

namespace tertulia {

// In the data directory, while somebody holds it.
inline constexpr const char* kStoreSocket = "store.sock";
// Processes that may share a store beside the one that holds it.
inline constexpr std::size_t kMaxPeers = 256;

// Concurrency: any thread; open, stop and the destructor by its owner.
class StoreDoor {
 public:
  // The caller has the directory's lock. `store` is used until stop(), and so are the options; `changed`
  // hears of what others change before they have their answer.
  static Result<std::unique_ptr<StoreDoor>> open(Store& store, const Path& directory,
                                                 const SharedStoreOptions& options);
  ~StoreDoor();
  StoreDoor(const StoreDoor&) = delete;
  StoreDoor& operator=(const StoreDoor&) = delete;

  // Tells everybody else that this process has changed a session.
  void tell_changed(const SessionKey& key);
  bool has_peers() const { return peer_count_ > 0; }

  // Nobody is let in any more and nothing further is asked of the store. What was asked is answered when the
  // store has done it; whoever waits hears that the door is gone when it is destroyed, and asks the next one
  // who holds the store.
  void stop();

 private:
  struct Peer;
  StoreDoor(Store& store, const Path& directory, const SharedStoreOptions& options, Descriptor listening,
            Bell bell);

  void listen();
  void admit(Descriptor socket);
  void serve(const std::shared_ptr<Peer>& peer);
  bool take_frame(const std::shared_ptr<Peer>& peer, std::string_view frame);
  // False if the peer speaks another version.
  bool greet(Peer& peer, std::string_view body);
  Result<void> take_or_release(Peer& peer, Verb verb, std::string_view body);
  void tell_others(const SessionKey& key, const Peer* except);

  Store& store_;
  const Path directory_;
  const SharedStoreOptions& options_;
  Descriptor listening_;
  Bell bell_;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::size_t> peer_count_ = 0;
  Mutex mutex_;
  std::list<std::shared_ptr<Peer>> peers_ TERTULIA_GUARDED_BY(mutex_);
  std::thread listener_;
};

// By options.back_up, if there is one.
Result<void> back_up_store(Store& store, const SharedStoreOptions& options, const Path& file);

}  // namespace tertulia
