// RunOptions: how one turn is run, where it differs from how its agent usually does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/message.h"
#include "tertulia/conversation/projection.h"
#include "tertulia/model/language_model.h"

namespace tertulia {

// What becomes of a message that is sent while the branch is busy with another turn.
enum class OnBusy : std::uint8_t {
  kReject,     // kTurnRunning {turn, since}
  kQueue,      // its turn comes after the others; kQueueFull {limit} when too many wait
  kSteer,      // it is delivered into the running turn, once, at the next boundary between two steps
  kInterrupt,  // the running turn is cancelled, keeps what it has said, and this one comes next
};
std::string_view name_of(OnBusy on_busy);

// What becomes of a turn that a crash, a shutdown or an unreachable model has left unfinished, when a new
// message comes.
enum class OnInterrupted : std::uint8_t {
  kGoOn,     // it is tried once more, with the model that this message chooses, if it chooses one; if its
             // model fails again it is set aside as by kAbandon, and this message has its turn
  kFinish,   // it is finished first; while its model fails, this message is refused
  kAbandon,  // it is closed: its open calls get results that say so, what was said is kept, marked
             // interrupted
  kDiscard,  // its message is taken back, as if it had never been sent, if no answer was begun and no tool
             // was called; else as kAbandon. Without a message, this is all that a run does
};
std::string_view name_of(OnInterrupted on_interrupted);

struct RunOptions {
  // None: the only branch there is, `main` for a new session, kAmbiguousBranch if there are several.
  std::optional<BranchId> branch{};
  // Whose session. Empty: "local", for a program that serves one person.
  TenantId tenant{};
  OwnerId owner{};

  // Another model for this turn; null: the agent's.
  std::shared_ptr<LanguageModel> model{};
  // The name of the model at its provider. Empty: the agent's.
  std::string model_name{};
  // Temperature and the like.
  ModelOptions speech{};
  // Stand in place of the agent's system prompt. Empty: the agent's.
  std::string instructions{};
  // Stand behind the system prompt.
  std::string extra_instructions{};
  // What one model call may hold in all. None: as the agent's memory is configured.
  std::optional<Tokens> budget{};
  // What of the branch's history the model is shown, if the branch is the thread of somebody who takes part
  // in a conversation with others. None: all of it.
  std::optional<Projection> projection{};
  // False: the model is shown no tools.
  bool tools = true;
  // For the whole turn. None: the agent's limit.
  std::optional<Duration> timeout{};
  // The same key with the same message joins or returns the first turn; with another message, kKeyReuse.
  std::string idempotency_key{};
  OnBusy on_busy = OnBusy::kReject;
  OnInterrupted on_interrupted = OnInterrupted::kGoOn;
  // False: nothing tells what the model is shown, of a turn that is not stored. One that is always does.
  bool receipts = true;
  // Deltas that wait to be read are joined.
  bool coalesce = false;
};

}  // namespace tertulia
