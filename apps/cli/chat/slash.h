// What a person can say to the chat itself: /fork, /undo, /context, …
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "talk.h"

namespace tertulia::cli {

// What the chat does next.
struct SlashOutcome {
  bool leave = false;
  // This is said to the agent once more.
  std::optional<Message> say_again{};
  // The message that has no answer is tried again, or taken back.
  bool resume = false;
  bool discard = false;
  // Another session was entered: what it holds is shown.
  bool entered = false;
};

// `line` begins with a slash. kOutOfRange for a command that there is not, naming the nearest.
Result<SlashOutcome> run_slash(const std::string& line, Talk& talk, const Context& context);

// What a line that begins with a slash may become: for completion.
std::vector<std::string> slash_completions(const std::string& line, const Talk& talk);

// The latest sessions, one on a line, numbered from 1.
struct SessionLine {
  SessionKey key;
  std::string text;
};
Result<std::vector<SessionLine>> latest_sessions(Store& store, const SessionKey& owner_of, std::size_t most,
                                                 std::size_t width);

}  // namespace tertulia::cli
