// A session written again under another name, with some of it changed. A transcript only grows, so this is
// how something in the middle of one is erased: a changed copy is made, the original erased, and the copy
// brought back.
#pragma once

#include <functional>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/conversation/tool_call_record.h"
#include "tertulia/conversation/turn.h"
#include "tertulia/store/store.h"

namespace tertulia {

// What changes on the way, each in place. Null: nothing of that kind does.
struct SessionEdit {
  std::function<void(Session&)> session{};
  std::function<void(BranchHead&)> branch{};
  // As many messages, in groups as they were.
  std::function<Result<void>(Turn&, std::vector<ToolCallRecord>&)> turn{};
  // False: the whole stream of the record stays behind.
  std::function<Result<bool>(Record&)> record{};
};

// `to` must not be there (kSessionExists). It has the revision that the edited session says, which must not
// be lower than before, the same times, branches, turns and records; leases, which belong to a running
// process, stay behind. A copy that a crash has cut is_incomplete_copy. Holds the whole session in RAM.
// Blocks.
Result<void> copy_session(Store& store, const SessionKey& from, const SessionKey& to,
                          const SessionEdit& edit = {});

bool is_incomplete_copy(const Session& session);

}  // namespace tertulia
