// Procedures: how things are done, for one agent or for all of the tenant.
#include <algorithm>
#include <array>
#include <utility>

#include "tertulia/memory/memory.h"

#include "api/routes.h"
#include "core/call.h"

namespace tertulia::server {
namespace {

Result<AgentId> agent_named(const std::string& name) {
  if (name.empty()) return AgentId();
  return AgentId::parse(name);
}

Result<AgentId> agent_in(const Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  const std::string name = query.text_or("agent", {});
  TERTULIA_TRY(query.finish());
  return agent_named(name);
}

// What is shown to models beside everybody's words is an operator's to write.
MemoryWriter operator_of(const Call& call) {
  return {.kind = WriterKind::kOperator, .name = call.principal.user.text()};
}

void write_procedure(JsonWriter& out, const Procedure& procedure) {
  out.begin_object().key("name").string(procedure.name).key("description").string(procedure.description);
  if (!procedure.trigger.empty()) out.key("trigger").string(procedure.trigger);
  out.key("steps").begin_array();
  for (const ProcedureStep& step : procedure.steps) {
    out.begin_object().key("instruction").string(step.instruction);
    if (!step.tool.empty()) out.key("tool").string(step.tool);
    out.end_object();
  }
  out.end_array().key("approved").boolean(procedure.approved).key("learned").boolean(procedure.learned);
  out.key("writer").string(procedure.writer);
  out.key("changed_at").string(iso_time(procedure.changed_at)).end_object();
}

// As it is stored.
Result<Reply> procedure_reply(const Call& call, const AgentId& agent, const std::string& name, int status) {
  TERTULIA_TRY_AS(const std::vector<Procedure> all,
                  call.services.memory->procedural().list(call.principal.tenant, agent));
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Procedure& one) { return one.name == name; });
  if (found == all.end()) {
    return Error(ErrorCode::kNotFound, "there is no procedure '" + name.substr(0, 128) + "'")
        .with("param", "procedure");
  }
  std::string body;
  JsonWriter out(body);
  write_procedure(out, *found);
  return Reply::json(std::move(body), status);
}

Result<Reply> list_procedures(Call& call) {
  TERTULIA_TRY_AS(const AgentId agent, agent_in(call));
  TERTULIA_TRY_AS(const std::vector<Procedure> all,
                  call.services.memory->procedural().list(call.principal.tenant, agent));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("procedures").begin_array();
  for (const Procedure& procedure : all) write_procedure(out, procedure);
  out.end_array().end_object();
  return Reply::json(std::move(body));
}

Result<Reply> add_procedure(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const Json form, call.json());
  JsonReader in(form, "procedure");
  Procedure procedure{.name = in.required_string("name"), .description = in.required_string("description")};
  procedure.trigger = in.string_or("trigger", {});
  for (const Json& step : in.array_or_empty("steps")) {
    JsonReader fields(step, "procedure: steps");
    procedure.steps.push_back(
        {.instruction = fields.required_string("instruction"), .tool = fields.string_or("tool", {})});
    TERTULIA_TRY(fields.finish_strict());
  }
  procedure.approved = in.bool_or("approved", true);
  const std::string agent_name = in.string_or("agent", {});
  TERTULIA_TRY(in.finish_strict());
  TERTULIA_TRY_AS(const AgentId agent, agent_named(agent_name));
  const std::string name = procedure.name;
  Result<void> put = call.services.memory->procedural().put(call.principal.tenant, agent,
                                                            std::move(procedure), operator_of(call));
  if (!put) {
    // A pattern that is none is the client's mistake here, not that of the configuration.
    if (put.error().code() != ErrorCode::kBadConfig) return std::move(put).error();
    return Error(ErrorCode::kOutOfRange, put.error().message()).with("param", "trigger");
  }
  return procedure_reply(call, agent, name, 201);
}

Result<Reply> approve_procedure(Call& call) {
  TERTULIA_TRY_AS(const AgentId agent, agent_in(call));
  const std::string& name = call.parameter("procedure");
  TERTULIA_TRY(
      call.services.memory->procedural().approve(call.principal.tenant, agent, name, operator_of(call)));
  return procedure_reply(call, agent, name, 200);
}

Result<Reply> delete_procedure(Call& call) {
  TERTULIA_TRY_AS(const AgentId agent, agent_in(call));
  TERTULIA_TRY(
      call.services.memory->procedural().forget(call.principal.tenant, agent, call.parameter("procedure")));
  return Reply::json(R"({"removed":1})");
}

constexpr std::array kProceduresRoutes{
    on_pool(Method::kGet, "/api/v1/memory/procedures", Access::kRead, &list_procedures),
    on_pool(Method::kPost, "/api/v1/memory/procedures", Access::kAdmin, &add_procedure, BodyKind::kJson),
    on_pool(Method::kPost, "/api/v1/memory/procedures/{procedure}/approve", Access::kAdmin,
            &approve_procedure),
    on_pool(Method::kDelete, "/api/v1/memory/procedures/{procedure}", Access::kAdmin, &delete_procedure),
};

}  // namespace

std::span<const Route> procedure_routes() { return kProceduresRoutes; }

}  // namespace tertulia::server
