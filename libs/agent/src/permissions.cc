#include "tertulia/agent/permissions.h"

#include <algorithm>
#include <array>

#include <sodium.h>

#include "tertulia/base/json.h"
#include "tertulia/base/nearest.h"

#include "question_record.h"

namespace tertulia {
namespace {

// The name of the rules in the session's state.
constexpr std::string_view kStateName = "permissions";

// The name of a record that asks.
constexpr std::string_view kAsked = "asked";

constexpr std::array<std::string_view, 3> kPermissionNames = {"ask", "allow", "deny"};
constexpr std::array<std::string_view, 3> kKindNames = {"permission", "client_tool", "elicitation"};
constexpr std::array<std::string_view, 6> kChoiceNames = {"once", "always",      "always_exactly",
                                                          "deny", "always_deny", "output"};

template <class Enum, std::size_t N>
Result<Enum> enum_named(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  const std::vector<std::string> known(names.begin(), names.end());
  return Error(ErrorCode::kOutOfRange,
               "there is no choice '" + std::string(name) + "'" + did_you_mean(name, known))
      .with("known", known);
}

const PermissionRule* rule_for(const std::vector<PermissionRule>& rules, std::string_view tool,
                               std::string_view hash) {
  const PermissionRule* general = nullptr;
  for (const PermissionRule& rule : rules) {
    if (rule.tool != tool) continue;
    if (rule.arguments.empty()) {
      general = &rule;
    } else if (rule.arguments == hash) {
      return &rule;
    }
  }
  return general;
}

}  // namespace

std::string_view name_of(Permission permission) {
  return kPermissionNames.at(static_cast<std::size_t>(permission));
}
std::string_view name_of(Question::Kind kind) { return kKindNames.at(static_cast<std::size_t>(kind)); }
std::string_view name_of(Answer::Choice choice) { return kChoiceNames.at(static_cast<std::size_t>(choice)); }
Result<Answer::Choice> answer_choice_named(std::string_view name) {
  return enum_named<Answer::Choice>(kChoiceNames, name);
}

std::string hash_of_arguments(std::string_view arguments) {
  const Result<Json> parsed = parse_json(arguments);
  const std::string canonical = parsed ? to_canonical_text(*parsed) : std::string(arguments);
  std::array<unsigned char, 32> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(canonical.data()),
                     canonical.size(), nullptr, 0);
  std::string text(2 * hash.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), hash.data(), hash.size());
  text.pop_back();
  return text;
}

Permission permission_for(const PermissionPolicy& policy, const std::vector<PermissionRule>& session_rules,
                          std::string_view tool, ToolClass tool_class, std::string_view arguments_hash) {
  if (const PermissionRule* rule = rule_for(session_rules, tool, arguments_hash)) return rule->permission;
  if (const PermissionRule* rule = rule_for(policy.rules, tool, arguments_hash)) return rule->permission;
  switch (tool_class) {
    case ToolClass::kReadOnly:
      return policy.read_only;
    case ToolClass::kIdempotent:
      return policy.idempotent;
    case ToolClass::kUnsafe:
      return policy.unsafe;
  }
  return Permission::kAsk;
}

Result<std::vector<PermissionRule>> session_rules(const MiddlewareState& state) {
  std::vector<PermissionRule> rules;
  const auto found = state.find(std::string(kStateName));
  if (found == state.end()) return rules;
  const Json value = found->second.value();
  JsonReader in(value, "permissions");
  for (const Json& form : in.array_or_empty("rules")) {
    JsonReader one(form, "permission rule");
    PermissionRule rule;
    rule.tool = one.required_string("tool");
    rule.arguments = one.string_or("arguments", {});
    const std::string permission = one.required_string("permission");
    TERTULIA_TRY(one.finish());
    TERTULIA_TRY_AS(rule.permission, enum_named<Permission>(kPermissionNames, permission));
    rules.push_back(std::move(rule));
  }
  TERTULIA_TRY(in.finish());
  return rules;
}

Result<void> add_session_rule(MiddlewareState& state, PermissionRule rule) {
  TERTULIA_TRY_AS(std::vector<PermissionRule> rules, session_rules(state));
  std::erase_if(rules, [&](const PermissionRule& other) {
    return other.tool == rule.tool && other.arguments == rule.arguments;
  });
  rules.push_back(std::move(rule));
  JsonArray forms;
  for (const PermissionRule& one : rules) {
    JsonObject form{{"tool", one.tool}, {"permission", std::string(name_of(one.permission))}};
    if (!one.arguments.empty()) form.append("arguments", one.arguments);
    forms.emplace_back(std::move(form));
  }
  state[std::string(kStateName)] = JsonText::of(JsonObject{{"v", 1}, {"rules", std::move(forms)}});
  return {};
}

std::string Question::id() const {
  return turn.text() + "/" + std::to_string(call) + (part.empty() ? "" : "/" + part);
}

StreamId question_stream(const BranchId& branch, const TurnId& turn, std::uint32_t call) {
  return {.kind = RecordKind::kQuestion, .branch = branch, .scope = turn.text() + "/" + std::to_string(call)};
}
StreamId question_stream(const Question& question) {
  return {.kind = RecordKind::kQuestion, .branch = question.branch, .scope = question.id()};
}

Event asked_event(const Question& question) {
  Event event;
  event.kind = EventKind::kPermissionAsked;
  event.index = question.call;
  event.name = question.tool;
  event.call_id = question.id();
  JsonObject data{{"kind", std::string(name_of(question.kind))}};
  if (question.kind == Question::Kind::kElicitation) {
    data.append("text", question.text);
    if (!question.schema.empty()) data.append("schema", question.schema.value());
  } else {
    data.append("class", std::string(name_of(question.tool_class)));
    data.append("arguments", question.arguments.value());
  }
  event.data = JsonText::of(data);
  return event;
}

Record asked_record(const Question& question, std::uint64_t number) {
  std::string payload;
  JsonWriter out(payload);
  out.begin_object()
      .key("turn")
      .string(question.turn.text())
      .key("call")
      .number(std::uint64_t{question.call})
      .key("kind")
      .string(name_of(question.kind))
      .key("tool")
      .string(question.tool)
      .key("class")
      .number(static_cast<int>(question.tool_class))
      .key("arguments")
      .raw(question.arguments.empty() ? "{}" : question.arguments.text())
      .key("arguments_hash")
      .string(question.arguments_hash)
      .key("expires_us")
      .number(std::int64_t{question.expires_at.time_since_epoch().count()});
  if (!question.part.empty()) {
    out.key("part").string(question.part).key("text").string(question.text);
    if (!question.schema.empty()) out.key("schema").raw(question.schema.text());
  }
  out.end_object();
  return {.stream = question_stream(question),
          .number = number,
          .time = question.asked_at,
          .key = question.id(),
          .name = std::string(kAsked),
          .payload = std::move(payload)};
}

Result<Question> question_of(const SessionKey& key, const Record& asked) {
  TERTULIA_TRY_AS(const Json form, parse_json(asked.payload));
  JsonReader in(form, "question");
  Question question;
  question.key = key;
  question.branch = asked.stream.branch;
  question.asked_at = asked.time;
  const std::string turn = in.required_string("turn");
  question.call = static_cast<std::uint32_t>(in.required_int("call", 0, UINT32_MAX));
  const std::string kind = in.required_string("kind");
  question.tool = in.required_string("tool");
  question.tool_class = static_cast<ToolClass>(in.required_int("class", 0, 2));
  if (const Json* arguments = in.required("arguments")) question.arguments = JsonText::of(*arguments);
  question.arguments_hash = in.required_string("arguments_hash");
  question.expires_at = Time(Duration(in.required_int("expires_us", INT64_MIN, INT64_MAX)));
  question.part = in.string_or("part", {});
  question.text = in.string_or("text", {});
  if (const Json* schema = in.optional("schema")) question.schema = JsonText::of(*schema);
  TERTULIA_TRY(in.finish());
  TERTULIA_TRY_AS(question.turn, TurnId::parse(turn));
  TERTULIA_TRY_AS(question.kind, enum_named<Question::Kind>(kKindNames, kind));
  return question;
}

Record answered_record(const Question& question, const Answer& answer, Time now, std::uint64_t number) {
  std::string payload;
  JsonWriter(payload)
      .begin_object()
      .key("choice")
      .string(name_of(answer.choice))
      .key("arguments_hash")
      .string(question.arguments_hash)
      .key("output")
      .string(answer.output)
      .key("failed")
      .boolean(answer.failed)
      .end_object();
  return {.stream = question_stream(question),
          .number = number,
          .time = now,
          .key = question.id(),
          .name = "answered",
          .payload = std::move(payload)};
}

Result<void> check_fits(const Question& question, const Answer& answer) {
  const bool wants_output = question.kind != Question::Kind::kPermission;
  const bool gives_output = answer.choice == Answer::Choice::kOutput;
  if (wants_output != gives_output && answer.choice != Answer::Choice::kDeny) {
    return Error(ErrorCode::kNoQuestion, wants_output
                                             ? "this question waits for what a tool gave, or for a refusal"
                                             : "this question is about a permission, not about an output");
  }
  if (question.kind == Question::Kind::kElicitation && gives_output) {
    TERTULIA_TRY_AS(const Json content, parse_json(answer.output));
    if (content.as_object() == nullptr) {
      return Error(ErrorCode::kWrongType, "what a server wants to know is given as a JSON object");
    }
  }
  return {};
}

Result<Answer> answer_of(const Record& answered, const Question& question) {
  TERTULIA_TRY_AS(const Json form, parse_json(answered.payload));
  JsonReader in(form, "answer");
  Answer answer;
  const std::string choice = in.required_string("choice");
  const std::string hash = in.required_string("arguments_hash");
  answer.output = in.string_or("output", {});
  answer.failed = in.bool_or("failed", false);
  TERTULIA_TRY(in.finish());
  TERTULIA_TRY_AS(answer.choice, answer_choice_named(choice));
  if (hash != question.arguments_hash) {
    return Error(ErrorCode::kNoQuestion, "the answer is to a call with other arguments");
  }
  TERTULIA_TRY(check_fits(question, answer));
  return answer;
}

QuestionState state_of(const SessionKey& key, std::span<const Record> records) {
  QuestionState state;
  for (const Record& record : records) {
    state.newest = record.number;
    if (record.name == kAsked) {
      if (Result<Question> asked = question_of(key, record)) {
        state = {.question = *std::move(asked), .newest = record.number};
      }
    } else if (state.is_open()) {
      if (Result<Answer> answer = answer_of(record, *state.question)) {
        state.answer = *std::move(answer);
      } else {
        ++state.misfits;
      }
    }
  }
  return state;
}

}  // namespace tertulia
