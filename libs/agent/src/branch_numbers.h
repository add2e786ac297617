// The streams of records that running turns write beside a branch, and where each of them stands.
#pragma once

#include <cstdint>
#include <string>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/store/record.h"

namespace tertulia {

// The newest number of each stream; 0: there has never been one. A stream that was emptied goes on counting,
// which is why the newest lease tells the numbers of the other two.
struct BranchNumbers {
  std::uint64_t lease = 0;
  std::uint64_t journal = 0;
  std::uint64_t events = 0;
};

StreamId lease_stream(const BranchId& branch);
StreamId journal_stream(const BranchId& branch);
StreamId event_stream(const BranchId& branch);

// Who may write the turn of a branch. Its number in the stream is the fencing number: every change of the
// turn states it, so a writer whose lease was taken over cannot change anything any more.
struct Lease {
  // Empty: free.
  std::string owner;
  // After this moment, anybody may take it over who cannot see that the owner is alive.
  Time until{};
  std::uint64_t journal = 0;
  std::uint64_t events = 0;

  std::string to_json() const;
  static Result<Lease> parse(std::string_view text);
};

// This process as the owner of leases: host, process and engine, so that whoever stands on the same host can
// see whether it is alive.
class LeaseOwner {
 public:
  // Registers itself among the living of this process until it is destroyed.
  explicit LeaseOwner(std::string engine);
  ~LeaseOwner();
  LeaseOwner(const LeaseOwner&) = delete;
  LeaseOwner& operator=(const LeaseOwner&) = delete;

  const std::string& text() const { return text_; }
  const std::string& engine() const { return engine_; }

  // Whether the lease binds at `now`: its owner is alive on this host, or is elsewhere and its time has not
  // run out.
  bool binds(const Lease& lease, Time now) const;

 private:
  std::string engine_;
  std::string text_;
};

}  // namespace tertulia
