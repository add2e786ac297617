// What erasing messages changes in the session that holds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/conversation/episode.h"
#include "tertulia/conversation/message.h"
#include "tertulia/store/copy_session.h"
#include "tertulia/store/store.h"

namespace tertulia {

class Memory;

// What the sources of `memory` keep from these messages goes. Sessions that are damaged and may keep some of
// it are added to `damaged`. How many items that were.
Result<std::size_t> forget_in_sources(const Memory& memory, const SessionKey& key,
                                      std::span<const MessageId> messages, std::set<SessionId>& damaged);

// The texts and ids by which what was made from messages is found where no record says so: in checkpoints,
// in the state of middleware, in titles. Texts of fewer than 12 bytes are not looked for: they are
// everywhere.
class Traces {
 public:
  void add(const Message& message);
  bool in(std::string_view bytes) const;
  // Also true of a text that is a piece of what was erased, as a title is.
  bool in_title(std::string_view title) const;

 private:
  std::vector<std::string> ids_;
  std::vector<std::string> texts_;
  std::vector<std::string> forms_;
};

struct EraseCounts {
  std::size_t messages = 0;
  std::size_t episodes = 0;
  std::size_t summaries = 0;
  // Texts of prompts, events, checkpoints, assets: whole records.
  std::size_t records = 0;
};

// Reads a session and knows what of it goes with some of its messages.
class EraseEdit {
 public:
  // Makes an episode again, without what was erased.
  using Remake = std::function<Result<Episode>(const Episode&, std::span<const Message>)>;

  // Also the copies of these messages that other branches of the session hold. kNoMessage if there is no such
  // message.
  static Result<EraseEdit> plan(Store& store, const SessionKey& key, std::span<const MessageId> messages);

  // Everything that is to go, those that are gone already included.
  const std::set<MessageId>& messages() const { return messages_; }
  // Whether something is still there to be erased.
  bool needed() const { return needed_; }
  const Traces& traces() const { return traces_; }
  // Whether a receipt of the session could not be read: texts that were made from the messages may stay.
  bool unread() const { return unread_; }
  bool touches(const Episode& episode) const;

  // Refers to this object, which must outlive it.
  SessionEdit edit(Remake remake, EraseCounts& counts);

 private:
  Result<void> erase_from(Turn& turn, std::vector<ToolCallRecord>& calls, EraseCounts& counts) const;
  void erase_from(BranchHead& head, EraseCounts& counts) const;
  void erase_from(Session& session) const;
  Result<bool> erase_from(Record& record, const Remake& remake, EraseCounts& counts) const;
  Result<void> remake_episode(Record& record, const Remake& remake) const;
  bool holds_made_text(const Record& part) const;
  Result<void> read_receipts(Store& store, const SessionKey& key);

  std::set<MessageId> messages_;
  Traces traces_;
  bool needed_ = false;
  bool unread_ = false;
  std::set<std::string> turns_;
  // Assets that only erased messages refer to.
  std::set<std::string> assets_;
  // Every message of each branch, and the places of the erased ones.
  std::map<BranchId, std::vector<Message>> branches_;
  std::map<BranchId, std::vector<std::uint64_t>> places_;
  // Hashes of the texts of prompts that were made from the history, or by middleware.
  std::set<std::string> made_texts_;
};

}  // namespace tertulia
