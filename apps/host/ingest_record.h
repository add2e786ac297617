// How jobs are stored: in the session "~ingest" of the user they belong to.
//
//   kJournal     main  scope: job   name: "ingest"           payload: the job      while it waits or runs
//   kAsset       –     scope: job   name: format             payload: the bytes    while it waits or runs
//   kSubmission  main  scope: job   name: "job"              payload: the job      when it has ended
//   kSubmission  main  scope: key   name: hash of the ask    payload: the job's id
#pragma once

#include <string>
#include <string_view>

#include "tertulia/base/result.h"
#include "tertulia/store/record.h"

#include "ingest_jobs.h"

namespace tertulia {

inline constexpr std::string_view kPendingName = "ingest";
inline constexpr std::string_view kEndedName = "job";

SessionKey ingest_session(const TenantId& tenant, const OwnerId& user);

StreamId pending_stream(const std::string& job);
StreamId bytes_stream(const std::string& job);
StreamId ended_stream(const std::string& job);
StreamId key_stream(const std::string& key);

std::string to_text(const IngestJob& job);
// kDamaged and the errors of JSON.
Result<IngestJob> parse_job(std::string_view text);

}  // namespace tertulia
