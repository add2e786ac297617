// A Projection: the history of a branch as one participant of a conversation is shown it.
//
// A participant hears itself as the assistant and everybody else as users, with their names before their
// words; it is shown none of their tool calls. What its policy leaves out is not there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tertulia/base/result.h"
#include "tertulia/conversation/policy.h"
#include "tertulia/conversation/transcript.h"

namespace tertulia {

struct Projection {
  std::string participant;
  ConversationPolicy policy{};
  // How many messages at the beginning are of the conversation that all share: there, others speak as
  // themselves. Behind them the branch is the participant's own, and others speak as users already.
  std::uint64_t shared = 0;
  // What was committed up to here belongs to earlier runs, which Retention::kLatestOnly leaves out.
  Revision before{};

  bool operator==(const Projection&) const = default;
};

// Whether it shows everything as it is.
bool shows_all(const Projection& projection);

// What is left of `branch`, in whole turns and whole tool groups. `current`: what the message that comes now
// costs; it counts as the newest turn, and towards the tokens.
Result<Transcript> project(const Transcript& branch, const Projection& projection, Tokens current);

// Whether a policy shows a message. A tool group is shown whole or not at all.
bool shows(const ConversationPolicy& policy, const Message& message);

// Whether the participant said it, or it is a result of a call of its own.
bool is_by(const Message& message, const std::string& participant);

// What a participant is shown of a message: its own as it is, another's as a user's with the name of its
// author before the text. Nothing if it has no words for others.
Result<std::optional<Message>> as_heard(const Message& message, const std::string& participant);

// A copy of a message with some of it to be changed. The views of the draft refer to `message`.
MessageDraft draft_of(const Message& message);

}  // namespace tertulia
