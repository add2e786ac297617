// The chat as a person has it: greeting, picking a session, then message after message.
#pragma once

#include <string>

#include "tertulia/base/config.h"

#include "commands.h"
#include "talk.h"

namespace tertulia::cli {

struct ChatLoopOptions {
  // Offers the sessions that there are before a new one is begun.
  bool pick = false;
  // Where what was typed is remembered; empty: nowhere.
  Path history{};
};

// Until the person leaves.
Result<void> chat_loop(Talk& talk, const Context& context, const ChatLoopOptions& options);

// One message and its answer, for pipes and scripts.
Result<void> say_once(Talk& talk, const std::string& text, const Context& context);
Result<void> resume_once(Talk& talk, const Context& context);

// In the data directory; none beside an encrypted store, whose conversations it would tell.
Path history_file(const Config& config);

}  // namespace tertulia::cli
