// Messages for a turn under way, with the tool groups among them.
#pragma once

#include <span>

#include "tertulia/base/result.h"
#include "tertulia/conversation/turn.h"

namespace tertulia {

// Adds the messages, each that calls tools together with the results behind it. Errors of TurnDraft::add and
// ToolGroup::close; the draft then holds some of them.
Result<void> add_messages(TurnDraft& draft, std::span<const Message> messages);

}  // namespace tertulia
