// Episodes and their messages, on any Store. They block.
//
// An episode's messages are not stored a second time: they are the span of its branch.
#pragma once

#include <cstdint>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/branch_rules.h"
#include "tertulia/conversation/episode.h"
#include "tertulia/conversation/message.h"
#include "tertulia/store/store.h"

namespace tertulia {

// Adds one message as a turn of its own, at whatever the revision is just now. For importing and logging: a
// turn of an agent is appended whole. kUnpairedToolCall for a tool call or a result alone.
Result<Revision> add_message(Store& store, Clock& clock, const SessionKey& key, const BranchId& branch,
                             const Message& message);

// Every message of the branch, in order: what rebuilds a conversation after a restart.
Result<std::vector<Message>> get_session_messages(Store& store, const SessionKey& key,
                                                  const BranchId& branch = main_branch());

// Stores a closed episode. Its span must be inside its branch: kOutOfRange.
Result<void> add_episode(Store& store, const SessionKey& key, const Episode& episode);
// The episodes of a session, oldest first.
Result<std::vector<Episode>> list_episodes(Store& store, const SessionKey& key);
// kNotFound if there is none.
Result<std::vector<Message>> get_episode_messages(Store& store, const SessionKey& key, EpisodeId episode);

// Adds a record at the end of its stream, whatever its number is just now; `record.number` is ignored. The
// number it got.
Result<std::uint64_t> add_record(Store& store, const SessionKey& key, Record record);

}  // namespace tertulia
