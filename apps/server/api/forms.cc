#include "api/forms.h"

#include "tertulia/conversation/branch_rules.h"
#include "tertulia/conversation/json_forms.h"

#include "core/call.h"

namespace tertulia::server {
namespace {

void write_siblings(JsonWriter& out, const BranchHead& head, const std::vector<BranchHead>& all) {
  const std::vector<BranchInfo> infos = infos_of(all);
  const Result<SiblingInfo> siblings = sibling_info(infos, head.id);
  if (!siblings) return;
  out.key("siblings").begin_object();
  out.key("index").number(std::uint64_t{siblings->index}).key("total").number(std::uint64_t{siblings->total});
  if (siblings->previous) out.key("previous").string(siblings->previous->text());
  if (siblings->next) out.key("next").string(siblings->next->text());
  out.key("original").string(siblings->original.text()).end_object();
}

void write_session_fields(JsonWriter& out, SessionStatus status, Revision revision, Time created_at,
                          Time last_activity, const JsonObject& metadata) {
  out.key("revision").number(number(revision)).key("status").string(name_of(status));
  out.key("created_at").string(iso_time(created_at)).key("last_activity").string(iso_time(last_activity));
  out.key("metadata").value(Json(metadata));
}

}  // namespace

std::vector<BranchInfo> infos_of(const std::vector<BranchHead>& heads) {
  std::vector<BranchInfo> infos;
  infos.reserve(heads.size());
  for (const BranchHead& head : heads) {
    infos.push_back({head.id, head.forked_from, head.message_count, head.created_at});
  }
  return infos;
}

void write_branch(JsonWriter& out, const BranchHead& head, const std::vector<BranchHead>* all) {
  out.begin_object().key("id").string(head.id.text());
  if (head.forked_from) {
    out.key("forked_from").begin_object().key("branch").string(head.forked_from->parent.text());
    out.key("at_index").number(std::uint64_t{head.forked_from->at_index}).end_object();
  }
  if (!head.label.empty()) out.key("label").string(head.label);
  if (!head.description.empty()) out.key("description").string(head.description);
  if (!head.tags.empty()) {
    out.key("tags").begin_array();
    for (const std::string& tag : head.tags) out.string(tag);
    out.end_array();
  }
  out.key("messages").number(head.message_count).key("created_at").string(iso_time(head.created_at));
  out.key("last_activity").string(iso_time(head.last_activity));
  if (all != nullptr) write_siblings(out, head, *all);
  out.end_object();
}

void write_session(JsonWriter& out, const SessionState& state) {
  const Session& session = state.session;
  out.begin_object().key("id").string(session.id.text());
  write_session_fields(out, session.status, session.revision, session.created_at, session.last_activity,
                       session.metadata);
  if (session.end_reason) out.key("end_reason").string(name_of(*session.end_reason));
  if (!state.damage.empty()) out.key("incomplete").boolean(true);
  out.key("branches").begin_array();
  for (const BranchHead& head : state.branches) write_branch(out, head);
  out.end_array().end_object();
}

void write_summary(JsonWriter& out, const SessionSummary& summary) {
  out.begin_object().key("id").string(summary.key.session.text());
  if (summary.damaged) {
    out.key("damaged").boolean(true).end_object();
    return;
  }
  out.key("user").string(summary.key.owner.text());
  write_session_fields(out, summary.status, summary.revision, summary.created_at, summary.last_activity,
                       summary.metadata);
  out.end_object();
}

void write_message(JsonWriter& out, const Message& message, std::uint64_t index, Revision revision,
                   const TurnId& turn) {
  std::string form = "{\"index\":" + std::to_string(index);
  form += ",\"revision\":" + std::to_string(number(revision));
  form += ",\"turn\":\"" + turn.text() + "\",";
  std::string message_form;
  append_json(message_form, message);
  form.append(message_form, 1);
  out.raw(form);
}

std::string outcome_body(const TurnOutcome& outcome) {
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("turn").string(outcome.turn.text()).key("session").string(outcome.session.text());
  out.key("branch").string(outcome.branch.text()).key("status").string(name_of(outcome.status));
  out.key("revision").number(number(outcome.revision)).key("text").string(outcome.text);
  out.key("finish").string(name_of(outcome.finish)).key("usage").begin_object();
  out.key("input_tokens").number(outcome.usage.input_tokens);
  out.key("cached_tokens").number(outcome.usage.cached_tokens);
  out.key("output_tokens").number(outcome.usage.output_tokens);
  out.key("reasoning_tokens").number(outcome.usage.reasoning_tokens).end_object();
  if (!outcome.reason.empty()) out.key("reason").string(outcome.reason);
  out.key("messages").begin_array();
  for (const Message& message : outcome.messages) out.raw(to_json(message));
  out.end_array().end_object();
  return body;
}

void write_damaged(JsonWriter& out, const std::set<SessionId>& damaged) {
  if (damaged.empty()) return;
  out.key("damaged").begin_array();
  for (const SessionId& session : damaged) out.string(session.text());
  out.end_array();
}

std::string report_body(const EraseReport& report, const std::set<SessionId>& damaged) {
  std::string body;
  JsonWriter out(body);
  out.begin_object()
      .key("sessions")
      .number(report.sessions)
      .key("branches")
      .number(report.branches)
      .key("turns")
      .number(report.turns)
      .key("records")
      .number(report.records);
  write_damaged(out, damaged);
  out.end_object();
  return body;
}

std::string report_body(const ImportReport& report) {
  const ArchiveCounts& counts = report.counts;
  std::string body;
  JsonWriter out(body);
  out.begin_object()
      .key("sessions")
      .number(counts.sessions)
      .key("branches")
      .number(counts.branches)
      .key("turns")
      .number(counts.turns)
      .key("messages")
      .number(counts.messages)
      .key("records")
      .number(counts.records)
      .key("bytes")
      .number(counts.bytes);
  out.key("left_out").begin_array();
  for (const LeftOut& left : report.left_out) {
    out.begin_object().key("what").string(left.what).key("count").number(left.count);
    out.key("why").string(left.why).end_object();
  }
  out.end_array().end_object();
  return body;
}

void write_question(JsonWriter& out, const Question& question) {
  out.begin_object().key("session").string(question.key.session.text());
  out.key("branch").string(question.branch.text()).key("turn").string(question.turn.text());
  out.key("call").number(std::uint64_t{question.call}).key("kind").string(name_of(question.kind));
  out.key("tool").string(question.tool).key("class").string(name_of(question.tool_class));
  if (!question.arguments.empty()) out.key("arguments").raw(question.arguments.text());
  if (!question.part.empty()) out.key("part").string(question.part);
  if (!question.text.empty()) out.key("text").string(question.text);
  if (!question.schema.empty()) out.key("schema").raw(question.schema.text());
  out.key("asked_at").string(iso_time(question.asked_at));
  out.key("expires_at").string(iso_time(question.expires_at)).end_object();
}

}  // namespace tertulia::server
