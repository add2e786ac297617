#include "workflow_file_keys.h"

#include <utility>

#include "tertulia/base/nearest.h"

#include "text_condition.h"

namespace tertulia {
namespace {

Error not_a_text(std::string_view key) {
  return Error(ErrorCode::kBadConfig, std::string(key) + " holds something that is no text");
}

// One name, or a list of them.
std::vector<std::string> names_in(JsonReader& in, std::string_view key, bool& several) {
  const Json* value = in.required(key);
  std::vector<std::string> names;
  several = value != nullptr && value->as_array() != nullptr;
  if (value == nullptr) return names;
  if (value->as_string() != nullptr) return {*value->as_string()};
  if (!several) {
    in.fail(not_a_text(key));
    return names;
  }
  for (const Json& one : *value->as_array()) {
    if (one.as_string() == nullptr) {
      in.fail(not_a_text(key));
      return names;
    }
    names.push_back(*one.as_string());
  }
  return names;
}

Result<void> add_switch(JsonReader& in, const std::string& from, WorkflowBuilder& builder) {
  std::vector<EdgeCase> cases;
  for (const Json& form : in.array_or_empty("cases")) {
    JsonReader one(form, "workflow.edges.cases");
    const Json* when = one.required("when");
    const std::string to = one.required_string("to");
    TERTULIA_TRY(one.finish_strict());
    TERTULIA_TRY_AS(const TextCondition condition, read_condition(*when, "workflow.edges.cases.when"));
    cases.push_back({condition.label, edge_condition(condition), to});
  }
  std::string otherwise = in.required_string("otherwise");
  TERTULIA_TRY(in.finish_strict());
  builder.switch_case(from, std::move(cases), std::move(otherwise));
  return {};
}

}  // namespace

std::vector<std::string> texts_in(JsonReader& in, std::string_view key) {
  std::vector<std::string> list;
  for (const Json& one : in.array_or_empty(key)) {
    if (one.as_string() == nullptr) {
      in.fail(not_a_text(key));
      return list;
    }
    list.push_back(*one.as_string());
  }
  return list;
}

Result<void> finish_table(JsonReader& in, const std::vector<std::string>& known) {
  Result<void> finished = in.finish_strict();
  if (finished || finished.error().code() != ErrorCode::kUnknownField) return finished;
  const ErrorFact::Value* key = finished.error().fact("param");
  const auto* name = key == nullptr ? nullptr : std::get_if<std::string>(key);
  const std::string nearest = name == nullptr ? "" : did_you_mean(*name, known);
  if (nearest.empty()) return finished;
  std::string sentence = finished.error().message();
  if (sentence.ends_with('.')) sentence.pop_back();
  return Error(ErrorCode::kUnknownField, sentence + nearest).with("param", *name);
}

std::uint64_t supersteps_in(JsonReader& in) {
  return static_cast<std::uint64_t>(
      in.int_or("max_supersteps", static_cast<std::int64_t>(kMaxSupersteps), 1, 1'000'000));
}

Result<std::string> one_of(const std::string& text, std::string_view what,
                           const std::vector<std::string>& known) {
  for (const std::string& one : known) {
    if (one == text) return text;
  }
  return Error(ErrorCode::kBadConfig,
               std::string(what) + " '" + text + "' is not known" + did_you_mean(text, known));
}

ContextMode context_named(const std::string& name) {
  if (name == "last_agent") return ContextMode::kLastAgent;
  return name == "delta" ? ContextMode::kDelta : ContextMode::kFull;
}

Result<AgentNodeOptions> read_participant(const Json& form, const std::string& where) {
  JsonReader in(form, where);
  AgentNodeOptions options;
  ConversationPolicy& policy = options.policy;
  const std::string context = in.string_or("context", "full");
  TERTULIA_TRY(one_of(context, where + ": the context", {"full", "last_agent", "delta"}));
  policy.context = context_named(context);
  const std::string retention = in.string_or("retention", "full_history");
  TERTULIA_TRY(one_of(retention, where + ": the retention", {"full_history", "latest_only"}));
  if (retention == "latest_only") policy.retention = Retention::kLatestOnly;
  if (const std::int64_t turns = in.int_or("max_turns", 0, 1, 1'000'000); turns > 0)
    policy.max_turns = static_cast<std::uint32_t>(turns);
  if (const std::int64_t tokens = in.int_or("max_tokens", 0, 1, INT32_MAX); tokens > 0)
    policy.max_tokens = Tokens{static_cast<std::uint64_t>(tokens)};
  for (const std::string& role : texts_in(in, "roles")) {
    TERTULIA_TRY(one_of(role, where + ": the role", {"user", "assistant", "tool", "system"}));
    policy.roles.push_back(role == "user"        ? Role::kUser
                           : role == "assistant" ? Role::kAssistant
                           : role == "tool"      ? Role::kTool
                                                 : Role::kSystem);
  }
  if (const std::string thread = in.string_or("thread", {}); !thread.empty()) {
    TERTULIA_TRY(one_of(thread, where + ": the thread", {"shared", "own", "fork", "service"}));
    for (const ThreadKind kind :
         {ThreadKind::kShared, ThreadKind::kOwn, ThreadKind::kFork, ThreadKind::kService}) {
      if (name_of(kind) == thread) options.thread = kind;
    }
  }
  options.review = in.bool_or("review", false);
  options.silent = in.bool_or("silent", false);
  options.on_failure.retries = static_cast<std::uint32_t>(in.int_or("retries", 0, 0, 1'000));
  options.on_failure.skip = in.bool_or("skip", false);
  options.run.extra_instructions = in.string_or("instructions", {});
  TERTULIA_TRY(finish_table(in, {"context", "retention", "max_turns", "max_tokens", "roles", "thread",
                                 "review", "silent", "retries", "skip", "instructions"}));
  return options;
}

Result<void> add_edge(const Json& form, WorkflowBuilder& builder) {
  JsonReader in(form, "workflow.edges");
  bool from_several = false;
  const std::vector<std::string> from = names_in(in, "from", from_several);
  TERTULIA_TRY(in.finish());
  if (in.optional("cases") != nullptr) {
    if (from_several) return Error(ErrorCode::kBadConfig, "workflow.edges: cases lead from one participant");
    return add_switch(in, from.front(), builder);
  }
  bool to_several = false;
  const std::vector<std::string> to = names_in(in, "to", to_several);
  const Json* when = in.optional("when");
  TERTULIA_TRY(in.finish_strict());
  if (from_several && to_several)
    return Error(ErrorCode::kBadConfig, "workflow.edges: an edge leads from several or to several, not both");
  if (when != nullptr && (from_several || to_several))
    return Error(ErrorCode::kBadConfig,
                 "workflow.edges: a condition leads from one participant to one other");
  if (from_several) {
    builder.fan_in(from, to.front());
  } else if (to_several) {
    builder.fan_out(from.front(), to);
  } else if (when != nullptr) {
    TERTULIA_TRY_AS(const TextCondition condition, read_condition(*when, "workflow.edges.when"));
    builder.edge(from.front(), to.front(), condition.label, edge_condition(condition));
  } else {
    builder.edge(from.front(), to.front());
  }
  return {};
}

}  // namespace tertulia
