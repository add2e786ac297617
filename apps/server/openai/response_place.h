// Where a response is said: in a session of its own, behind an earlier response, or in a conversation.
//
// A response id names a turn. Answering the newest one of a branch goes on with the branch; answering an
// older one, or one that somebody else is answering, forks behind it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/call.h"
#include "openai/response_request.h"
#include "openai/response_store.h"

namespace tertulia::server {

// While it lives, nobody else goes on from the same end of a branch.
class BranchClaim {
 public:
  // Null if another one has it.
  static std::shared_ptr<BranchClaim> take(const SessionKey& key, const BranchId& branch, std::uint64_t end);
  ~BranchClaim();
  BranchClaim(const BranchClaim&) = delete;
  BranchClaim& operator=(const BranchClaim&) = delete;

 private:
  explicit BranchClaim(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

struct ResponsePlace {
  // It was said there before, under the same Idempotency-Key.
  bool known = false;
  SessionKey key;
  // None: the session's only one, or `main`.
  std::optional<BranchId> branch;
  bool own_session = false;
  // Nothing is in it yet.
  bool fresh = false;
  // The messages of `branch` that a new branch keeps, because this one has gone on.
  std::optional<std::uint64_t> fork_at;
  std::vector<Message> handed_back;
  std::shared_ptr<BranchClaim> claim;
  // What came before, where nothing is to be stored.
  std::optional<Branch> before;
};

// Blocks. kTurnRunning if the earlier response has not ended; kNotFound.
Result<ResponsePlace> place_behind(const Call& call, const KeptResponse& previous, bool store,
                                   const std::string& once);
Result<ResponsePlace> place_in_session(const Call& call, const ResponseRequest& request);
// Makes the branch that the place needs, once it is certain that something will be said there. Blocks.
Result<void> take_place(const Call& call, ResponsePlace& place);

}  // namespace tertulia::server
