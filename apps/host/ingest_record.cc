#include "ingest_record.h"

#include <array>
#include <utility>

#include "tertulia/base/json.h"
#include "tertulia/conversation/branch_rules.h"

namespace tertulia {
namespace {

constexpr std::array kStatuses{JobStatus::kQueued, JobStatus::kRunning, JobStatus::kDone, JobStatus::kFailed,
                               JobStatus::kCancelled};
constexpr std::array kFormats{DocumentFormat::kText, DocumentFormat::kMarkdown, DocumentFormat::kHtml,
                              DocumentFormat::kPdf};
constexpr std::array kWriters{WriterKind::kUser, WriterKind::kOperator, WriterKind::kTool,
                              WriterKind::kModel};

template <class Kinds>
auto one_named(const Kinds& kinds, std::string_view name) {
  for (const auto kind : kinds) {
    if (name_of(kind) == name) return kind;
  }
  return kinds.front();
}

std::int64_t micros(Time time) { return time.time_since_epoch().count(); }
constexpr std::int64_t kMostNumber = INT64_MAX;

}  // namespace

std::string_view name_of(JobStatus status) {
  switch (status) {
    case JobStatus::kQueued:
      return "queued";
    case JobStatus::kRunning:
      return "running";
    case JobStatus::kDone:
      return "done";
    case JobStatus::kFailed:
      return "failed";
    case JobStatus::kCancelled:
      return "cancelled";
  }
  return "invalid";
}

std::optional<JobStatus> job_status_named(std::string_view name) {
  for (const JobStatus status : kStatuses) {
    if (name_of(status) == name) return status;
  }
  return std::nullopt;
}

SessionKey ingest_session(const TenantId& tenant, const OwnerId& user) {
  return {tenant, user, *SessionId::parse("~ingest")};
}

StreamId pending_stream(const std::string& job) {
  return {.kind = RecordKind::kJournal, .branch = main_branch(), .scope = job};
}
StreamId bytes_stream(const std::string& job) {
  return {.kind = RecordKind::kAsset, .branch = {}, .scope = job};
}
StreamId ended_stream(const std::string& job) {
  return {.kind = RecordKind::kSubmission, .branch = main_branch(), .scope = job};
}
StreamId key_stream(const std::string& key) {
  return {.kind = RecordKind::kSubmission, .branch = main_branch(), .scope = "key." + key};
}

std::string to_text(const IngestJob& job) {
  JsonObject metadata;
  for (const auto& [name, value] : job.metadata) metadata.append(name, value);
  JsonObject form{{"id", job.id},
                  {"owner", job.collection.owner.text()},
                  {"tenant", job.collection.tenant.text()},
                  {"collection", job.collection.session.text()},
                  {"source", job.source},
                  {"format", name_of(job.format)},
                  {"metadata", std::move(metadata)},
                  {"writer", name_of(job.writer.kind)},
                  {"writer_name", job.writer.name},
                  {"status", name_of(job.status)},
                  {"chunks_done", std::uint64_t{job.progress.chunks_done}},
                  {"chunks", std::uint64_t{job.progress.chunks}},
                  {"changed", job.report.changed},
                  {"removed", std::uint64_t{job.report.removed}},
                  {"attempts", std::uint64_t{job.attempts}},
                  {"created_at", micros(job.created_at)}};
  if (job.ended_at) form.append("ended_at", micros(*job.ended_at));
  if (!job.error_code.empty()) {
    form.append("error_code", job.error_code);
    form.append("error_message", job.error_message);
  }
  return to_text(Json(std::move(form)));
}

Result<IngestJob> parse_job(std::string_view text) {
  TERTULIA_TRY_AS(const Json form, parse_json(text));
  JsonReader in(form, "job");
  IngestJob job;
  job.id = in.required_string("id");
  const std::string tenant = in.required_string("tenant");
  const std::string owner = in.required_string("owner");
  const std::string session = in.required_string("collection");
  job.source = in.required_string("source");
  job.format = one_named(kFormats, in.required_string("format"));
  for (const auto& [name, value] : in.object_or_empty("metadata")) {
    if (value.as_string() != nullptr) job.metadata[name] = *value.as_string();
  }
  job.writer = {.kind = one_named(kWriters, in.required_string("writer")),
                .name = in.required_string("writer_name")};
  job.status = one_named(kStatuses, in.required_string("status"));
  job.progress.chunks_done = static_cast<std::size_t>(in.int_or("chunks_done", 0, 0, kMostNumber));
  job.progress.chunks = static_cast<std::size_t>(in.int_or("chunks", 0, 0, kMostNumber));
  job.report.changed = in.bool_or("changed", false);
  job.report.removed = static_cast<std::size_t>(in.int_or("removed", 0, 0, kMostNumber));
  job.attempts = static_cast<std::uint32_t>(in.int_or("attempts", 0, 0, UINT32_MAX));
  job.created_at = Time(Duration(in.required_int("created_at", 0, kMostNumber)));
  if (const std::int64_t ended = in.int_or("ended_at", -1, -1, kMostNumber); ended >= 0) {
    job.ended_at = Time(Duration(ended));
  }
  job.error_code = in.string_or("error_code", {});
  job.error_message = in.string_or("error_message", {});
  TERTULIA_TRY(in.finish());
  TERTULIA_TRY_AS(job.collection.tenant, TenantId::parse(tenant));
  TERTULIA_TRY_AS(job.collection.owner, OwnerId::parse(owner));
  TERTULIA_TRY_AS(job.collection.session, SessionId::parse(session));
  return job;
}

}  // namespace tertulia
