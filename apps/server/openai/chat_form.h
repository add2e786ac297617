// Chat completions and their chunks, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/agent/run.h"
#include "tertulia/base/clock.h"
#include "tertulia/conversation/message.h"

#include "openai/client_tools.h"

namespace tertulia::server {

// What every body and chunk of one completion says.
struct ChatHead {
  std::string id;
  std::string model;
  std::int64_t created = 0;
};

std::int64_t unix_seconds(Time time);
std::string_view finish_reason(const TurnOutcome& outcome, bool handed_back);

// `answer` is what was handed back, if anything.
std::string completion_body(const ChatHead& head, const TurnOutcome& outcome, const Message* answer,
                            const ClientTools& tools);

// {"id":…,"choices":[{"index":0,"delta":DELTA,…}]}. `delta` is JSON text; without a reason it is null.
std::string chunk_body(const ChatHead& head, std::string_view delta, std::string_view finish_reason,
                       bool with_usage);
// The chunk behind the last that holds the usage alone.
std::string usage_chunk(const ChatHead& head, const Usage& usage);

}  // namespace tertulia::server
