// A ConversationSnapshot: the messages as they stand, and the handle to come back with.
#pragma once

#include <string>

#include "tertulia/conversation/json_text.h"
#include "tertulia/conversation/transcript.h"

namespace tertulia {

// What a run hands out. The transcript shares its memory with the branch it was taken from and never changes.
struct ConversationSnapshot {
  Transcript transcript;
  // As encode_handle wrote it.
  std::string handle;
  // Fields of a newer minor version, as an object.
  JsonText extra;
};

}  // namespace tertulia
