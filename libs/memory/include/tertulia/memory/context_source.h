// A ContextSource: something that knows what could be said to the model beside the conversation itself.
//
// Its answers are shown for one turn, with their source, and never become part of the transcript.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/cancellation.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/agent_spec.h"
#include "tertulia/conversation/message.h"
#include "tertulia/memory/working_memory.h"
#include "tertulia/store/session_key.h"

namespace tertulia {

struct ContextRequest {
  SessionKey key;
  BranchId branch;
  AgentId agent;
  // What the user said.
  std::string question;
  MemoryConfig config;
  // The history of this session is not shown: what it was about may be recalled like that of others.
  bool history_hidden = false;
  // Set when nobody waits any more.
  CancelToken cancel;
};

// Concurrency: any thread, any number of calls at a time. It may block: the turn goes on without it when
// MemoryConfig::retrieval_timeout has passed.
class ContextSource {
 public:
  virtual ~ContextSource() = default;

  // As the event `context_degraded` names it.
  virtual std::string_view name() const = 0;
  // In each tier the best first; also what was found and is not to be shown, with the reason.
  virtual Result<std::vector<ContextItem>> retrieve(const ContextRequest& request) = 0;

  // Reads into RAM what it needs, so that the first turn is as fast as the next. Called when a program
  // starts, beside its first turns. May block.
  virtual Result<void> prepare() { return {}; }

  // A session is about to be closed: what users said of themselves in these messages is remembered, if the
  // source remembers such things. With `mask`, without personal data. How many facts are new. May block.
  virtual Result<std::size_t> learn(const SessionKey& /*key*/, std::span<const Message> /*messages*/,
                                    bool /*mask*/) {
    return 0;
  }

  // Messages of an owner are about to be erased: what the source keeps that came only from them goes, and
  // what also came from others no longer names them. How many items that were. kSessionDamaged {sessions,
  // items} if some could not be reached because these are damaged; the rest is done then. May block.
  virtual Result<std::size_t> forget_messages(const TenantId& /*tenant*/, const OwnerId& /*owner*/,
                                              std::span<const MessageId> /*messages*/) {
    return 0;
  }
  // Everything of an owner was erased from the store: what is held of it in RAM goes.
  virtual void drop_owner(const TenantId& /*tenant*/, const OwnerId& /*owner*/) {}
};

}  // namespace tertulia
