#include "openai/response_plan.h"

#include <utility>

#include "openai/fields.h"

namespace tertulia::server {
namespace {

void write_usage(JsonWriter& out, const Usage& usage) {
  out.begin_object().key("input_tokens").number(usage.input_tokens);
  out.key("input_tokens_details").begin_object();
  out.key("cached_tokens").number(usage.cached_tokens).key("cache_write_tokens").number(0).end_object();
  out.key("output_tokens").number(usage.output_tokens);
  out.key("output_tokens_details").begin_object();
  out.key("reasoning_tokens").number(usage.reasoning_tokens).end_object();
  out.key("total_tokens").number(usage.input_tokens + usage.output_tokens).end_object();
}

void write_state(JsonWriter& out, const ResponseState& state) {
  out.key("status").string(state.status).key("completed_at");
  if (state.completed_at) {
    out.number(*state.completed_at);
  } else {
    out.null();
  }
  out.key("error").raw(state.error.empty() ? "null" : state.error).key("incomplete_details");
  if (state.incomplete.empty()) {
    out.null();
  } else {
    out.begin_object().key("reason").string(state.incomplete).end_object();
  }
  out.key("output").begin_array();
  for (const std::string& item : state.output) out.raw(item);
  out.end_array().key("usage");
  if (state.usage) {
    write_usage(out, *state.usage);
  } else {
    out.null();
  }
}

}  // namespace

std::string usage_form(const Usage& usage) {
  std::string form;
  JsonWriter out(form);
  write_usage(out, usage);
  return form;
}

std::string response_body(const ResponsePlan& plan, const ResponseState& state) {
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("id").string(plan.ids.response()).key("object").string("response");
  out.key("created_at").number(plan.created_at);
  write_state(out, state);
  for (const auto& [name, value] : plan.echo) out.key(name).value(value);
  out.end_object();
  return body;
}

std::string plan_form(const ResponsePlan& plan) {
  std::string form;
  JsonWriter out(form);
  out.begin_object().key("model").string(plan.model).key("branch").string(plan.branch.text());
  out.key("own_session").boolean(plan.own_session).key("created_at").number(plan.created_at);
  out.key("echo").value(plan.echo).key("input").begin_array();
  for (const std::string& item : plan.input) out.raw(item);
  out.end_array().end_object();
  return form;
}

Result<ResponsePlan> read_plan_form(const Services& services, const SessionKey& key, const TurnId& turn,
                                    std::string_view form) {
  TERTULIA_TRY_AS(const Json value, parse_json(form));
  TERTULIA_TRY_AS(const JsonObject* object, as_object(value, "response"));
  const Fields in(*object, "response.");
  ResponsePlan plan;
  plan.ids = {.turn = turn, .session = key.session.text()};
  plan.key = key;
  TERTULIA_TRY_AS(plan.model, in.text("model"));
  TERTULIA_TRY_AS(const std::string branch, in.text("branch"));
  TERTULIA_TRY_AS(plan.branch, BranchId::parse(branch));
  TERTULIA_TRY_AS(plan.own_session, in.flag_or("own_session", false));
  TERTULIA_TRY_AS(const std::optional<std::int64_t> created, in.integer("created_at", 0, INT64_MAX));
  plan.created_at = created.value_or(0);
  TERTULIA_TRY_AS(const JsonObject* echo, in.object("echo"));
  TERTULIA_TRY_AS(const JsonArray* input, in.array("input"));
  if (echo == nullptr || input == nullptr)
    return Error(ErrorCode::kDamaged, "a stored response is not whole");
  plan.echo = *echo;
  for (const Json& item : *input) plan.input.push_back(to_text(item));
  TERTULIA_TRY_AS(plan.tools, read_client_tools(echo->find("tools"), echo->find("tool_choice")));
  TERTULIA_TRY_AS(const AgentDefinitionPtr agent, find_model(services, plan.model));
  TERTULIA_TRY_AS(plan.agent, with_client_tools(agent, plan.tools));
  return plan;
}

}  // namespace tertulia::server
