// Documents: collections, what was ingested into them, and the jobs that ingest.
#include <array>
#include <utility>

#include "tertulia/base/sha256.h"

#include "api/forms.h"
#include "api/job_stream.h"
#include "api/memory_access.h"
#include "api/routes.h"
#include "core/key_file.h"
#include "host/collections.h"
#include "host/ingest_jobs.h"

namespace tertulia::server {
namespace {

constexpr std::uint64_t kDocumentLimit = 24U << 20U;

Result<Reply> list_all_collections(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const std::vector<CollectionSummary> summaries,
                  list_collections(*call.services.desks.semantic, call.services.store(),
                                   call.principal.tenant, call.principal.user));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("collections").begin_array();
  for (const CollectionSummary& one : summaries) {
    const Access wanted = is_shared(one.collection) ? Access::kAdmin : Access::kWrite;
    out.begin_object().key("id").string(collection_name(one.collection));
    out.key("items").number(std::uint64_t{one.counts.items});
    out.key("documents").number(std::uint64_t{one.counts.documents});
    out.key("facts").number(std::uint64_t{one.counts.facts});
    out.key("writable").boolean(call.principal.may(wanted)).end_object();
  }
  out.end_array().end_object();
  return Reply::json(std::move(body));
}

Result<Reply> delete_collection(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const CollectionId collection, collection_for_writing(call, call.parameter("collection")));
  Result<EraseReport> report = call.services.desks.semantic->forget_all(collection);
  const bool none = report ? report->sessions == 0 : report.error().code() == ErrorCode::kNoSession;
  if (none) {
    return Error(ErrorCode::kNotFound, "there is nothing in '" + collection_name(collection) + "'")
        .with("param", "collection");
  }
  if (!report) return std::move(report).error();
  return Reply::json(report_body(*report));
}

// What a document is, wherever the request says it.
struct DocumentForm {
  std::string source;
  std::string collection;
  std::string format = "text";
  std::string bytes;
  std::map<std::string, std::string> metadata;
  bool wait = false;
};

Result<DocumentFormat> format_named(std::string_view name) {
  for (const DocumentFormat format :
       {DocumentFormat::kText, DocumentFormat::kMarkdown, DocumentFormat::kHtml, DocumentFormat::kPdf}) {
    if (name_of(format) == name) return format;
  }
  return Error(ErrorCode::kOutOfRange, "a document is text, markdown, html or pdf").with("param", "format");
}

// The format that a media type stands for; empty for others.
std::string_view format_of_type(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTypes{
      {{"text/plain", "text"},
       {"text/markdown", "markdown"},
       {"text/html", "html"},
       {"application/pdf", "pdf"}}};
  for (const auto& [known, format] : kTypes) {
    if (equal_but_case(type, known)) return format;
  }
  return {};
}

Result<void> read_json_document(const Call& call, DocumentForm& form) {
  TERTULIA_TRY_AS(const Json body, call.json());
  JsonReader in(body, "document");
  form.source = in.required_string("source");
  form.bytes = in.required_string("text");
  form.format = in.string_or("format", "text");
  form.collection = in.string_or("collection", {});
  for (const auto& [name, value] : in.object_or_empty("metadata")) {
    if (value.as_string() == nullptr) {
      in.fail(Error(ErrorCode::kWrongType, "document: members of 'metadata' are texts")
                  .with("param", "metadata"));
      break;
    }
    form.metadata[name] = *value.as_string();
  }
  TERTULIA_TRY(in.finish_strict());
  if (form.format == "pdf") {
    return Error(ErrorCode::kOutOfRange, "a PDF comes as bytes, with the Content-Type application/pdf")
        .with("param", "format");
  }
  return {};
}

// The type of the body, without its parameters.
std::string_view body_type(const Call& call) {
  std::string_view type = call.request.header("Content-Type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return type;
}

bool is_json(std::string_view type) { return type.empty() || equal_but_case(type, "application/json"); }

Result<DocumentForm> read_document(Call& call) {
  DocumentForm form;
  TERTULIA_TRY_AS(Query query, call.query());
  TERTULIA_TRY_AS(form.wait, query.flag("wait"));
  if (is_json(body_type(call))) {
    TERTULIA_TRY(query.finish());
    TERTULIA_TRY(read_json_document(call, form));
    return form;
  }
  form.format = format_of_type(body_type(call));
  form.source = query.text_or("source", {});
  form.collection = query.text_or("collection", {});
  TERTULIA_TRY(query.finish());
  if (call.request.body.empty()) return Error(ErrorCode::kEmptyBody, "send the document as the body");
  form.bytes = std::move(call.request.body);
  return form;
}

Result<IngestRequest> ingest_request(const Call& call, DocumentForm& form) {
  TERTULIA_TRY_AS(const DocumentFormat format, format_named(form.format));
  TERTULIA_TRY_AS(CollectionId collection, collection_for_writing(call, form.collection));
  if (form.source.size() > 1'024) {
    return Error(ErrorCode::kTooLarge, "the name of a source has at most 1,024 bytes")
        .with("param", "source")
        .with("limit", std::int64_t{1'024});
  }
  IngestRequest request{.tenant = call.principal.tenant,
                        .user = call.principal.user,
                        .collection = collection,
                        .document = {form.source, format, std::move(form.bytes)},
                        .writer = writer_in(call, collection),
                        .metadata = std::move(form.metadata),
                        .most = call.principal.visitor ? kMaxVisitorJobs : kMaxWaitingJobs};
  if (const std::string_view key = call.request.header("Idempotency-Key"); !key.empty()) {
    std::string asked = collection.text() + "\n" + form.source + "\n" + form.format + "\n";
    for (const auto& [name, value] : request.metadata) asked += sha256_hex(name) + sha256_hex(value);
    request.key = sha256_hex(key);
    request.hash = sha256_hex(asked + "\n" + sha256_hex(request.document.bytes));
  }
  return request;
}

void add_document(const CallPtr& call, Done<Reply> done) {
  if (!is_json(body_type(*call)) && format_of_type(body_type(*call)).empty()) {
    return done(Reply::refused(HttpProblem::kUnsupportedMediaType,
                               "a document is application/json, text/plain, text/markdown, text/html or "
                               "application/pdf"));
  }
  Result<DocumentForm> form = read_document(*call);
  if (!form) return done(std::move(form).error());
  DocumentForm& document = *form;
  Result<IngestRequest> request = ingest_request(*call, document);
  if (!request) return done(std::move(request).error());
  IngestJobs& jobs = *call->services.desks.ingest;
  Result<IngestJob> job = jobs.submit(*std::move(request));
  if (!job) return done(std::move(job).error());
  if (call->accepts_events()) return done(stream_job(jobs, *std::move(job)));
  if (document.wait) return await_job(jobs, *job, std::move(done));
  done(Reply::json(job_body(*job), 202).with("Location", "/api/v1/memory/jobs/" + job->id));
}

Result<Reply> list_all_documents(Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  TERTULIA_TRY_AS(const CollectionId collection,
                  collection_for_reading(call, query.text_or("collection", {})));
  TERTULIA_TRY_AS(const std::optional<std::uint64_t> limit, query.number("limit", 1, 1'000));
  const std::string cursor = query.text_or("cursor", {});
  TERTULIA_TRY(query.finish());
  TERTULIA_TRY_AS(const DocumentPage page,
                  call.services.desks.semantic->documents(collection, limit.value_or(100), cursor));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("documents").begin_array();
  for (const DocumentInfo& document : page.documents) {
    out.begin_object().key("source").string(document.source);
    out.key("chunks").number(std::uint64_t{document.chunks});
    out.key("tokens").number(std::uint64_t{document.tokens});
    out.key("written_at").string(iso_time(document.time)).key("writer").string(document.writer);
    if (!document.metadata.empty()) {
      out.key("metadata").begin_object();
      for (const auto& [name, value] : document.metadata) out.key(name).string(value);
      out.end_object();
    }
    out.end_object();
  }
  out.end_array();
  if (!page.next.empty()) out.key("next").string(page.next);
  out.end_object();
  return Reply::json(std::move(body));
}

Result<Reply> delete_document(Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  TERTULIA_TRY_AS(const CollectionId collection,
                  collection_for_writing(call, query.text_or("collection", {})));
  const std::string source = query.text_or("source", {});
  TERTULIA_TRY(query.finish());
  if (source.empty()) {
    return Error(ErrorCode::kMissingField, "say which document: ?source=…").with("param", "source");
  }
  TERTULIA_TRY_AS(const Forgotten gone, forget_items(*call.services.desks.semantic, call.services.store(),
                                                     collection, call.principal.user, {.sources = {source}}));
  if (gone.items == 0) {
    return Error(ErrorCode::kNotFound,
                 "the collection '" + collection_name(collection) + "' has no document of this source")
        .with("param", "source");
  }
  return removed_reply(gone.items, gone.prompt_parts);
}

Result<Reply> list_jobs(Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  std::optional<JobStatus> status;
  if (const std::string* text = query.find("status")) {
    status = job_status_named(*text);
    if (!status) {
      return Error(ErrorCode::kOutOfRange, "a job is queued, running, done, failed or cancelled")
          .with("param", "status");
    }
  }
  TERTULIA_TRY(query.finish());
  TERTULIA_TRY_AS(const std::vector<IngestJob> jobs,
                  call.services.desks.ingest->list(call.principal.tenant, call.principal.user));
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("jobs").begin_array();
  for (const IngestJob& job : jobs) {
    if (!status || job.status == *status) write_job(out, job);
  }
  out.end_array().end_object();
  return Reply::json(std::move(body));
}

Result<IngestJob> named_job(const Call& call) {
  TERTULIA_TRY(call.no_query());
  return call.services.desks.ingest->find(call.principal.tenant, call.principal.user, call.parameter("job"));
}

Result<Reply> get_job(Call& call) {
  TERTULIA_TRY_AS(const IngestJob job, named_job(call));
  return Reply::json(job_body(job));
}

Result<Reply> watch_job(Call& call) {
  TERTULIA_TRY_AS(IngestJob job, named_job(call));
  return stream_job(*call.services.desks.ingest, std::move(job));
}

Result<Reply> cancel_job(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(
      const IngestJob job,
      call.services.desks.ingest->cancel(call.principal.tenant, call.principal.user, call.parameter("job")));
  return Reply::json(job_body(job), 202);
}

constexpr std::array kDocumentsRoutes{
    on_pool(Method::kGet, "/api/v1/memory/collections", Access::kRead, &list_all_collections),
    on_pool(Method::kDelete, "/api/v1/memory/collections/{collection}", Access::kWrite, &delete_collection),
    later(Method::kPost, "/api/v1/memory/documents", Access::kWrite, &add_document, BodyKind::kBytes,
          kDocumentLimit),
    on_pool(Method::kGet, "/api/v1/memory/documents", Access::kRead, &list_all_documents),
    on_pool(Method::kDelete, "/api/v1/memory/documents", Access::kWrite, &delete_document),
    on_pool(Method::kGet, "/api/v1/memory/jobs", Access::kRead, &list_jobs),
    on_pool(Method::kGet, "/api/v1/memory/jobs/{job}", Access::kRead, &get_job),
    on_pool(Method::kGet, "/api/v1/memory/jobs/{job}/events", Access::kRead, &watch_job),
    on_pool(Method::kPost, "/api/v1/memory/jobs/{job}/cancel", Access::kWrite, &cancel_job),
};

}  // namespace

std::span<const Route> document_routes() { return kDocumentsRoutes; }

}  // namespace tertulia::server
