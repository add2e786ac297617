// A Message: what one author said at one moment. Immutable.
//
// A message is one block of memory: header, parts, and all its text behind one another
// (docs/formats/message.md gives the bytes). Copying a Message copies a pointer. The block is also what
// stores keep, so loading a message is one copy and no parsing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/base/clock.h"
#include "tertulia/base/id.h"
#include "tertulia/base/result.h"

namespace tertulia {

// Counted in the model's own units.
enum class Tokens : std::uint64_t {};
constexpr std::uint64_t number(Tokens tokens) { return static_cast<std::uint64_t>(tokens); }
constexpr Tokens operator+(Tokens a, Tokens b) { return Tokens{number(a) + number(b)}; }

enum class Role : std::uint8_t { kSystem, kContext, kUser, kAssistant, kTool };
std::string_view name_of(Role role);
Result<Role> role_named(std::string_view name);

// By whom the tokens of a message were counted. An estimate is said to be one.
enum class Counted : std::uint8_t { kNot, kEstimate, kCl100k, kO200k, kOther };

// Where a message came from.
enum class Origin : std::uint8_t { kUser, kModel, kTool, kImport, kSummary, kSynthetic };

enum class PartKind : std::uint8_t { kText, kReasoning, kToolCall, kToolResult, kImage, kFile };

// How a tool call ended, as its result tells the model.
enum class ToolOutcome : std::uint8_t {
  kOk,
  kError,        // it ran, or was refused for its arguments, and failed
  kDenied,       // a person or a rule said no; it did not run
  kUnknown,      // it was running when the process died; whether it took effect is not known
  kInterrupted,  // the turn was cancelled or abandoned before it ran
};
std::string_view name_of(ToolOutcome outcome);

// One part of a message, as a window into its block: valid while any Message of that block lives.
//
//   kind          name             call_id          text
//   kText         –                –                the text
//   kReasoning    –                signature        the text
//   kToolCall     tool             call id          arguments (JSON text)
//   kToolResult   tool             call id          output (text or JSON text)
//   kImage        media type       asset id or ""   address or ""
//   kFile         media type       asset id or ""   address or file name
//
// A call id is the model's own and not unique: calls and results are matched by occurrence.
struct Part {
  PartKind kind = PartKind::kText;
  ToolOutcome outcome = ToolOutcome::kOk;
  std::string_view name{};
  std::string_view call_id{};
  std::string_view text{};
  // Fields of a newer minor version, as JSON text of an object; empty if there are none.
  std::string_view extra{};

  bool operator==(const Part&) const = default;

  static Part text_of(std::string_view text) { return {.text = text}; }
  static Part reasoning(std::string_view text, std::string_view signature = {}) {
    return {.kind = PartKind::kReasoning, .call_id = signature, .text = text};
  }
  static Part tool_call(std::string_view call_id, std::string_view tool, std::string_view arguments) {
    return {.kind = PartKind::kToolCall, .name = tool, .call_id = call_id, .text = arguments};
  }
  static Part tool_result(std::string_view call_id, std::string_view tool, std::string_view output,
                          ToolOutcome outcome = ToolOutcome::kOk) {
    return {
        .kind = PartKind::kToolResult, .outcome = outcome, .name = tool, .call_id = call_id, .text = output};
  }
};

// What a message is made from. The views need only live until Message::make returns.
struct MessageDraft {
  MessageId id{};
  Role role = Role::kUser;
  Time time{};
  // Who speaks: the user's, agent's or tool's name. May be empty.
  std::string_view author{};
  Origin origin = Origin::kUser;
  // The model, tool or archive it came from, and its id there.
  std::string_view source{};
  std::string_view source_id{};
  Tokens tokens{};
  Counted counted = Counted::kNot;
  // Cut short by a cancel, a crash or a broken stream; what is here was really said.
  bool interrupted = false;
  // Not shown unless internals are asked for.
  bool internal = false;
  std::vector<Part> parts{};
  // Fields of a newer minor version, as JSON text of an object; empty if there are none.
  std::string_view extra{};
};

class Message {
 public:
  // No message: only to be assigned to. Every other use of it is a broken promise.
  Message() = default;
  Message(const Message& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) acquire();
  }
  Message(Message&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Message& operator=(Message other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Message() {
    if (block_ != nullptr) release();
  }

  // Limits: parts 65,535; author, source, source_id, a part's name 65,535 bytes; the whole block 64 MiB;
  // tokens below 2^32. kTooLarge {limit, actual}; kBadUnicode {offset} for text that is not UTF-8; kBadJson,
  // or what else check_json says, for arguments that are not JSON and extras that are not an object of it;
  // kUnknownField for a field that the kind of a part does not have; kMissingField for a call without a tool.
  static Result<Message> make(const MessageDraft& draft);

  // A message of one text part.
  static Result<Message> text(MessageId id, Role role, std::string_view text, Time time);

  MessageId id() const;
  Role role() const;
  Time time() const;
  std::string_view author() const;
  Origin origin() const;
  std::string_view source() const;
  std::string_view source_id() const;
  Tokens tokens() const;
  Counted counted() const;
  bool interrupted() const;
  bool internal() const;
  std::string_view extra() const;

  std::size_t part_count() const;
  Part part(std::size_t index) const;

  // All text parts behind one another. One part, the usual case, costs nothing; more are joined into
  // `scratch`.
  std::string_view text_content(std::string& scratch) const;
  std::string text_content() const;

  bool has_tool_calls() const;

  // The stored form of the block.
  std::string_view block() const;
  // Takes a stored block. Checks every length, field and character: a block is kDamaged if its form is not
  // the one that make() gives, and kNeedsVersion if its version is newer. What make() found to be JSON is not
  // parsed again: stores guard their records with checksums.
  static Result<Message> from_block(std::string_view block);

  // The same message with another token count, which must be below 2^32.
  Message with_tokens(Tokens tokens, Counted counted) const;

  bool valid() const { return block_ != nullptr; }
  // Equal content, byte for byte.
  bool operator==(const Message& other) const;

 private:
  struct Block;
  explicit Message(Block* block) : block_(block) {}
  void acquire() const noexcept;
  void release() noexcept;
  const Block& checked() const;

  Block* block_ = nullptr;
};

}  // namespace tertulia
