// A turn as the content of its row.
//
//   varint revision, first index, state turn; turn id (16); commit time in µs (8); varint number of messages
//   the head of each message: varint length of its block; version, role, flags and origin as there (4); id
//   (16);
//     time less commit time as a zigzag varint; varint tokens
//   varint 0, then the texts; or the size of the texts, then the texts packed (packing.h)
//
// The texts are
//
//   the rest of each message's block, from byte 36 on (docs/formats/message.md)
//   varint number of tool calls, then each
//   if the branch's state changed: varint number of members, then each as two texts
//
// Ids and times are apart because nothing makes them shorter, and among the texts they make those longer.
// A tool call whose id, tool and input, or whose output, stand in the messages names the part instead of
// saying it again.
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
#include "tertulia/conversation/revision.h"
#include "tertulia/conversation/tool_call_record.h"
#include "tertulia/conversation/turn.h"
#include "tertulia/store/commit.h"

namespace tertulia {

struct TurnHeader {
  Revision revision{};
  std::uint64_t first_index = 0;
  // The newest turn of the branch, this one included, that holds the branch's state; 0 if none does.
  std::uint64_t state_turn = 0;
  TurnId turn{};
  Time time{};
  std::uint64_t messages = 0;
};

// The texts of a turn as its row ends: packed if that is shorter. Most of the work of a commit, and it needs
// nothing that only the writing thread knows.
std::string encode_texts(const AppendTurn& append);
// `texts` is encode_texts(append).
std::string encode_turn(const TurnHeader& header, const AppendTurn& append, std::string_view texts);

// The same content with texts that are not packed, as a window into `content` or into `scratch`.
Result<std::string_view> unpack_turn(std::string_view content, std::string& scratch);

// kDamaged if the bytes are not what encode_turn writes. All but the header must be unpacked.
Result<TurnHeader> decode_turn_header(std::string_view content);
Result<Turn> decode_turn(std::string_view content);
// The calls without session, branch and turn, which are not stored.
Result<std::vector<ToolCallRecord>> decode_tool_calls(std::string_view content, const Turn& turn);
Result<std::optional<MiddlewareState>> decode_state(std::string_view content);

}  // namespace tertulia
