#include "api/turn_stream.h"

#include <atomic>
#include <cstdint>
#include <utility>

#include "tertulia/conversation/json_forms.h"

#include "api/forms.h"
#include "core/sse.h"
#include "http/problem.h"

namespace tertulia::server {
namespace {

class TurnStream final : public ByteStream, public std::enable_shared_from_this<TurnStream> {
 public:
  TurnStream(BegunRun begun, Metrics& metrics)
      : run_(std::move(begun.run)), first_(std::move(begun.first)), metrics_(metrics) {}

  void next(std::function<void(std::optional<std::string>)> done) override {
    if (ended_) return done(std::nullopt);
    if (first_) {
      std::string frames = "retry: 1000\n\n";
      append_event(frames, *std::exchange(first_, std::nullopt));
      return done(std::move(frames));
    }
    run_->next([self = shared_from_this(), done = std::move(done)](Result<std::optional<Event>> event) {
      std::string frame;
      if (event && *event) {
        append_event(frame, **event);
      } else {
        // Nothing comes behind the last event, so the result is there and nobody waits for it.
        self->ended_ = true;
        frame = self->last();
      }
      done(std::move(frame));
    });
  }

  std::string_view heartbeat() const override { return kHeartbeat; }

 private:
  static void append_event(std::string& out, const Event& event) {
    append_frame(out, event.turn.text() + "." + std::to_string(event.number), name_of(event.kind),
                 to_json(event));
  }

  std::string last() {
    Result<TurnOutcome> outcome = run_->result();
    std::string frame;
    if (outcome) {
      append_frame(frame, {}, "outcome", outcome_body(*outcome));
    } else {
      metrics_.turns_failed.fetch_add(1, std::memory_order_relaxed);
      append_frame(frame, {}, "failed", native_body(Problem::of(outcome.error()), {}));
    }
    return frame;
  }

  const std::shared_ptr<Run> run_;
  std::optional<Event> first_;
  Metrics& metrics_;
  bool ended_ = false;
};

// Reads to the end without a thread that waits. An event that is there already is given within the call, so
// the loop goes round instead of down.
class Finisher : public std::enable_shared_from_this<Finisher> {
 public:
  Finisher(std::shared_ptr<Run> run, Metrics& metrics, Done<Reply> done)
      : run_(std::move(run)), metrics_(metrics), done_(std::move(done)) {}

  void read_on() {
    while (true) {
      state_.store(State::kAsked);
      run_->next([self = shared_from_this()](Result<std::optional<Event>> event) {
        self->ended_ = !event || !*event;
        if (self->state_.exchange(State::kAnswered) == State::kReturned) self->answered();
      });
      if (state_.exchange(State::kReturned) != State::kAnswered) return;
      if (ended_) return finish();
    }
  }

 private:
  enum class State : std::uint8_t { kAsked, kAnswered, kReturned };

  void answered() { ended_ ? finish() : read_on(); }

  void finish() {
    Result<TurnOutcome> outcome = run_->result();
    if (!outcome) {
      metrics_.turns_failed.fetch_add(1, std::memory_order_relaxed);
      Error error = std::move(outcome).error();
      if (const TurnId turn = run_->turn(); !turn.empty() && error.fact("turn") == nullptr) {
        error = std::move(error).with("turn", turn.text());
      }
      return done_(std::move(error));
    }
    metrics_.input_tokens.fetch_add(outcome->usage.input_tokens, std::memory_order_relaxed);
    metrics_.output_tokens.fetch_add(outcome->usage.output_tokens, std::memory_order_relaxed);
    Reply reply = Reply::json(outcome_body(*outcome));
    reply.headers.emplace_back("Tertulia-Session", outcome->session.text());
    reply.headers.emplace_back("Tertulia-Turn", outcome->turn.text());
    done_(std::move(reply));
  }

  const std::shared_ptr<Run> run_;
  Metrics& metrics_;
  const Done<Reply> done_;
  std::atomic<State> state_{State::kAsked};
  bool ended_ = false;
};

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
              Reply reply{.content_type = kEventStream};
              reply.headers.emplace_back("Tertulia-Session", session);
              reply.headers.emplace_back("Tertulia-Turn", begun->run->turn().text());
              reply.headers.emplace_back("Cache-Control", "no-store");
              reply.headers.emplace_back("X-Accel-Buffering", "no");
              reply.stream = std::make_shared<TurnStream>(*std::move(begun), metrics);
              done(std::move(reply));
            });
}

void finish_turn(Run run, Metrics& metrics, Done<Reply> done) {
  std::make_shared<Finisher>(std::make_shared<Run>(std::move(run)), metrics, std::move(done))->read_on();
}

}  // namespace tertulia::server
