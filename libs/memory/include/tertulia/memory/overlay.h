// What lies over the history of a branch: messages that are pinned, and a summary that stands for its first
// part. Nothing of it changes a message, so taking it away brings back what was there.
//
// It is kept in the branch-scoped state, so a fork begins with it. A fork from before a pinned message or
// from inside of what a summary covers is shown neither.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/branch.h"
#include "tertulia/conversation/transcript.h"
#include "tertulia/memory/working_memory.h"

namespace tertulia {

struct PinnedMessage {
  MessageId id;
  // Its place in the branch.
  std::uint64_t index = 0;

  bool operator==(const PinnedMessage&) const = default;
};

// A summary and what it stands for: the messages 0 to covers − 1, from `first` to `last`.
struct StoredSummary {
  std::uint64_t covers = 0;
  MessageId first;
  MessageId last;
  std::string text;
  std::string model;
  Time made_at{};

  bool operator==(const StoredSummary&) const = default;
};

struct HistoryOverlay {
  std::vector<PinnedMessage> pins;
  std::optional<StoredSummary> summary;
  // Messages before this one are not shown: their user came back to a session that begins anew.
  std::uint64_t hidden_before = 0;

  bool empty() const { return pins.empty() && !summary && hidden_before == 0; }
  // What of it is true of this transcript: its messages are where they were.
  std::vector<std::uint64_t> pins_in(const Transcript& transcript) const;
  std::optional<HistorySummary> summary_of(const Transcript& transcript) const;

  bool operator==(const HistoryOverlay&) const = default;
};

// Under whose name it stands in the state of a branch.
inline constexpr std::string_view kOverlayState = "tertulia.memory";

// An empty one if there is none. kDamaged if what stands there is no overlay.
Result<HistoryOverlay> overlay_in(const MiddlewareState& state);
// Takes the place of the one that is there; an empty one leaves nothing.
void put_overlay(MiddlewareState& state, const HistoryOverlay& overlay);

}  // namespace tertulia
