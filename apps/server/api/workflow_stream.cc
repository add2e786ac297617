#include "api/workflow_stream.h"

#include <utility>

#include "tertulia/conversation/json_forms.h"

#include "core/sse.h"
#include "http/problem.h"

namespace tertulia::server {
namespace {

class RunStream final : public ByteStream, public std::enable_shared_from_this<RunStream> {
 public:
  RunStream(std::shared_ptr<TrackedRun> run, std::uint64_t from) : run_(std::move(run)), from_(from) {}

  void next(std::function<void(std::optional<std::string>)> done) override {
    if (ended_) return done(std::nullopt);
    run_->read(from_,
               [self = shared_from_this(), done = std::move(done)](Result<std::optional<Event>> event) {
                 std::string frames;
                 if (!std::exchange(self->begun_, true)) frames = "retry: 1000\n\n";
                 if (event && *event) {
                   self->from_ = (*event)->number + 1;
                   append_frame(frames, self->run_->run() + "." + std::to_string((*event)->number),
                                name_of((*event)->kind), to_json(**event));
                   return done(std::move(frames));
                 }
                 self->ended_ = true;
                 // Behind the last event the result is there, or comes at once.
                 self->run_->result([frames = std::move(frames), done](Result<std::string> outcome) mutable {
                   if (outcome) {
                     append_frame(frames, {}, "outcome", *outcome);
                   } else {
                     append_frame(frames, {}, "failed", native_body(Problem::of(outcome.error()), {}));
                   }
                   done(std::move(frames));
                 });
               });
  }

  std::string_view heartbeat() const override { return kHeartbeat; }

 private:
  const std::shared_ptr<TrackedRun> run_;
  std::uint64_t from_;
  bool begun_ = false;
  bool ended_ = false;
};

void add_place(Reply& reply, const TrackedRun& run) {
  reply.headers.emplace_back("Tertulia-Session", run.key().session.text());
  reply.headers.emplace_back("Tertulia-Run", run.run());
}

}  // namespace

void stream_run(std::shared_ptr<TrackedRun> run, std::uint64_t from, Done<Reply> done) {
  TrackedRun& tracked = *run;
  tracked.begun([run = std::move(run), from, done = std::move(done)](const Result<void>& begun) {
    if (!begun) return done(begun.error());
    Reply reply{.content_type = kEventStream};
    add_place(reply, *run);
    reply.headers.emplace_back("Cache-Control", "no-store");
    reply.headers.emplace_back("X-Accel-Buffering", "no");
    reply.stream = std::make_shared<RunStream>(run, from);
    done(std::move(reply));
  });
}

void finish_run(const std::shared_ptr<TrackedRun>& run, Done<Reply> done) {
  run->result([run, done = std::move(done)](Result<std::string> outcome) {
    if (!outcome) return done(std::move(outcome).error());
    Reply reply = Reply::json(*std::move(outcome));
    add_place(reply, *run);
    done(std::move(reply));
  });
}

}  // namespace tertulia::server
