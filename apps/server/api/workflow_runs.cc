// Runs of workflows: begin, watch, answer, resume, fork, cancel.
#include <array>
#include <charconv>
#include <utility>

#include "tertulia/base/outside_name.h"
#include "tertulia/base/sha256.h"

#include "api/routes.h"
#include "api/workflow_stream.h"
#include "core/call.h"
#include "core/key_file.h"
#include "host/workflow_desk.h"
#include "host/workflow_forms.h"

namespace tertulia::server {
namespace {

using TrackedRunPtr = WorkflowDesk::TrackedRunPtr;

void answer_with(Result<TrackedRunPtr> run, bool stream, Done<Reply> done) {
  if (!run) return done(std::move(run).error());
  // A stream of this life only: what was told before is had from `events`.
  const std::uint64_t from = (*run)->first_number();
  if (stream) return stream_run(*std::move(run), from, std::move(done));
  finish_run(*run, std::move(done));
}

struct RunForm {
  WorkflowStart start;
  bool stream = false;
};

Result<RunForm> read_new_run(const Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const Json body, call.json());
  JsonReader in(body, "run");
  RunForm form;
  WorkflowStart& start = form.start;
  start.message = in.string_or("message", {});
  const std::string session = in.string_or("session", {});
  const std::string branch = in.string_or("branch", {});
  start.handle = in.string_or("handle", {});
  start.exact = in.bool_or("exact", false);
  start.show_internal = in.bool_or("internal", false);
  form.stream = in.bool_or("stream", false) || call.accepts_events();
  TERTULIA_TRY(in.finish_strict());
  start.tenant = call.principal.tenant;
  start.owner = call.principal.user;
  start.payer = call.principal.key;
  start.workflow = call.parameter("workflow");
  if (start.message.empty() && start.handle.empty()) {
    return Error(ErrorCode::kEmptyMessage, "run: 'message' is missing or empty").with("param", "message");
  }
  if (!start.handle.empty() && (!session.empty() || !branch.empty())) {
    return Error(ErrorCode::kUnknownField,
                 "run: a handle says session and branch already; give one or the other")
        .with("param", session.empty() ? "branch" : "session");
  }
  if (!session.empty()) {
    TERTULIA_TRY_AS(const SessionId id, from_outside<SessionId>(session));
    start.session = id.text();
  }
  if (!branch.empty()) {
    TERTULIA_TRY_AS(start.branch, BranchId::parse(branch));
  }
  if (const std::string_view key = call.request.header("Idempotency-Key"); !key.empty()) {
    // How the answer is told does not matter.
    JsonObject asked = *body.as_object();
    asked.erase("stream");
    start.key = sha256_hex(key);
    start.hash = sha256_hex(start.workflow + "\n" + to_canonical_text(asked));
  }
  return form;
}

void begin_a_run(const CallPtr& call, Done<Reply> done) {
  Result<RunForm> form = read_new_run(*call);
  if (!form) return done(std::move(form).error());
  answer_with(call->services.desks.workflows->begin(std::move(form->start)), form->stream, std::move(done));
}

// The run that the path names, of the workflow that it names.
Result<StoredRun> named_run(const Call& call) {
  WorkflowDesk& desk = *call.services.desks.workflows;
  const std::string& workflow = call.parameter("workflow");
  TERTULIA_TRY_AS(const Workflow found, desk.find(workflow));
  TERTULIA_TRY_AS(StoredRun run,
                  desk.show(call.principal.tenant, call.principal.user, call.parameter("run")));
  if (run.workflow == found.name()) return run;
  return Error(ErrorCode::kNoCheckpoint, "run " + run.run + " is none of '" + workflow + "'")
      .with("param", "run");
}

Result<Reply> runs_reply(Call& call, const std::optional<std::string>& graph) {
  WorkflowDesk& desk = *call.services.desks.workflows;
  TERTULIA_TRY_AS(Query query, call.query());
  std::optional<WorkflowStatus> status;
  if (const std::string* name = query.find("status")) {
    Result<WorkflowStatus> named = workflow_status_named(*name);
    if (!named) return std::move(named).error().with("param", "status");
    status = *named;
  }
  std::optional<SessionId> session;
  if (const std::string* name = query.find("session")) {
    TERTULIA_TRY_AS(session, from_outside<SessionId>(*name));
  }
  TERTULIA_TRY(query.finish());
  TERTULIA_TRY_AS(const std::vector<StoredRun> runs, desk.list(call.principal.tenant, call.principal.user));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("runs").begin_array();
  for (const StoredRun& run : runs) {
    if ((graph && run.workflow != *graph) || (status && run.status != *status)) continue;
    if (session && run.key.session != *session) continue;
    write_run(out, run, desk.name_of_graph(run.workflow),
              desk.is_live(call.principal.tenant, call.principal.user, run.run));
  }
  out.end_array().end_object();
  return Reply::json(std::move(body));
}

Result<Reply> list_runs(Call& call) {
  TERTULIA_TRY_AS(const Workflow found, call.services.desks.workflows->find(call.parameter("workflow")));
  return runs_reply(call, found.name());
}

Result<Reply> list_all_runs(Call& call) { return runs_reply(call, std::nullopt); }

Result<Reply> get_run(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const StoredRun run, named_run(call));
  std::string body;
  JsonWriter out(body);
  write_run(out, run, call.parameter("workflow"),
            call.services.desks.workflows->is_live(call.principal.tenant, call.principal.user, run.run));
  return Reply::json(std::move(body));
}

Result<Reply> list_checkpoints(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const StoredRun run, named_run(call));
  TERTULIA_TRY_AS(const std::vector<CheckpointInfo> checkpoints,
                  call.services.desks.workflows->checkpoints(run.key, run.run));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("checkpoints").begin_array();
  for (const CheckpointInfo& one : checkpoints) {
    out.begin_object().key("id").string(one.id);
    if (!one.parent.empty()) out.key("parent").string(one.parent);
    out.key("superstep").number(one.superstep).key("status").string(name_of(one.status));
    out.key("revision").number(number(one.revision)).key("time").string(iso_time(one.time)).end_object();
  }
  out.end_array().end_object();
  return Reply::json(std::move(body));
}

// The number behind "RUN.", or nothing.
std::optional<std::uint64_t> event_number(std::string_view id, const std::string& run) {
  if (!id.starts_with(run + ".")) return std::nullopt;
  id.remove_prefix(run.size() + 1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), value);
  if (error != std::errc() || end != id.data() + id.size() || value == UINT64_MAX) return std::nullopt;
  return value;
}

void watch_run(const CallPtr& call, Done<Reply> done) {
  const std::string& run = call->parameter("run");
  Result<Query> query = call->query();
  if (!query) return done(std::move(query).error());
  Result<std::optional<std::uint64_t>> after = query->number("after", 0, UINT64_MAX - 1);
  if (!after) return done(std::move(after).error());
  if (Result<void> asked = query->finish(); !asked) return done(std::move(asked).error());
  std::optional<std::uint64_t> seen = *after;
  if (const std::string_view last = call->request.header("Last-Event-ID"); !last.empty()) {
    seen = event_number(last, run);
    if (!seen) return done(Reply::refused(HttpProblem::kBadEventId, "Last-Event-ID is no event of this run"));
  }
  WorkflowDesk& desk = *call->services.desks.workflows;
  if (Result<Workflow> found = desk.find(call->parameter("workflow")); !found) {
    return done(std::move(found).error());
  }
  Result<TrackedRunPtr> tracked = desk.watch(call->principal.tenant, call->principal.user, run);
  if (!tracked) return done(std::move(tracked).error());
  stream_run(*std::move(tracked), seen ? *seen + 1 : 0, std::move(done));
}

void resume_stored_run(const CallPtr& call, Done<Reply> done) {
  Result<Json> form = call->json_or_empty();
  if (!form) return done(std::move(form).error());
  JsonReader in(*form, "resume");
  const bool stream = in.bool_or("stream", false) || call->accepts_events();
  if (Result<void> fine = in.finish_strict(); !fine) return done(std::move(fine).error());
  Result<StoredRun> run = named_run(*call);
  if (!run) return done(std::move(run).error());
  answer_with(
      call->services.desks.workflows->resume(call->principal.tenant, call->principal.user,
                                             call->parameter("workflow"), run->run, call->principal.key),
      stream, std::move(done));
}

void fork_run(const CallPtr& call, Done<Reply> done) {
  Result<Json> form = call->json();
  if (!form) return done(std::move(form).error());
  JsonReader in(*form, "fork");
  const std::string checkpoint = in.required_string("checkpoint");
  const std::string name = in.string_or("branch", {});
  const bool stream = in.bool_or("stream", false) || call->accepts_events();
  if (Result<void> fine = in.finish_strict(); !fine) return done(std::move(fine).error());
  std::optional<BranchId> branch;
  if (!name.empty()) {
    Result<BranchId> parsed = BranchId::parse(name);
    if (!parsed) return done(std::move(parsed).error());
    branch = *std::move(parsed);
  }
  Result<StoredRun> run = named_run(*call);
  if (!run) return done(std::move(run).error());
  if (!checkpoint.starts_with(run->run + "/")) {
    return done(
        Error(ErrorCode::kNoCheckpoint, "'checkpoint' is none of run " + run->run + ": it is RUN/NUMBER")
            .with("param", "checkpoint"));
  }
  answer_with(call->services.desks.workflows->fork(call->principal.tenant, call->principal.user,
                                                   call->parameter("workflow"), checkpoint, std::move(branch),
                                                   call->principal.key),
              stream, std::move(done));
}

Result<Reply> answer_request(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const Json form, call.json());
  JsonReader in(form, "answer");
  const Json* answer = in.required("answer");
  const bool go_on = in.bool_or("resume", true);
  TERTULIA_TRY(in.finish_strict());
  TERTULIA_TRY_AS(const StoredRun run, named_run(call));
  WorkflowDesk& desk = *call.services.desks.workflows;
  TERTULIA_TRY(desk.answer(call.principal.tenant, call.principal.user, call.parameter("workflow"), run.run,
                           call.parameter("request"), *answer, go_on, call.principal.key));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("run").string(run.run);
  out.key("status").string(name_of(go_on ? WorkflowStatus::kRunning : run.status)).end_object();
  return Reply::json(std::move(body));
}

Result<Reply> cancel_run(Call& call) {
  TERTULIA_TRY(call.no_query());
  const std::string& run = call.parameter("run");
  WorkflowDesk& desk = *call.services.desks.workflows;
  TERTULIA_TRY(desk.find(call.parameter("workflow")));
  if (!desk.cancel(call.principal.tenant, call.principal.user, run)) {
    return Error(ErrorCode::kNoTurn, "run '" + run.substr(0, 64) + "' does not go on (any more)")
        .with("param", "run");
  }
  std::string body;
  JsonWriter(body).begin_object().key("run").string(run).end_object();
  return Reply::json(std::move(body), 202);
}

constexpr std::array kWorkflowRunsRoutes{
    later(Method::kPost, "/api/v1/workflows/{workflow}/runs", Access::kWrite, &begin_a_run, BodyKind::kJson),
    on_pool(Method::kGet, "/api/v1/workflows/{workflow}/runs", Access::kRead, &list_runs),
    on_pool(Method::kGet, "/api/v1/workflow-runs", Access::kRead, &list_all_runs),
    on_pool(Method::kGet, "/api/v1/workflows/{workflow}/runs/{run}", Access::kRead, &get_run),
    later(Method::kGet, "/api/v1/workflows/{workflow}/runs/{run}/events", Access::kRead, &watch_run),
    on_pool(Method::kGet, "/api/v1/workflows/{workflow}/runs/{run}/checkpoints", Access::kRead,
            &list_checkpoints),
    later(Method::kPost, "/api/v1/workflows/{workflow}/runs/{run}/resume", Access::kWrite, &resume_stored_run,
          BodyKind::kJson),
    later(Method::kPost, "/api/v1/workflows/{workflow}/runs/{run}/fork", Access::kWrite, &fork_run,
          BodyKind::kJson),
    on_pool(Method::kPost, "/api/v1/workflows/{workflow}/runs/{run}/requests/{request}", Access::kWrite,
            &answer_request, BodyKind::kJson),
    on_pool(Method::kPost, "/api/v1/workflows/{workflow}/runs/{run}/cancel", Access::kWrite, &cancel_run),
};

}  // namespace

std::span<const Route> workflow_run_routes() { return kWorkflowRunsRoutes; }

}  // namespace tertulia::server
