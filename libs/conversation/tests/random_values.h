// Random values of every form, for tests that hold for all of them. The same seed gives the same values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tertulia/conversation/json_forms.h"

namespace tertulia {

class RandomValues {
 public:
  explicit RandomValues(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  bool coin() { return below(2) == 0; }
  // Small, large and everything between, equally often.
  std::uint64_t count() { return engine_() >> below(64); }
  std::uint32_t small_count() { return static_cast<std::uint32_t>(engine_()) >> below(32); }
  double fraction() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }
  Time time() { return Time(Duration(static_cast<std::int64_t>(count()) * (coin() ? 1 : -1))); }
  Duration duration() { return Duration(static_cast<std::int64_t>(engine_() >> (1 + below(62)))); }

  template <class E>
  E one_of(std::size_t count) {
    return static_cast<E>(below(count));
  }

  template <class Id>
  Id name() {
    static constexpr std::string_view kFirst = "abcXYZ019_~-";
    static constexpr std::string_view kRest = "abcXYZ019_~-.";
    std::string text(1, kFirst[below(kFirst.size())]);
    for (std::uint64_t left = below(20); left > 0; --left) text += kRest[below(kRest.size())];
    return Id::parse(text).value();
  }
  template <class Id>
  Id key() {
    std::array<std::uint8_t, 16> bytes;
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(engine_());
    return Id(Uuid(bytes));
  }

  // What breaks writers: quotes, controls, NUL, several planes of Unicode.
  std::string text() {
    static constexpr std::string_view kPieces[] = {
        "a", "word ", "\"",           "\\",   "\n",         "\t",        "\x01", "\x7f",
        "/", "é",     "\xe2\x80\xa8", "日本", "\U0001F600", "</script>", "{}",   "null"};
    std::string text;
    for (std::uint64_t left = below(12); left > 0; --left) text += kPieces[below(std::size(kPieces))];
    if (below(8) == 0) text += '\0';
    return text;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> texts;
    for (std::uint64_t left = below(4); left > 0; --left) texts.push_back(text());
    return texts;
  }

  Json json(int depth = 3) {
    switch (below(depth > 0 ? 8 : 6)) {
      case 0:
        return {};
      case 1:
        return coin();
      case 2:
        return static_cast<std::int64_t>(engine_() >> below(64));
      case 3:
        return std::uint64_t{engine_() | std::uint64_t{1} << 63U};
      case 4:
        return (fraction() - 0.5) * 1e10;
      case 5:
        return text();
      case 6: {
        JsonArray array;
        for (std::uint64_t left = below(4); left > 0; --left) array.push_back(json(depth - 1));
        return array;
      }
      default:
        return object(depth - 1);
    }
  }
  JsonObject object(int depth = 2) {
    JsonObject object;
    for (std::uint64_t left = below(4); left > 0; --left) object.set("k" + text(), json(depth));
    return object;
  }
  JsonText json_text() { return JsonText::of(json()); }
  // What a newer minor version might have added.
  JsonText extra() {
    if (coin()) return {};
    JsonObject fields;
    if (coin()) fields.append("v", "1." + std::to_string(1 + below(99)));
    for (std::uint64_t left = 1 + below(2); left > 0; --left) fields.set("x_" + text(), json());
    return JsonText::of_fields(fields);
  }
  MiddlewareState state() {
    MiddlewareState state;
    for (std::uint64_t left = below(3); left > 0; --left) state[text()] = json_text();
    return state;
  }

  Message plain_message(Role role) {
    const std::string words = text(), author = text(), source = text(), source_id = text();
    const std::string added = extra().text();
    MessageDraft draft = head(role);
    draft.author = author;
    draft.source = source;
    draft.source_id = source_id;
    draft.extra = added;
    draft.parts = {Part::text_of(words)};
    if (coin()) draft.parts.push_back(Part::reasoning(author, source));
    if (below(4) == 0) draft.parts.push_back({.kind = PartKind::kImage, .name = "image/png", .text = words});
    if (below(4) == 0) draft.parts.push_back({.kind = PartKind::kFile, .call_id = source_id, .text = words});
    if (below(8) == 0) draft.parts.clear();
    for (Part& part : draft.parts) {
      if (below(4) == 0) part.extra = R"({"x_new":[1,{"y":null}]})";
    }
    return Message::make(draft).value();
  }
  // Calls, and a result for each.
  std::vector<Message> tool_group() {
    static constexpr std::string_view kArguments[] = {
        R"({"a":1})", R"({ "a" : 1.50 })",         "[]",  "null",
        R"("text")",  R"({"b":"é","u":"\u00e9"})", "1e3", "-0"};
    MessageDraft call = head(Role::kAssistant);
    std::vector<Message> group(1);
    for (std::uint64_t left = 1 + below(3); left > 0; --left) {
      const std::string_view id = coin() ? "call_1" : "call_2";
      call.parts.push_back(Part::tool_call(id, "tool", kArguments[below(std::size(kArguments))]));
      MessageDraft answer = head(Role::kTool);
      const std::string output = text();
      answer.parts = {Part::tool_result(id, "tool", output, one_of<ToolOutcome>(5))};
      group.push_back(Message::make(answer).value());
    }
    group.front() = Message::make(call).value();
    return group;
  }
  std::vector<Message> turn_messages() {
    std::vector<Message> messages = {plain_message(Role::kUser)};
    for (std::uint64_t rounds = below(3); rounds > 0; --rounds) {
      for (Message& message : tool_group()) messages.push_back(std::move(message));
    }
    messages.push_back(plain_message(Role::kAssistant));
    return messages;
  }

  // One of each form.
  void make(Message& value) { value = coin() ? plain_message(one_of<Role>(5)) : tool_group()[below(2)]; }
  void make(Transcript& value) {
    std::uint64_t revision = below(3);
    for (std::uint64_t turns = below(6); turns > 0; --turns) {
      value.append(Turn::from_messages(TurnId(), turn_messages()).value(), Revision{revision});
      revision += 1 + (count() >> 8U);
    }
  }
  void make(BranchInfo& value) {
    value = {.id = name<BranchId>(), .origin = origin(), .message_count = count(), .created_at = time()};
  }
  void make(Branch& value) {
    value = {.id = name<BranchId>(),
             .session = name<SessionId>(),
             .state = state(),
             .forked_from = origin(),
             .label = text(),
             .description = text(),
             .tags = texts(),
             .created_at = time(),
             .last_activity = time(),
             .extra = extra()};
    make(value.transcript);
  }
  void make(ConversationSnapshot& value) {
    value = {.handle = text(), .extra = extra()};
    make(value.transcript);
  }
  void make(ThreadBinding& value) {
    value = {.participant = name<ParticipantId>(),
             .branch = name<BranchId>(),
             .service_thread = text(),
             .applied = count(),
             .extra = extra()};
  }
  void make(ConversationPolicy& value) {
    value = {.retention = one_of<Retention>(2),
             .context = one_of<ContextMode>(3),
             .show_internal = coin(),
             .extra = extra()};
    if (coin()) value.max_turns = small_count();
    if (coin()) value.max_tokens = Tokens{count()};
    while (coin()) value.roles.push_back(one_of<Role>(5));
  }
  void make(Session& value) {
    value = {.id = name<SessionId>(),
             .tenant = coin() ? name<TenantId>() : TenantId(),
             .owner = name<OwnerId>(),
             .created_at = time(),
             .last_activity = time(),
             .metadata = object(),
             .state = state(),
             .revision = Revision{count()},
             .extra = extra()};
    if (coin()) {
      value.status = SessionStatus::kClosed;
      value.end_reason = one_of<EndReason>(5);
    }
    while (coin()) {
      Participant participant{.id = name<ParticipantId>(), .description = text(), .extra = extra()};
      if (coin()) participant.agent = name<AgentId>();
      if (coin()) make(participant.policy);
      value.participants.push_back(participant);
      make(value.bindings.emplace_back());
      value.attachments.push_back({.id = key<AssetId>(),
                                   .name = text(),
                                   .media_type = text(),
                                   .bytes = count(),
                                   .added_at = time(),
                                   .data = json_text(),
                                   .extra = extra()});
    }
  }
  void make(Episode& value) {
    const std::uint64_t first = count() / 2;
    value = {.id = key<EpisodeId>(),
             .session = name<SessionId>(),
             .branch = name<BranchId>(),
             .span = {.first = first, .last = first + count() / 2},
             .opened_at = time(),
             .closed_at = time(),
             .end_reason = one_of<EndReason>(5),
             .summary = text(),
             .key_facts = texts(),
             .message_count = count(),
             .turn_count = count(),
             .tool_call_count = count(),
             .input_tokens = Tokens{count()},
             .output_tokens = Tokens{count()},
             .archived = coin(),
             .extra = extra()};
    while (coin()) value.embedding.values.push_back(static_cast<float>(fraction() - 0.5));
    if (!value.embedding.empty()) value.embedding.embedder = text();
  }
  void make(ToolCallRecord& value) {
    value = {.id = key<ToolCallId>(),
             .session = name<SessionId>(),
             .branch = name<BranchId>(),
             .turn = key<TurnId>(),
             .number = small_count(),
             .call_id = text(),
             .tool = text(),
             .input = json_text(),
             .output = text(),
             .error = text(),
             .called_at = time(),
             .duration = duration(),
             .tool_class = one_of<ToolClass>(3),
             .approval = one_of<Approval>(5),
             .outcome = one_of<ToolOutcome>(5),
             .extra = extra()};
  }
  void make(JournalEntry& value) {
    value = {.number = count(), .time = time(), .turn = key<TurnId>(), .extra = extra()};
    switch (below(7)) {
      case 0:
        value.step = StartNote{
            .input = {plain_message(Role::kUser)}, .idempotency_key = text(), .revision = Revision{count()}};
        break;
      case 1:
        value.step =
            InputNote{.message = plain_message(Role::kUser), .idempotency_key = text(), .body_hash = text()};
        break;
      case 2:
        value.step = ResponseNote{
            .message = tool_group()[0], .input_tokens = small_count(), .output_tokens = small_count()};
        break;
      case 3:
        value.step = IntentNote{
            .call = small_count(), .tool_class = one_of<ToolClass>(3), .approval = one_of<Approval>(5)};
        break;
      case 4:
        value.step =
            ResultNote{.call = small_count(), .message = tool_group()[1], .end_conversation = coin()};
        break;
      case 5:
        value.step = AbandonNote{text()};
        break;
      default:
        value.step = CommitNote{Revision{count()}};
        break;
    }
  }
  void make(TurnJournal& value) {
    value = {.session = name<SessionId>(), .branch = name<BranchId>(), .extra = extra()};
    while (coin()) make(value.entries.emplace_back());
  }
  void make(Receipt& value) {
    value = {.session = name<SessionId>(),
             .branch = name<BranchId>(),
             .turn = key<TurnId>(),
             .iteration = small_count(),
             .revision = Revision{count()},
             .made_at = time(),
             .model = text(),
             .total = Tokens{count()},
             .budget = Tokens{count()},
             .output_reserve = Tokens{count()},
             .prompt_hash = text(),
             .shared_prefix = fraction(),
             .tokenizer = text(),
             .exact = coin(),
             .extra = extra()};
    while (coin()) {
      value.items.push_back({.tier = one_of<Tier>(7),
                             .id = text(),
                             .tokens = Tokens{count()},
                             .fate = one_of<Fate>(3),
                             .reason = one_of<FateReason>(11),
                             .score = coin() ? fraction() : 0,
                             .index = count(),
                             .more = count(),
                             .text = text()});
    }
  }
  void make(AgentSpec& value) {
    value = {.id = name<AgentId>(),
             .name = text(),
             .persona = text(),
             .system_prompt = text(),
             .model = "m" + text(),
             .memory = {.output_reserve = Tokens{below(100'000)},
                        .pruning = one_of<Pruning>(5),
                        .context_placement = one_of<ContextPlacement>(2),
                        .episodic_enabled = coin(),
                        .semantic_min_score = fraction(),
                        .semantic_learning = coin(),
                        .procedural_learning = coin(),
                        .extra = extra()},
             .limits = {.max_tool_calls = static_cast<std::uint32_t>(below(1'000'000)),
                        .tool_timeout = Duration(1 + below(1'000'000'000)),
                        .extra = extra()},
             .on_return = one_of<OnReturn>(3),
             .extra = extra()};
    if (coin()) value.tools = {"calculator", "t" + text()};
  }
  void make(Event& value) {
    value = {.turn = key<TurnId>(),
             .number = count(),
             .time = time(),
             .kind = one_of<EventKind>(30),
             .internal = coin(),
             .index = count(),
             .text = text(),
             .name = text(),
             .call_id = text(),
             .data = coin() ? json_text() : JsonText(),
             .extra = extra()};
  }

 private:
  MessageDraft head(Role role) {
    return {.id = key<MessageId>(),
            .role = role,
            .time = time(),
            .origin = one_of<Origin>(6),
            .tokens = Tokens{small_count()},
            .counted = one_of<Counted>(5),
            .interrupted = coin(),
            .internal = coin()};
  }
  std::optional<ForkOrigin> origin() {
    if (coin()) return std::nullopt;
    return ForkOrigin{.parent = name<BranchId>(), .at_index = count()};
  }

  std::mt19937_64 engine_;
};

}  // namespace tertulia
