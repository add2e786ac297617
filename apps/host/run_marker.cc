#include "run_marker.h"

#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/base/log.h"
#include "tertulia/conversation/branch_rules.h"
#include "tertulia/conversation/json_forms.h"

namespace tertulia {
namespace {

std::string_view name_of(RunStart how) {
  switch (how) {
    case RunStart::kRun:
      return "run";
    case RunStart::kResume:
      return "resume";
    case RunStart::kFork:
      return "fork";
  }
  return "run";
}

RunStart start_named(std::string_view name) {
  if (name == "resume") return RunStart::kResume;
  return name == "fork" ? RunStart::kFork : RunStart::kRun;
}

Result<std::string> outcome_in(const Json& form) {
  if (const Json* outcome = form.as_object()->find("outcome")) return to_text(*outcome);
  JsonReader in(*form.as_object()->find("failed"), "failed");
  const std::string code = in.required_string("code");
  const std::string message = in.required_string("message");
  TERTULIA_TRY(in.finish());
  return Error(error_code_named(code).value_or(ErrorCode::kDamaged), message);
}

}  // namespace

SessionKey runs_session(const TenantId& tenant, const OwnerId& owner) {
  return {tenant, owner, *SessionId::parse("~runs")};
}

StreamId marker_stream(const std::string& run) {
  return {.kind = RecordKind::kJournal, .branch = main_branch(), .scope = run};
}
StreamId run_key_stream(const std::string& key) {
  return {.kind = RecordKind::kSubmission, .branch = main_branch(), .scope = "key." + key};
}

std::string to_text(const RunMarker& marker) {
  JsonObject form{{"run", marker.run},
                  {"session", marker.key.session.text()},
                  {"workflow", marker.workflow},
                  {"how", name_of(marker.how)}};
  if (!marker.message.empty()) form.append("message", marker.message);
  if (marker.branch) form.append("branch", marker.branch->text());
  if (!marker.handle.empty()) form.append("handle", marker.handle);
  if (marker.exact) form.append("exact", true);
  if (marker.show_internal) form.append("internal", true);
  if (!marker.checkpoint.empty()) form.append("checkpoint", marker.checkpoint);
  if (!marker.payer.empty()) form.append("payer", marker.payer);
  return to_text(Json(std::move(form)));
}

Result<RunMarker> parse_marker(const SessionKey& runs, std::string_view text) {
  TERTULIA_TRY_AS(const Json form, parse_json(text));
  JsonReader in(form, "run");
  RunMarker marker{.key = runs, .run = in.required_string("run"), .workflow = in.required_string("workflow")};
  const std::string session = in.required_string("session");
  marker.how = start_named(in.required_string("how"));
  marker.message = in.string_or("message", {});
  const std::string branch = in.string_or("branch", {});
  marker.handle = in.string_or("handle", {});
  marker.exact = in.bool_or("exact", false);
  marker.show_internal = in.bool_or("internal", false);
  marker.checkpoint = in.string_or("checkpoint", {});
  marker.payer = in.string_or("payer", {});
  TERTULIA_TRY(in.finish());
  TERTULIA_TRY_AS(marker.key.session, SessionId::parse(session));
  if (!branch.empty()) {
    TERTULIA_TRY_AS(marker.branch, BranchId::parse(branch));
  }
  return marker;
}

Result<std::vector<RunMarker>> read_markers(Store& store) {
  std::vector<RunMarker> markers;
  SessionQuery query{.tenant = {}, .unfinished = true, .own = OwnSessions::kToo, .limit = 1'000};
  do {
    TERTULIA_TRY_AS(SessionPage page, list(store, query));
    for (const SessionSummary& session : page.sessions) {
      const SessionKey& key = session.key;
      if (key != runs_session(key.tenant, key.owner)) continue;
      RecordQuery records{.tenant = key.tenant,
                          .owner = key.owner,
                          .session = key.session,
                          .kind = RecordKind::kJournal,
                          .limit = 1'000};
      do {
        Result<RecordPage> found = read_records(store, records);
        // Those of the other owners go on.
        if (!found && found.error().code() == ErrorCode::kSessionDamaged) {
          Log()
              .component("workflow")
              .error(
                  "runs that a restart has cut do not go on by themselves: what tells of them is damaged; "
                  "run: tertulia verify",
                  {{"tenant", key.tenant}, {"owner", key.owner}, {"reason", found.error().message()}});
          break;
        }
        if (!found) return std::move(found).error();
        for (const StoredRecord& stored : found->records) {
          if (stored.record.name != kMarkerName) continue;
          TERTULIA_TRY_AS(RunMarker marker, parse_marker(key, stored.record.payload));
          markers.push_back(std::move(marker));
        }
        records.cursor = std::move(found->next);
      } while (!records.cursor.empty());
    }
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  return markers;
}

Result<void> forget_runs(Store& store, const SessionKey& session) {
  const SessionKey runs = runs_session(session.tenant, session.owner);
  Note note_of{.key = runs, .conditions = {}, .changes = {}};
  for (const RecordKind kind : {RecordKind::kSubmission, RecordKind::kJournal}) {
    RecordQuery query{
        .tenant = runs.tenant, .owner = runs.owner, .session = runs.session, .kind = kind, .limit = 1'000};
    do {
      Result<RecordPage> page = read_records(store, query);
      if (!page && page.error().code() == ErrorCode::kNoSession) return {};
      if (!page) return std::move(page).error();
      for (const StoredRecord& stored : page->records) {
        TERTULIA_TRY_AS(const RunMarker marker, parse_marker(runs, stored.record.payload));
        if (marker.key == session) note_of.changes.emplace_back(DropRecords{.stream = stored.record.stream});
      }
      query.cursor = std::move(page->next);
    } while (!query.cursor.empty());
  }
  return note_of.changes.empty() ? Result<void>() : note(store, std::move(note_of));
}

std::string to_text(const std::vector<Event>& events, const Result<std::string>* outcome) {
  std::string text;
  JsonWriter out(text);
  out.begin_object().key("events").begin_array();
  for (const Event& event : events) out.raw(to_json(event));
  out.end_array();
  if (outcome != nullptr && *outcome) out.key("outcome").raw(**outcome);
  if (outcome != nullptr && !*outcome) {
    out.key("failed").begin_object().key("code").string(name_of(outcome->error().code()));
    out.key("message").string(outcome->error().message()).end_object();
  }
  out.end_object();
  return text;
}

Result<StoredEvents> parse_events(std::string_view text) {
  TERTULIA_TRY_AS(const Json form, parse_json(text, kFormLimits));
  if (form.as_object() == nullptr) {
    return Error(ErrorCode::kDamaged, "the events of a run are not as they were stored");
  }
  StoredEvents stored;
  JsonReader in(form, "events");
  for (const Json& one : in.array_or_empty("events")) {
    TERTULIA_TRY_AS(Event event, parse_form<Event>(to_text(one)));
    stored.events.push_back(std::move(event));
  }
  if (in.optional("outcome") != nullptr || in.optional("failed") != nullptr)
    stored.outcome = outcome_in(form);
  return stored;
}

}  // namespace tertulia
