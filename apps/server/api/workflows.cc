// Workflows: which there are, and what they look like.
#include <array>
#include <utility>

#include "tertulia/workflow/drawing.h"

#include "api/routes.h"
#include "core/call.h"
#include "host/workflow_desk.h"
#include "host/workflow_forms.h"

namespace tertulia::server {
namespace {

void write_workflow(JsonWriter& out, const std::string& name, const Result<Workflow>& workflow,
                    bool with_graph) {
  out.begin_object().key("id").string(name);
  out.key("name").string(workflow ? workflow->name() : name).key("participants").begin_array();
  if (workflow) {
    for (const Node& node : workflow->graph().nodes) {
      if (node.speaker) out.string(node.id);
    }
  }
  out.end_array();
  if (workflow && !workflow->warnings().empty()) {
    out.key("warnings").begin_array();
    for (const std::string& warning : workflow->warnings()) out.string(warning);
    out.end_array();
  }
  if (!workflow) {
    out.key("error").begin_object().key("code").string(name_of(workflow.error().code()));
    out.key("message").string(workflow.error().message()).end_object();
  }
  if (workflow && with_graph) {
    out.key("graph");
    write_graph(out, *workflow, false);
  }
  out.end_object();
}

Result<Reply> list_workflows(Call& call) {
  TERTULIA_TRY(call.no_query());
  const WorkflowDesk& desk = *call.services.desks.workflows;
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("workflows").begin_array();
  for (const std::string& name : desk.names()) write_workflow(out, name, desk.find(name), false);
  out.end_array().end_object();
  return Reply::json(std::move(body));
}

Result<Reply> get_workflow(Call& call) {
  TERTULIA_TRY(call.no_query());
  const std::string& name = call.parameter("workflow");
  TERTULIA_TRY_AS(const Workflow workflow, call.services.desks.workflows->find(name));
  std::string body;
  JsonWriter out(body);
  write_workflow(out, name, workflow, true);
  return Reply::json(std::move(body));
}

Reply text_reply(std::string_view type, std::string text) {
  return {.content_type = type, .body = std::move(text)};
}

Result<Reply> draw_workflow(Call& call) {
  WorkflowDesk& desk = *call.services.desks.workflows;
  TERTULIA_TRY_AS(const Workflow workflow, desk.find(call.parameter("workflow")));
  TERTULIA_TRY_AS(Query query, call.query());
  const std::string format = query.text_or("format", "json");
  DrawingOptions options;
  TERTULIA_TRY_AS(options.show_internal, query.flag("internal"));
  const std::string run = query.text_or("run", {});
  TERTULIA_TRY(query.finish());
  if (!run.empty()) {
    TERTULIA_TRY_AS(const auto tracked, desk.watch(call.principal.tenant, call.principal.user, run));
    options.marks = marks_of(tracked->events());
  }
  if (format == "mermaid") return text_reply("text/plain; charset=utf-8", to_mermaid(workflow, options));
  if (format == "dot") return text_reply("text/plain; charset=utf-8", to_dot(workflow, options));
  if (format == "svg") {
    return text_reply("image/svg+xml", to_svg(workflow, options))
        .with("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox");
  }
  if (format != "json") {
    return Error(ErrorCode::kOutOfRange, "a graph is json, mermaid, dot or svg").with("param", "format");
  }
  std::string body;
  JsonWriter out(body);
  write_graph(out, workflow, options.show_internal);
  return Reply::json(std::move(body));
}

constexpr std::array kWorkflowsRoutes{
    on_pool(Method::kGet, "/api/v1/workflows", Access::kRead, &list_workflows),
    on_pool(Method::kGet, "/api/v1/workflows/{workflow}", Access::kRead, &get_workflow),
    on_pool(Method::kGet, "/api/v1/workflows/{workflow}/graph", Access::kRead, &draw_workflow),
};

}  // namespace

std::span<const Route> workflow_routes() { return kWorkflowsRoutes; }

}  // namespace tertulia::server
