// The progress of an ingestion: as a body, as server-sent events, or awaited.
#pragma once

#include <string>

#include "tertulia/base/done.h"
#include "tertulia/base/json.h"

#include "host/ingest_jobs.h"
#include "http/reply.h"

namespace tertulia::server {

void write_job(JsonWriter& out, const IngestJob& job);
std::string job_body(const IngestJob& job);

// Tells how the job is now and after each change, then `outcome` or `failed`. Keeps a reference to `jobs`.
Reply stream_job(IngestJobs& jobs, IngestJob job);
// Answers when it has ended, holding no thread.
void await_job(IngestJobs& jobs, const IngestJob& job, Done<Reply> done);

}  // namespace tertulia::server
