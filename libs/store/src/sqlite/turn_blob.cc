#include "turn_blob.h"

#include <array>
#include <utility>

#include "tertulia/store/micros.h"

#include "../bytes.h"
#include "packing.h"

namespace tertulia {

namespace {

// More than any commit may hold, so that damage does not ask for all memory.
constexpr std::uint64_t kMaxTextBytes = 2 * kMaxCommitBytes;

Error malformed(std::string_view what) {
  return Error(ErrorCode::kDamaged, "the " + std::string(what) + " of the turn cannot be read");
}

// Every part of this kind in the turn, in order.
std::vector<Part> parts_of(const Turn& turn, PartKind kind) {
  std::vector<Part> parts;
  for (const Message& message : turn.messages()) {
    for (std::size_t i = 0; i < message.part_count(); ++i) {
      if (const Part part = message.part(i); part.kind == kind) parts.push_back(part);
    }
  }
  return parts;
}

// One more than the place of the first part that `fits`; 0 if there is none.
template <class Fits>
std::uint64_t reference_to(const std::vector<Part>& parts, Fits fits) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (fits(parts[i])) return i + 1;
  }
  return 0;
}

struct ToolParts {
  explicit ToolParts(const Turn& turn)
      : calls(parts_of(turn, PartKind::kToolCall)), results(parts_of(turn, PartKind::kToolResult)) {}
  std::vector<Part> calls;
  std::vector<Part> results;
};

void put_tool_call(std::string& out, const ToolCallRecord& call, const ToolParts& parts) {
  const auto& id = call.id.uuid().bytes();
  out.append(reinterpret_cast<const char*>(id.data()), id.size());
  put_varint(out, call.number);
  const std::uint64_t input = reference_to(parts.calls, [&](const Part& part) {
    return part.call_id == call.call_id && part.name == call.tool && part.text == call.input.text();
  });
  put_varint(out, input);
  if (input == 0) {
    put_text(out, call.call_id);
    put_text(out, call.tool);
    put_text(out, call.input.text());
  }
  const std::uint64_t output =
      reference_to(parts.results, [&](const Part& part) { return part.text == call.output; });
  put_varint(out, output);
  if (output == 0) put_text(out, call.output);
  put_text(out, call.error);
  put_u64(out, static_cast<std::uint64_t>(micros(call.called_at)));
  put_u64(out, static_cast<std::uint64_t>(call.duration.count()));
  out.push_back(static_cast<char>(call.tool_class));
  out.push_back(static_cast<char>(call.approval));
  out.push_back(static_cast<char>(call.outcome));
  put_text(out, call.extra.text());
}

template <class Id>
Id id_of(std::string_view bytes) {
  std::array<std::uint8_t, 16> raw{};
  if (bytes.size() == raw.size()) std::memcpy(raw.data(), bytes.data(), raw.size());
  return Id(Uuid(raw));
}

Result<JsonText> json_from(std::string_view text) {
  if (text.empty()) return JsonText();
  return JsonText::parse(text);
}

template <class Enum>
Result<Enum> enum_of(ByteReader& in, Enum last) {
  const std::string_view byte = in.take(1);
  if (byte.empty() || static_cast<unsigned char>(byte[0]) > static_cast<unsigned char>(last)) {
    return malformed("tool calls");
  }
  return static_cast<Enum>(byte[0]);
}

Result<ToolCallRecord> read_tool_call(ByteReader& in, const ToolParts& parts) {
  ToolCallRecord call;
  call.id = id_of<ToolCallId>(in.take(16));
  call.number = static_cast<std::uint32_t>(in.varint());
  const std::uint64_t input = in.varint();
  if (input > parts.calls.size()) return malformed("tool calls");
  const Part inlined{.name = {}, .call_id = input == 0 ? in.text() : std::string_view()};
  const std::string_view tool = input == 0 ? in.text() : std::string_view();
  const std::string_view text = input == 0 ? in.text() : std::string_view();
  const Part& source = input == 0 ? inlined : parts.calls[input - 1];
  call.call_id = std::string(source.call_id);
  call.tool = std::string(input == 0 ? tool : source.name);
  TERTULIA_TRY_AS(call.input, json_from(input == 0 ? text : source.text));
  const std::uint64_t output = in.varint();
  if (output > parts.results.size()) return malformed("tool calls");
  call.output = std::string(output == 0 ? in.text() : parts.results[output - 1].text);
  call.error = std::string(in.text());
  call.called_at = time_of(static_cast<std::int64_t>(in.u64()));
  call.duration = Duration(static_cast<std::int64_t>(in.u64()));
  TERTULIA_TRY_AS(call.tool_class, enum_of(in, ToolClass::kUnsafe));
  TERTULIA_TRY_AS(call.approval, enum_of(in, Approval::kExpired));
  TERTULIA_TRY_AS(call.outcome, enum_of(in, ToolOutcome::kInterrupted));
  TERTULIA_TRY_AS(call.extra, json_from(in.text()));
  if (!in.ok()) return malformed("tool calls");
  return call;
}

TurnHeader read_header(ByteReader& in) {
  TurnHeader header;
  header.revision = Revision{in.varint()};
  header.first_index = in.varint();
  header.state_turn = in.varint();
  header.turn = id_of<TurnId>(in.take(16));
  header.time = time_of(static_cast<std::int64_t>(in.u64()));
  header.messages = in.varint();
  return header;
}

// The head of a block, and where its fields stand: docs/formats/message.md.
constexpr std::size_t kHeadBytes = 36;
constexpr std::size_t kKindsAt = 4;
constexpr std::size_t kKindBytes = 4;
constexpr std::size_t kIdAt = 8;
constexpr std::size_t kTimeAt = 24;
constexpr std::size_t kTokensAt = 32;

void put_head(std::string& out, std::string_view block, Time commit) {
  put_varint(out, block.size());
  out.append(block, kKindsAt, kKindBytes);
  out.append(block, kIdAt, 16);
  const std::uint64_t later =
      ByteReader(block.substr(kTimeAt)).u64() - static_cast<std::uint64_t>(micros(commit));
  put_varint(out, later << 1U ^ (later >> 63U != 0 ? UINT64_MAX : 0));
  put_varint(out, ByteReader(block.substr(kTokensAt)).u32());
}

// Adds the head as it stands in the block, and gives the size of what follows it there.
std::uint64_t read_head(ByteReader& in, Time commit, std::string& block) {
  const std::uint64_t size = in.varint();
  if (size < kHeadBytes) in.fail();
  put_u32(block, static_cast<std::uint32_t>(size));
  block.append(in.take(kKindBytes));
  block.append(in.take(16));
  const std::uint64_t later = in.varint();
  put_u64(block, (later >> 1U ^ (0 - (later & 1U))) + static_cast<std::uint64_t>(micros(commit)));
  put_u32(block, static_cast<std::uint32_t>(in.varint()));
  return in.ok() ? size - kHeadBytes : 0;
}

// Passes the heads of the messages, and gives the size of what their blocks hold behind them.
std::uint64_t pass_heads(ByteReader& in, std::uint64_t count) {
  std::uint64_t size = 0;
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const std::uint64_t block = in.varint();
    if (block < kHeadBytes || block > kMaxTextBytes) in.fail();
    in.take(kKindBytes + 16);
    in.varint();
    in.varint();
    size += block - kHeadBytes;
  }
  return size;
}

// Up to the tool calls. The texts must be unpacked: `in` fails if they are not.
void pass_messages(ByteReader& in) {
  const std::uint64_t count = read_header(in).messages;
  const std::uint64_t size = pass_heads(in, count);
  if (in.varint() != 0) in.fail();
  in.take(size);
}

std::string plain_texts(const AppendTurn& append) {
  std::string out;
  std::size_t bytes = 64;
  for (const Message& message : append.turn.messages()) bytes += message.block().size();
  out.reserve(bytes + append.tool_calls.size() * 64);
  for (const Message& message : append.turn.messages()) out.append(message.block().substr(kHeadBytes));
  put_varint(out, append.tool_calls.size());
  if (!append.tool_calls.empty()) {
    const ToolParts parts(append.turn);
    for (const ToolCallRecord& call : append.tool_calls) put_tool_call(out, call, parts);
  }
  if (append.state) {
    put_varint(out, append.state->size());
    for (const auto& [name, value] : *append.state) {
      put_text(out, name);
      put_text(out, value.text());
    }
  }
  return out;
}

}  // namespace

std::string encode_texts(const AppendTurn& append) {
  const std::string texts = plain_texts(append);
  std::string out;
  put_varint(out, texts.size());
  if (append_packed(out, texts)) return out;
  out.clear();
  put_varint(out, 0);
  return out.append(texts);
}

std::string encode_turn(const TurnHeader& header, const AppendTurn& append, std::string_view texts) {
  std::string out;
  put_varint(out, number(header.revision));
  put_varint(out, header.first_index);
  put_varint(out, header.state_turn);
  const std::array<std::uint8_t, 16> id = append.turn.id().uuid().bytes();
  out.append(reinterpret_cast<const char*>(id.data()), id.size());
  put_u64(out, static_cast<std::uint64_t>(micros(header.time)));
  put_varint(out, append.turn.messages().size());
  for (const Message& message : append.turn.messages()) put_head(out, message.block(), header.time);
  return out.append(texts);
}

Result<std::string_view> unpack_turn(std::string_view content, std::string& scratch) {
  ByteReader in(content);
  const std::uint64_t count = read_header(in).messages;
  pass_heads(in, count);
  const std::size_t heads = content.size() - in.rest().size();
  const std::uint64_t size = in.varint();
  if (!in.ok() || size > kMaxTextBytes) return malformed("header");
  if (size == 0) return content;
  scratch.resize(heads + 1 + size);
  content.copy(scratch.data(), heads);
  scratch[heads] = '\0';
  TERTULIA_TRY(unpack(in.rest(), scratch.data() + heads + 1, size));
  return std::string_view(scratch);
}

Result<TurnHeader> decode_turn_header(std::string_view content) {
  ByteReader in(content);
  const TurnHeader header = read_header(in);
  if (!in.ok()) return malformed("header");
  return header;
}

Result<Turn> decode_turn(std::string_view content) {
  ByteReader heads(content);
  const TurnHeader header = read_header(heads);
  if (!heads.ok() || header.messages > content.size()) return malformed("header");
  ByteReader texts = heads;
  pass_heads(texts, header.messages);
  if (texts.varint() != 0 || !texts.ok()) return malformed("header");
  std::vector<Message> messages;
  messages.reserve(header.messages);
  std::string block;
  for (std::uint64_t i = 0; i < header.messages; ++i) {
    block.clear();
    const std::uint64_t rest = read_head(heads, header.time, block);
    block.append(texts.take(rest));
    if (!heads.ok() || !texts.ok()) return malformed("messages");
    TERTULIA_TRY_AS(Message message, Message::from_block(block));
    messages.push_back(std::move(message));
  }
  return Turn::from_messages(header.turn, std::move(messages));
}

Result<std::vector<ToolCallRecord>> decode_tool_calls(std::string_view content, const Turn& turn) {
  ByteReader in(content);
  pass_messages(in);
  const std::uint64_t count = in.varint();
  if (!in.ok() || count > content.size()) return malformed("tool calls");
  std::vector<ToolCallRecord> calls;
  if (count == 0) return calls;
  const ToolParts parts(turn);
  for (std::uint64_t i = 0; i < count; ++i) {
    TERTULIA_TRY_AS(ToolCallRecord call, read_tool_call(in, parts));
    calls.push_back(std::move(call));
  }
  return calls;
}

Result<std::optional<MiddlewareState>> decode_state(std::string_view content) {
  TERTULIA_TRY_AS(Turn turn, decode_turn(content));
  ByteReader in(content);
  pass_messages(in);
  const std::uint64_t count = in.varint();
  const ToolParts parts(turn);
  for (std::uint64_t i = 0; i < count; ++i) TERTULIA_TRY(read_tool_call(in, parts));
  if (in.at_end()) return std::optional<MiddlewareState>();
  MiddlewareState state;
  const std::uint64_t members = in.varint();
  for (std::uint64_t i = 0; i < members && in.ok(); ++i) {
    std::string name(in.text());
    TERTULIA_TRY_AS(JsonText value, json_from(in.text()));
    state.emplace(std::move(name), std::move(value));
  }
  if (!in.at_end()) return malformed("state");
  return std::optional(std::move(state));
}

}  // namespace tertulia
