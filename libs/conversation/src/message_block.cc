#include "message_block.h"

#include <algorithm>
#include <string>

#include "tertulia/base/json.h"
#include "tertulia/base/utf8.h"

namespace tertulia::block {

namespace {

std::string_view name_of(PartKind kind) {
  switch (kind) {
    case PartKind::kText:
      return "a text";
    case PartKind::kReasoning:
      return "a reasoning";
    case PartKind::kToolCall:
      return "a tool call";
    case PartKind::kToolResult:
      return "a tool result";
    case PartKind::kImage:
      return "an image";
    case PartKind::kFile:
      return "a file";
  }
  return "?";
}

Result<void> check_text(std::string_view text, std::string_view what) {
  if (const auto offset = find_bad_utf8(text)) {
    return Error(ErrorCode::kBadUnicode, std::string(what) + " is not UTF-8 from byte " +
                                             std::to_string(*offset) + " on; convert or repair it first")
        .with("offset", static_cast<std::int64_t>(*offset));
  }
  return {};
}

Result<void> check_short_text(std::string_view text, std::string_view what) {
  if (text.size() > kMaxShort) return too_large(std::string(what) + " in bytes", kMaxShort, text.size());
  return check_text(text, what);
}

Result<void> check_extra(std::string_view extra) {
  if (extra.empty()) return {};
  if (extra.front() != '{') return Error(ErrorCode::kBadJson, "the extra fields are not a JSON object");
  if (auto json = check_json(extra); !json) return std::move(json).error().in("the extra fields");
  return check_text(extra, "the extra fields");
}

// Which fields a part may have is told by its kind; `what` is the field that it may not.
Result<void> check_absent(bool absent, const Part& part, std::string_view what) {
  if (absent) return {};
  return Error(ErrorCode::kUnknownField,
               std::string(name_of(part.kind)) + " part has no " + std::string(what))
      .with("param", std::string(what));
}

Result<void> check_part(const Part& part) {
  const PartKind kind = part.kind;
  if (kind > PartKind::kFile || part.outcome > ToolOutcome::kInterrupted) {
    return Error(ErrorCode::kOutOfRange, "its kind or outcome is none that exists");
  }
  TERTULIA_TRY(check_absent(part.name.empty() || kind > PartKind::kReasoning, part, "name"));
  TERTULIA_TRY(check_absent(part.call_id.empty() || kind != PartKind::kText, part, "call id"));
  TERTULIA_TRY(
      check_absent(part.outcome == ToolOutcome::kOk || kind == PartKind::kToolResult, part, "outcome"));
  TERTULIA_TRY(check_short_text(part.name, "its name"));
  TERTULIA_TRY(check_text(part.call_id, kind == PartKind::kReasoning ? "its signature" : "its id"));
  TERTULIA_TRY(check_text(part.text, "its text"));
  if (kind == PartKind::kToolCall) {
    if (part.name.empty()) {
      return Error(ErrorCode::kMissingField, "a tool call names no tool").with("param", "name");
    }
    if (auto json = check_json(part.text); !json) return std::move(json).error().in("the arguments");
  }
  return check_extra(part.extra);
}

std::size_t text_bytes(const Part& part) {
  return part.name.size() + part.call_id.size() + part.text.size() + part.extra.size();
}

// Writes fields one behind the other.
class Writer {
 public:
  explicit Writer(char* at) : at_(at) {}

  template <class T>
  void put(T value) {
    store(at_, value);
    at_ += sizeof(T);
  }
  void put_text(std::string_view text) {
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  template <class T>
  void put_size(std::string_view text) {
    put(static_cast<T>(text.size()));
  }

 private:
  char* at_;
};

void write_table(Writer& out, const MessageDraft& draft, bool extended) {
  out.put(static_cast<std::uint16_t>(draft.parts.size()));
  std::uint32_t end = 0;
  for (const Part& part : draft.parts) {
    end += static_cast<std::uint32_t>(text_bytes(part));
    out.put(part.kind);
    out.put(part.outcome);
    out.put_size<std::uint16_t>(part.name);
    out.put_size<std::uint32_t>(part.call_id);
    out.put(end);
    if (extended) out.put_size<std::uint32_t>(part.extra);
  }
}

Error damaged(std::string_view what) {
  return Error(ErrorCode::kDamaged, "a stored message is damaged: " + std::string(what));
}

bool begins_inside_character(std::string_view text) {
  return !text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0U) == 0x80U;
}

// The head, and that the lengths of names and table fit into the block.
Result<void> check_head(std::string_view block) {
  if (block.size() < kHeadBytes) return damaged("it is shorter than its head");
  const auto version = load<std::uint8_t>(block.data() + kAtVersion);
  if (version > kBlockVersion) {
    return Error(ErrorCode::kNeedsVersion, "a stored message has block version " + std::to_string(version) +
                                               ", this program reads up to " + std::to_string(kBlockVersion) +
                                               "; use the newer program that wrote it");
  }
  if (version == 0) return damaged("it has no version");
  if (block.size() > kMaxBlockBytes) return damaged("it is larger than a message can be");
  if (load<std::uint32_t>(block.data() + kAtSize) != block.size())
    return damaged("its size is not the one it states");
  const auto flags = load<std::uint8_t>(block.data() + kAtFlags);
  const auto origin = load<std::uint8_t>(block.data() + kAtOrigin);
  if (flags > kAllFlags || Role{load<std::uint8_t>(block.data() + kAtRole)} > Role::kTool ||
      Origin{static_cast<std::uint8_t>(origin & 15U)} > Origin::kSynthetic ||
      Counted{static_cast<std::uint8_t>(origin >> 4U)} > Counted::kOther) {
    return damaged("its role, flags, origin or counter is none that exists");
  }
  std::size_t fixed = kHeadBytes + (flags & kNamed ? kNamesBytes : 0) + (flags & kExtended ? 4 : 0);
  if (!(flags & kPlain)) fixed += 2;
  if (block.size() < fixed) return damaged("it is shorter than its lengths");
  const BlockReader reader(block.data());
  if (reader.text_at() > block.size()) return damaged("it is shorter than its table of parts");
  if (reader.parts_at() > block.size()) return damaged("its names are longer than it is");
  if (reader.has(kNamed) && reader.author_size() + reader.source_size() + reader.source_id_size() == 0) {
    return damaged("it announces names and has none");
  }
  return {};
}

// Each row: lengths that fit between the end of the part before and its own end.
Result<void> check_rows(const BlockReader& reader) {
  std::uint64_t begin = 0;
  bool extended = reader.extra_size() > 0;
  for (std::size_t i = 0; i < (reader.has(kPlain) ? 0 : reader.count()); ++i) {
    const char* row = reader.row(i);
    const std::uint64_t end = load<std::uint32_t>(row + 8);
    const std::uint64_t name = load<std::uint16_t>(row + 2);
    const std::uint64_t extra = reader.has(kExtended) ? load<std::uint32_t>(row + 12) : 0;
    if (begin + name + load<std::uint32_t>(row + 4) + extra > end)
      return damaged("a part is shorter than its fields");
    begin = end;
    extended = extended || extra > 0;
  }
  if (!reader.has(kPlain) && reader.parts_at() + begin != reader.size()) {
    return damaged("its parts do not fill it");
  }
  if (reader.has(kExtended) != extended) return damaged("it announces extra fields and has none");
  return {};
}

// What can be said of the parts once their bytes are known to be inside the block.
Result<void> check_parts(const BlockReader& reader) {
  for (std::size_t i = 0; i < reader.count(); ++i) {
    const Part part = reader.part(i);
    if (part.kind > PartKind::kFile || part.outcome > ToolOutcome::kInterrupted) {
      return damaged("the kind or outcome of a part is none that exists");
    }
    const bool is_text = part.kind == PartKind::kText;
    if ((is_text && !part.call_id.empty()) || (part.kind <= PartKind::kReasoning && !part.name.empty()) ||
        (part.kind == PartKind::kToolCall && part.name.empty()) ||
        (part.kind != PartKind::kToolResult && part.outcome != ToolOutcome::kOk)) {
      return damaged("a part has a field that its kind does not have, or lacks one");
    }
    if (!reader.has(kPlain) && reader.count() == 1 && is_text && part.extra.empty()) {
      return damaged("it has a table for one plain part");
    }
    for (const std::string_view text : {part.name, part.call_id, part.text, part.extra}) {
      if (begins_inside_character(text)) return damaged("a field begins inside a character");
    }
  }
  return {};
}

}  // namespace

Error too_large(std::string_view what, std::uint64_t limit, std::uint64_t actual) {
  return Error(ErrorCode::kTooLarge, std::string(what) + " has " + std::to_string(actual) + "; at most " +
                                         std::to_string(limit) + " can be kept in one message")
      .with("limit", static_cast<std::int64_t>(limit))
      .with("actual", static_cast<std::int64_t>(
                          std::min<std::uint64_t>(actual, std::numeric_limits<std::int64_t>::max())));
}

Result<void> check_draft(const MessageDraft& draft) {
  if (draft.role > Role::kTool || draft.origin > Origin::kSynthetic || draft.counted > Counted::kOther) {
    return Error(ErrorCode::kOutOfRange, "the role, origin or counter of a message is none that exists");
  }
  if (number(draft.tokens) > kMaxTokens) {
    return too_large("the token count of a message", kMaxTokens, number(draft.tokens));
  }
  if (draft.parts.size() > kMaxShort) return too_large("the list of parts", kMaxShort, draft.parts.size());
  TERTULIA_TRY(check_short_text(draft.author, "the author"));
  TERTULIA_TRY(check_short_text(draft.source, "the source"));
  TERTULIA_TRY(check_short_text(draft.source_id, "the source id"));
  TERTULIA_TRY(check_extra(draft.extra));
  // Before the texts are read: each is below the limit, or the message is refused.
  std::uint64_t total = draft.extra.size();
  for (const Part& part : draft.parts) total += text_bytes(part);
  if (total > kMaxBlockBytes) return too_large("a message in bytes", kMaxBlockBytes, total);
  for (std::size_t i = 0; i < draft.parts.size(); ++i) {
    if (auto part = check_part(draft.parts[i]); !part) {
      return std::move(part).error().in("part " + std::to_string(i));
    }
  }
  return {};
}

std::uint8_t flags_of(const MessageDraft& draft) {
  bool extended = !draft.extra.empty();
  for (const Part& part : draft.parts) extended = extended || !part.extra.empty();
  const bool named = !draft.author.empty() || !draft.source.empty() || !draft.source_id.empty();
  const bool plain =
      draft.parts.size() == 1 && draft.parts[0].kind == PartKind::kText && draft.parts[0].extra.empty();
  unsigned flags = 0;
  if (draft.interrupted) flags |= kInterrupted;
  if (draft.internal) flags |= kInternal;
  if (named) flags |= kNamed;
  if (extended) flags |= kExtended;
  if (plain) flags |= kPlain;
  return static_cast<std::uint8_t>(flags);
}

std::size_t size_of(const MessageDraft& draft, std::uint8_t flags) {
  std::size_t size =
      kHeadBytes + draft.author.size() + draft.source.size() + draft.source_id.size() + draft.extra.size();
  if (flags & kNamed) size += kNamesBytes;
  if (flags & kExtended) size += 4;
  if (!(flags & kPlain)) size += 2 + draft.parts.size() * (kRowBytes + (flags & kExtended ? 4 : 0));
  for (const Part& part : draft.parts) size += text_bytes(part);
  return size;
}

void write(char* block, std::size_t size, const MessageDraft& draft, std::uint8_t flags) {
  Writer out(block);
  out.put(static_cast<std::uint32_t>(size));
  out.put(kBlockVersion);
  out.put(draft.role);
  out.put(flags);
  out.put(static_cast<std::uint8_t>(static_cast<unsigned>(draft.origin) | static_cast<unsigned>(draft.counted)
                                                                              << 4U));
  out.put(draft.id.uuid().bytes());
  out.put(std::int64_t{draft.time.time_since_epoch().count()});
  out.put(static_cast<std::uint32_t>(number(draft.tokens)));
  if (flags & kNamed) {
    out.put_size<std::uint16_t>(draft.author);
    out.put_size<std::uint16_t>(draft.source);
    out.put_size<std::uint16_t>(draft.source_id);
  }
  if (flags & kExtended) out.put_size<std::uint32_t>(draft.extra);
  if (!(flags & kPlain)) write_table(out, draft, flags & kExtended);
  for (const std::string_view text : {draft.author, draft.source, draft.source_id, draft.extra})
    out.put_text(text);
  for (const Part& part : draft.parts) {
    for (const std::string_view text : {part.name, part.call_id, part.text, part.extra}) out.put_text(text);
  }
}

Result<void> check(std::string_view block) {
  TERTULIA_TRY(check_head(block));
  const BlockReader reader(block.data());
  TERTULIA_TRY(check_rows(reader));
  TERTULIA_TRY(check_parts(reader));
  for (const std::string_view text : {reader.author(), reader.source(), reader.source_id(), reader.extra()}) {
    if (begins_inside_character(text)) return damaged("a field begins inside a character");
  }
  // One pass over all text: fields that begin at characters of well-formed text are well-formed themselves.
  if (find_bad_utf8(block.substr(reader.text_at()))) return damaged("its text is not UTF-8");
  return {};
}

}  // namespace tertulia::block
