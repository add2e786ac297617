#include "api/turn_stream.h"

#include <cstdint>
#include <utility>

#include "tertulia/conversation/json_forms.h"

#include "api/forms.h"
#include "core/sse.h"
#include "http/problem.h"

namespace tertulia::server {
namespace {

void count_outcome(const Result<TurnOutcome>& outcome, Metrics& metrics) {
  if (!outcome) {
    metrics.turns_failed.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  metrics.input_tokens.fetch_add(outcome->usage.input_tokens, std::memory_order_relaxed);
  metrics.output_tokens.fetch_add(outcome->usage.output_tokens, std::memory_order_relaxed);
}

Reply turn_reply(const BegunRun& begun, const std::string& session) {
  Reply reply{.content_type = kEventStream};
  reply.headers.emplace_back("Tertulia-Session", session);
  reply.headers.emplace_back("Tertulia-Turn", begun.run->turn().text());
  reply.headers.emplace_back("Cache-Control", "no-store");
  reply.headers.emplace_back("X-Accel-Buffering", "no");
  return reply;
}

constexpr std::string_view kRetryLine = "retry: 1000\n\n";

// The turn of whoever asked for it.
class TurnStream final : public ByteStream, public std::enable_shared_from_this<TurnStream> {
 public:
  TurnStream(BegunRun begun, Metrics& metrics)
      : run_(std::move(begun.run)), first_(std::move(begun.first)), metrics_(metrics) {}

  void next(std::function<void(std::optional<std::string>)> done) override {
    if (ended_) return done(std::nullopt);
    if (first_) {
      std::string frames(kRetryLine);
      append_event_frame(frames, *std::exchange(first_, std::nullopt));
      return done(std::move(frames));
    }
    run_->next([self = shared_from_this(), done = std::move(done)](Result<std::optional<Event>> event) {
      std::string frame;
      if (event && *event) {
        append_event_frame(frame, **event);
      } else {
        // Nothing comes behind the last event, so the result is there and nobody waits for it.
        self->ended_ = true;
        const Result<TurnOutcome> outcome = self->run_->result();
        count_outcome(outcome, self->metrics_);
        frame = last_frame(outcome);
      }
      done(std::move(frame));
    });
  }

  std::string_view heartbeat() const override { return kHeartbeat; }

 private:
  const std::shared_ptr<Run> run_;
  std::optional<Event> first_;
  Metrics& metrics_;
  bool ended_ = false;
};

// One of many who watch a turn: reads its log until it has caught up, and then what all are given.
class WatchedStream final : public ByteStream, public std::enable_shared_from_this<WatchedStream> {
 public:
  WatchedStream(BegunRun begun, WatchTurn watch, std::shared_ptr<TurnFeed> feed)
      : run_(std::move(begun.run)),
        first_(std::move(begun.first)),
        watch_(std::move(watch)),
        feed_(std::move(feed)) {}

  void next(std::function<void(std::optional<std::string>)> done) override {
    if (ended_) return done(std::nullopt);
    if (first_) {
      std::string frames(kRetryLine);
      append_event_frame(frames, *first_);
      seen_ = std::exchange(first_, std::nullopt)->number;
      return done(std::move(frames));
    }
    // Not afterwards: by then the next call may be under way on another thread.
    std::shared_ptr<Run> own = std::exchange(run_, nullptr);
    if (feed_ && read_feed(done)) return;
    run_ = std::move(own);
    if (!run_) {
      std::optional<Run> again = watch_(seen_);
      if (!again) return done(std::nullopt);
      run_ = std::make_shared<Run>(*std::move(again));
    }
    read_log(std::move(done));
  }

  std::string_view heartbeat() const override { return kHeartbeat; }

 private:
  using Given = std::function<void(std::optional<std::string>)>;

  bool read_feed(const Given& done) {
    return feed_->read(seen_, [self = shared_from_this(), done](TurnFeed::Frames frames) {
      self->seen_ = frames.number;
      self->ended_ = frames.last;
      done(std::move(frames.text));
    });
  }

  void read_log(Given done) {
    run_->next([self = shared_from_this(), done = std::move(done)](Result<std::optional<Event>> event) {
      std::string frame;
      // One that is refused tells an error of no turn first; its result says the same.
      if (event && *event && !(*event)->turn.empty()) {
        append_event_frame(frame, **event);
        self->seen_ = (*event)->number;
      } else {
        self->ended_ = true;
        frame = last_frame(self->run_->result());
      }
      done(std::move(frame));
    });
  }

  // Null while the feed is read.
  std::shared_ptr<Run> run_;
  std::optional<Event> first_;
  const WatchTurn watch_;
  const std::shared_ptr<TurnFeed> feed_;
  std::uint64_t seen_ = 0;
  bool ended_ = false;
};

Result<Reply> reply_of_turn(Result<TurnOutcome> outcome, const Run& run) {
  if (outcome) {
    Reply reply = Reply::json(outcome_body(*outcome));
    reply.headers.emplace_back("Tertulia-Session", outcome->session.text());
    reply.headers.emplace_back("Tertulia-Turn", outcome->turn.text());
    return reply;
  }
  const TurnId turn = run.turn();
  if (turn.empty() || outcome.error().fact("turn") != nullptr) return std::move(outcome).error();
  return std::move(outcome).error().with("turn", turn.text());
}

}  // namespace

void begin_run(Run run, Done<BegunRun> done) {
  auto shared = std::make_shared<Run>(std::move(run));
  shared->next([shared, done = std::move(done)](Result<std::optional<Event>> event) {
    if (!event) return done(std::move(event).error());
    // A call that was refused has no turn; its result is the reason, and is there.
    if (*event && (*event)->kind == EventKind::kError && (*event)->turn.empty()) {
      Result<TurnOutcome> outcome = shared->result();
      if (!outcome) return done(std::move(outcome).error());
    }
    done(BegunRun{shared, *std::move(event)});
  });
}

void stream_turn(Run run, std::string session, Metrics& metrics, Done<Reply> done) {
  begin_run(std::move(run),
            [session = std::move(session), &metrics, done = std::move(done)](Result<BegunRun> begun) {
              if (!begun) return done(std::move(begun).error());
              Reply reply = turn_reply(*begun, session);
              reply.stream = std::make_shared<TurnStream>(*std::move(begun), metrics);
              done(std::move(reply));
            });
}

void stream_watched(const WatchTurn& watch, std::optional<std::uint64_t> after, std::string session,
                    std::shared_ptr<TurnFeeds> feeds, Done<Reply> done) {
  std::optional<Run> run = watch(after);
  if (!run) return done(Error(ErrorCode::kClosed, "the server is shutting down"));
  begin_run(*std::move(run), [watch, session = std::move(session), feeds = std::move(feeds),
                              done = std::move(done)](Result<BegunRun> begun) {
    if (!begun) return done(std::move(begun).error());
    Reply reply = turn_reply(*begun, session);
    std::shared_ptr<TurnFeed> feed;
    if (feeds && begun->first) {
      const std::uint64_t seen = begun->first->number;
      feed = feeds->feed(begun->run->turn(), seen, watch);
    }
    reply.stream = std::make_shared<WatchedStream>(*std::move(begun), watch, std::move(feed));
    done(std::move(reply));
  });
}

void finish_turn(Run run, Metrics& metrics, Done<Reply> done) {
  const auto shared = std::make_shared<Run>(std::move(run));
  shared->result([shared, &metrics, done = std::move(done)](Result<TurnOutcome> outcome) {
    count_outcome(outcome, metrics);
    done(reply_of_turn(std::move(outcome), *shared));
  });
}

}  // namespace tertulia::server
