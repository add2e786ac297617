// How the desk remembers runs: in the session "~runs" of the user, and beside the run's own words.
//
//   "~runs"    kJournal     main    scope: run   name: "run"              the marker          while it goes
//   on
//   "~runs"    kSubmission  main    scope: key   name: hash of the ask    the marker
//   its own    kEvent       its own scope: run   name: "events", "ended"  {"events", "outcome"?, "failed"?}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/conversation/event.h"
#include "tertulia/store/store.h"

namespace tertulia {

enum class RunStart : std::uint8_t { kRun, kResume, kFork };

// Everything that is needed to begin a run again which had not come to its first checkpoint.
struct RunMarker {
  SessionKey key;
  std::string run;
  std::string workflow;
  RunStart how = RunStart::kRun;
  std::string message{};
  std::optional<BranchId> branch{};
  std::string handle{};
  bool exact = false;
  bool show_internal = false;
  std::string checkpoint{};
  // Who is charged; empty: nobody.
  std::string payer{};
};

SessionKey runs_session(const TenantId& tenant, const OwnerId& owner);
StreamId marker_stream(const std::string& run);
StreamId run_key_stream(const std::string& key);
inline constexpr std::string_view kMarkerName = "run";

std::string to_text(const RunMarker& marker);
Result<RunMarker> parse_marker(const SessionKey& runs, std::string_view text);

// Those of every tenant. Blocks.
Result<std::vector<RunMarker>> read_markers(Store& store);

// Drops what was noted of runs in `session`, with the words they were begun with: before it is erased.
// kSessionDamaged if it cannot be read: it stays until the session of runs_session() is erased. Blocks.
Result<void> forget_runs(Store& store, const SessionKey& session);

// A batch of events as it is stored.
struct StoredEvents {
  std::vector<Event> events;
  // Set in the last batch of a life that came to its end.
  std::optional<Result<std::string>> outcome;
};
std::string to_text(const std::vector<Event>& events, const Result<std::string>* outcome);
Result<StoredEvents> parse_events(std::string_view text);

}  // namespace tertulia
