#include "api/job_stream.h"

#include <memory>
#include <utility>

#include "core/sse.h"
#include "host/collections.h"
#include "host/iso_time.h"

namespace tertulia::server {
namespace {

class JobStream final : public ByteStream, public std::enable_shared_from_this<JobStream> {
 public:
  JobStream(IngestJobs& jobs, IngestJob job) : jobs_(jobs), job_(std::move(job)) {}

  void next(std::function<void(std::optional<std::string>)> done) override {
    if (ended_) return done(std::nullopt);
    if (!begun_) {
      begun_ = true;
      return done("retry: 1000\n\n" + frames_of(job_));
    }
    jobs_.when_changed(job_, job_.version,
                       [self = shared_from_this(), done = std::move(done)](IngestJob now) {
                         // Nothing more is known of it here: whoever asks again finds it in the store.
                         if (!now.ended() && now.version == self->job_.version) return done(std::nullopt);
                         self->job_ = std::move(now);
                         done(self->frames_of(self->job_));
                       });
  }

  std::string_view heartbeat() const override { return kHeartbeat; }

 private:
  std::string frames_of(const IngestJob& job) {
    std::string frames;
    const std::string body = job_body(job);
    append_frame(frames, {}, "progress", body);
    if (!job.ended()) return frames;
    ended_ = true;
    append_frame(frames, {}, job.status == JobStatus::kFailed ? "failed" : "outcome", body);
    return frames;
  }

  IngestJobs& jobs_;
  IngestJob job_;
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace

void write_job(JsonWriter& out, const IngestJob& job) {
  out.begin_object().key("id").string(job.id).key("collection").string(collection_name(job.collection));
  out.key("source").string(job.source).key("status").string(name_of(job.status));
  out.key("chunks_done").number(std::uint64_t{job.progress.chunks_done});
  out.key("chunks").number(std::uint64_t{job.progress.chunks});
  if (job.status == JobStatus::kDone) {
    out.key("changed").boolean(job.report.changed).key("removed").number(std::uint64_t{job.report.removed});
  }
  if (!job.error_code.empty()) {
    out.key("error").begin_object().key("code").string(job.error_code);
    out.key("message").string(job.error_message).end_object();
  }
  out.key("created_at").string(iso_time(job.created_at));
  if (job.ended_at) out.key("ended_at").string(iso_time(*job.ended_at));
  out.end_object();
}

std::string job_body(const IngestJob& job) {
  std::string body;
  JsonWriter out(body);
  write_job(out, job);
  return body;
}

Reply stream_job(IngestJobs& jobs, IngestJob job) {
  Reply reply{.content_type = kEventStream};
  reply.headers.emplace_back("Cache-Control", "no-store");
  reply.headers.emplace_back("X-Accel-Buffering", "no");
  reply.stream = std::make_shared<JobStream>(jobs, std::move(job));
  return reply;
}

void await_job(IngestJobs& jobs, const IngestJob& job, Done<Reply> done) {
  if (job.ended()) return done(Reply::json(job_body(job)));
  jobs.when_changed(job, job.version,
                    [&jobs, seen = job.version, done = std::move(done)](const IngestJob& now) {
                      // The server is shutting down: it goes on at the next start.
                      if (!now.ended() && now.version == seen) return done(Reply::json(job_body(now), 202));
                      await_job(jobs, now, done);
                    });
}

}  // namespace tertulia::server
