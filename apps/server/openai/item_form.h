// Items: what a response consists of, as text. An item's id says its turn, its place in it, and its session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/id.h"
#include "tertulia/conversation/message.h"

namespace tertulia::server {

// The ids of everything that one turn brings. The session is empty where nothing is stored.
struct TurnIds {
  TurnId turn;
  std::string session;

  // resp_TURN[_SESSION]
  std::string response() const;
  // PREFIX_TURN_NUMBER[-LIFE][_SESSION]
  std::string item(std::string_view prefix, std::size_t number, std::uint64_t life = 0) const;

  // Of a response or an item; nothing if it is none of ours. The session may be empty.
  static std::optional<TurnIds> of_response(std::string_view id);
  static std::optional<TurnIds> of_item(std::string_view id);
};

enum class ItemKind : std::uint8_t { kMessage, kReasoning, kFunctionCall, kServerCall };

// An item of an answer, as far as it is known.
struct OutputItem {
  ItemKind kind = ItemKind::kMessage;
  std::string id{};
  // "in_progress", "completed", "incomplete" or "failed".
  std::string_view status = "completed";
  // What was said or thought, or the arguments of a call.
  std::string text{};
  std::string name{};
  std::string call_id{};
  // Of a call that the server made.
  std::optional<std::string> output{};
  bool failed = false;

  std::string_view prefix() const;
  std::string form() const;
  // The one part of a message's content, or of a reasoning's summary.
  std::string part_form() const;
};

// The messages as items, numbered from `first`. Calls of the client and of the server are told apart by where
// their results come from; calls without results are the client's.
std::vector<std::string> items_of(std::span<const Message> messages, const TurnIds& ids,
                                  std::size_t first = 0);

}  // namespace tertulia::server
