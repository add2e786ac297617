// A Turn: everything from one input to the final answer. The unit of commit.
//
// Every tool call in a turn has exactly one result before the next model message. That is not checked now and
// then: a Turn, and the ToolGroup it is made of, cannot be built otherwise.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "tertulia/base/id.h"
#include "tertulia/base/result.h"
#include "tertulia/conversation/message.h"

namespace tertulia {

// A model message that calls tools, with the results of its calls in the order of the calls.
class ToolGroup {
 public:
  // `call` has at least one tool call; `results` are messages of role tool that together hold exactly one
  // result for each call, matched by occurrence: a result answers the first open call of its id, and of its
  // tool if it names one. They are put into the order of the calls; a message with several results stands
  // where the first of its calls does. kUnpairedToolCall {id} otherwise.
  static Result<ToolGroup> close(Message call, std::vector<Message> results);

  const Message& call() const { return messages_.front(); }
  std::span<const Message> results() const { return std::span(messages_).subspan(1); }
  // The call, then the results.
  std::span<const Message> messages() const { return messages_; }

 private:
  explicit ToolGroup(std::vector<Message> messages) : messages_(std::move(messages)) {}
  std::vector<Message> messages_;
};

// The messages of a turn under way. At any moment what it holds may be sent to a model or sealed.
class TurnDraft {
 public:
  explicit TurnDraft(TurnId id) : id_(id) {}

  TurnId id() const { return id_; }

  // A message that calls no tools and is no tool result: input, answer, or a summary. kUnpairedToolCall
  // otherwise; kRoleNotAllowed for a context message, which is never part of a transcript.
  Result<void> add(Message message);
  void add(const ToolGroup& group);

  // Another form of the last message of the role `user`: what it says is the same, and more is known of it.
  // Nothing if there is none, or it is not the same message.
  void annotate_input(Message message);

  std::span<const Message> messages() const { return messages_; }

 private:
  friend class Turn;
  TurnId id_;
  std::vector<Message> messages_;
};

// A turn that is complete. Immutable.
class Turn {
 public:
  // kEmptyMessage if there is nothing in it.
  static Result<Turn> seal(TurnDraft draft);

  // Reads messages that were stored or imported: the same rules, checked over the whole list. The results of
  // a group are put into order as by ToolGroup::close; an error says which message it was.
  static Result<Turn> from_messages(TurnId id, std::vector<Message> messages);

  TurnId id() const { return id_; }
  std::span<const Message> messages() const { return messages_; }

 private:
  Turn(TurnId id, std::vector<Message> messages) : id_(id), messages_(std::move(messages)) {}
  TurnId id_;
  std::vector<Message> messages_;
};

}  // namespace tertulia
