// KnownConversations: what runs have left, so that the next run of a conversation reads only whether it is
// still as it was.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "tertulia/base/thread_annotations.h"
#include "tertulia/store/store.h"
#include "tertulia/workflow/conversation_manager.h"

namespace tertulia {

// Whether nobody has written to the session since `known` was left. Whoever erases messages or imports an
// archive in its place leaves another revision or another time.
inline bool is_as_it_was(const ConversationManager& known, const Session& session, const BranchHead& head) {
  const Session& left = known.session();
  return left.revision == session.revision && left.created_at == session.created_at &&
         left.last_activity == session.last_activity && known.shared().created_at == head.created_at &&
         known.transcript().size() == head.message_count;
}

// Concurrency: any thread.
class KnownConversations {
 public:
  explicit KnownConversations(std::size_t most) : most_(most) {}

  void keep(const SessionKey& key, ConversationManager conversation) {
    std::pair<SessionKey, BranchId> place(key, conversation.shared().id);
    // Let go of outside of the lock.
    std::list<Kept> dropped;
    MutexLock lock(mutex_);
    if (const auto found = places_.find(place); found != places_.end()) {
      dropped.splice(dropped.begin(), kept_, found->second);
      places_.erase(found);
    }
    kept_.push_front({place, std::move(conversation)});
    places_.emplace(std::move(place), kept_.begin());
    while (kept_.size() > most_) {
      places_.erase(kept_.back().place);
      dropped.splice(dropped.begin(), kept_, std::prev(kept_.end()));
    }
  }

  // It is not kept any more.
  std::optional<ConversationManager> take(const SessionKey& key, const BranchId& branch) {
    MutexLock lock(mutex_);
    const auto found = places_.find(std::pair(key, branch));
    if (found == places_.end()) return std::nullopt;
    ConversationManager conversation = std::move(found->second->conversation);
    kept_.erase(found->second);
    places_.erase(found);
    return conversation;
  }

 private:
  struct Kept {
    std::pair<SessionKey, BranchId> place;
    ConversationManager conversation;
  };

  const std::size_t most_;
  Mutex mutex_;
  // The most lately left in front.
  std::list<Kept> kept_ TERTULIA_GUARDED_BY(mutex_);
  std::map<std::pair<SessionKey, BranchId>, std::list<Kept>::iterator> places_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace tertulia
