#include "tertulia/conversation/message.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <optional>

#include "tertulia/base/check.h"

#include "message_block.h"

namespace tertulia {

using block::BlockReader;
using block::load;

namespace {

constexpr std::array<std::string_view, 5> kRoleNames = {"system", "context", "user", "assistant", "tool"};

}  // namespace

// The count of references, and behind it the stored bytes.
struct Message::Block {
  std::atomic<std::uint32_t> references{1};

  static Block* allocate(std::size_t size) { return new (::operator new(sizeof(Block) + size)) Block; }
  char* bytes() { return reinterpret_cast<char*>(this) + sizeof(Block); }
  const char* bytes() const { return reinterpret_cast<const char*>(this) + sizeof(Block); }
};

std::string_view name_of(Role role) { return kRoleNames.at(static_cast<std::size_t>(role)); }

Result<Role> role_named(std::string_view name) {
  for (std::size_t i = 0; i < kRoleNames.size(); ++i) {
    if (kRoleNames[i] == name) return Role{static_cast<std::uint8_t>(i)};
  }
  return Error(ErrorCode::kOutOfRange, "there is no such role; use system, context, user, assistant or tool");
}

void Message::acquire() const noexcept { block_->references.fetch_add(1, std::memory_order_relaxed); }

void Message::release() noexcept {
  if (block_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  block_->~Block();
  ::operator delete(block_);
}

const Message::Block& Message::checked() const {
  TERTULIA_CHECK(block_ != nullptr,
                 "a message that was never made, or was moved away, is only to be assigned to");
  return *block_;
}

Result<Message> Message::make(const MessageDraft& draft) {
  TERTULIA_TRY(block::check_draft(draft));
  const std::uint8_t flags = block::flags_of(draft);
  const std::size_t size = block::size_of(draft, flags);
  if (size > block::kMaxBlockBytes)
    return block::too_large("a message in bytes", block::kMaxBlockBytes, size);
  Block* block = Block::allocate(size);
  block::write(block->bytes(), size, draft, flags);
  return Message(block);
}

Result<Message> Message::text(MessageId id, Role role, std::string_view text, Time time) {
  return make({.id = id, .role = role, .time = time, .parts = {Part::text_of(text)}});
}

Result<Message> Message::from_block(std::string_view block) {
  TERTULIA_TRY(block::check(block));
  Block* own = Block::allocate(block.size());
  std::memcpy(own->bytes(), block.data(), block.size());
  return Message(own);
}

Message Message::with_tokens(Tokens tokens, Counted counted) const {
  // A message of at most 64 MiB has fewer, whatever somebody's tokenizer says.
  const std::uint64_t most = std::min<std::uint64_t>(number(tokens), block::kMaxTokens);
  const std::string_view old = block();
  Block* copy = Block::allocate(old.size());
  std::memcpy(copy->bytes(), old.data(), old.size());
  block::store(copy->bytes() + block::kAtTokens, static_cast<std::uint32_t>(most));
  block::store(
      copy->bytes() + block::kAtOrigin,
      static_cast<std::uint8_t>(static_cast<unsigned>(origin()) | static_cast<unsigned>(counted) << 4U));
  return Message(copy);
}

MessageId Message::id() const {
  return MessageId(Uuid(load<std::array<std::uint8_t, 16>>(checked().bytes() + block::kAtId)));
}
Role Message::role() const { return load<Role>(checked().bytes() + block::kAtRole); }
Time Message::time() const { return Time(Duration(load<std::int64_t>(checked().bytes() + block::kAtTime))); }
std::string_view Message::author() const { return BlockReader(checked().bytes()).author(); }
Origin Message::origin() const {
  return Origin{static_cast<std::uint8_t>(load<std::uint8_t>(checked().bytes() + block::kAtOrigin) & 15U)};
}
std::string_view Message::source() const { return BlockReader(checked().bytes()).source(); }
std::string_view Message::source_id() const { return BlockReader(checked().bytes()).source_id(); }
Tokens Message::tokens() const { return Tokens{load<std::uint32_t>(checked().bytes() + block::kAtTokens)}; }
Counted Message::counted() const {
  return Counted{static_cast<std::uint8_t>(load<std::uint8_t>(checked().bytes() + block::kAtOrigin) >> 4U)};
}
bool Message::interrupted() const { return BlockReader(checked().bytes()).has(block::kInterrupted); }
bool Message::internal() const { return BlockReader(checked().bytes()).has(block::kInternal); }
std::string_view Message::extra() const { return BlockReader(checked().bytes()).extra(); }
std::size_t Message::part_count() const { return BlockReader(checked().bytes()).count(); }

Part Message::part(std::size_t index) const {
  const BlockReader reader(checked().bytes());
  TERTULIA_CHECK(index < reader.count(), "a part is asked for by an index below part_count()");
  return reader.part(index);
}

std::string_view Message::text_content(std::string& scratch) const {
  const BlockReader reader(checked().bytes());
  std::optional<std::string_view> only;
  scratch.clear();
  for (std::size_t i = 0; i < reader.count(); ++i) {
    if (reader.kind(i) != PartKind::kText) continue;
    const std::string_view text = reader.part(i).text;
    if (!only && scratch.empty()) {
      only = text;
      continue;
    }
    if (only) scratch = *std::exchange(only, std::nullopt);
    scratch += text;
  }
  return only ? *only : std::string_view(scratch);
}

std::string Message::text_content() const {
  std::string scratch;
  return std::string(text_content(scratch));
}

bool Message::has_tool_calls() const {
  const BlockReader reader(checked().bytes());
  if (reader.has(block::kPlain)) return false;
  for (std::size_t i = 0; i < reader.count(); ++i) {
    if (reader.kind(i) == PartKind::kToolCall) return true;
  }
  return false;
}

std::string_view Message::block() const {
  const char* bytes = checked().bytes();
  return {bytes, load<std::uint32_t>(bytes + block::kAtSize)};
}

bool Message::operator==(const Message& other) const {
  if (block_ == other.block_) return true;
  if (block_ == nullptr || other.block_ == nullptr) return false;
  return block() == other.block();
}

}  // namespace tertulia
