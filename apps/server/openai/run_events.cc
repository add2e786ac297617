#include "openai/run_events.h"

#include <atomic>
#include <utility>

#include "core/sse.h"

namespace tertulia::server {
namespace {

// An event that is there already is given within the call, so the loop goes round instead of down.
class EventReader : public std::enable_shared_from_this<EventReader> {
 public:
  EventReader(RunPtr run, std::function<Wanted(std::optional<Event>)> take, std::function<void()> idle)
      : run_(std::move(run)), take_(std::move(take)), idle_(std::move(idle)) {}

  void read_on(Wanted wanted) {
    while (wanted != Wanted::kNothing) {
      state_.store(State::kAsked);
      run_->next([self = shared_from_this()](Result<std::optional<Event>> event) {
        self->event_ = event ? *std::move(event) : std::nullopt;
        if (self->state_.exchange(State::kAnswered) == State::kReturned) self->read_on(self->give());
      });
      // What comes to one who has stopped is nobody's.
      const bool waits = wanted == Wanted::kMore;
      if (state_.exchange(waits ? State::kReturned : State::kStopped) != State::kAnswered) {
        if (!waits) idle_();
        return;
      }
      wanted = give();
    }
  }

 private:
  enum class State : std::uint8_t { kAsked, kAnswered, kReturned, kStopped };

  Wanted give() {
    const bool more = event_.has_value();
    const Wanted wanted = take_(std::exchange(event_, std::nullopt));
    return more ? wanted : Wanted::kNothing;
  }

  const RunPtr run_;
  const std::function<Wanted(std::optional<Event>)> take_;
  const std::function<void()> idle_;
  std::atomic<State> state_{State::kAsked};
  std::optional<Event> event_;
};

class TranslatedStream final : public ByteStream, public std::enable_shared_from_this<TranslatedStream> {
 public:
  TranslatedStream(StartedRun started, std::shared_ptr<Translator> translator)
      : run_(std::move(started.run)), first_(std::move(started.first)), translator_(std::move(translator)) {}

  void next(std::function<void(std::optional<std::string>)> done) override {
    if (ended_) return done(std::nullopt);
    std::string words;
    if (first_) translator_->take(*std::exchange(first_, std::nullopt), words);
    if (!words.empty()) return done(std::move(words));
    const auto take = [self = shared_from_this(), done](const std::optional<Event>& event) {
      if (!event) {
        self->ended_ = true;
        self->translator_->end(self->run_->result(), [self, done](std::string last) {
          done(last.empty() ? std::nullopt : std::optional(std::move(last)));
        });
        return Wanted::kNothing;
      }
      std::string out;
      self->translator_->take(*event, out);
      if (out.empty()) return self->wanted();
      done(std::move(out));
      return Wanted::kNothing;
    };
    read_events_while(run_, take, wanted(), [self = shared_from_this(), done] {
      self->ended_ = true;
      done(self->translator_->pause());
    });
  }

  std::string_view heartbeat() const override { return translator_->heartbeat(); }

 private:
  Wanted wanted() const { return translator_->pausing() ? Wanted::kIfThere : Wanted::kMore; }

  const RunPtr run_;
  std::optional<Event> first_;
  const std::shared_ptr<Translator> translator_;
  bool ended_ = false;
};

}  // namespace

std::string_view Translator::heartbeat() const { return kHeartbeat; }

RunPtr run_stateless(Engine& engine, const AgentDefinitionPtr& agent, Input input,
                     std::shared_ptr<Branch> branch, RunOptions options) {
  struct Kept {
    std::shared_ptr<Branch> branch;
    std::optional<Run> run;
  };
  auto kept = std::make_shared<Kept>();
  kept->branch = std::move(branch);
  kept->run.emplace(engine.run_on(agent, std::move(input), kept->branch.get(), std::move(options)));
  return {kept, &*kept->run};
}

void start_run(RunPtr run, Done<StartedRun> done) {
  Run& reading = *run;
  reading.next([run = std::move(run), done = std::move(done)](Result<std::optional<Event>> event) {
    if (!event) return done(std::move(event).error());
    // A call that was refused has no turn; its result is the reason, and is there.
    const bool refused = *event && (*event)->kind == EventKind::kError && (*event)->turn.empty();
    if (refused || !*event) {
      Result<TurnOutcome> outcome = run->result();
      if (!outcome) return done(std::move(outcome).error());
    }
    done(StartedRun{run, *std::move(event)});
  });
}

void read_events(RunPtr run, std::function<bool(std::optional<Event>)> take) {
  const auto all = [take = std::move(take)](std::optional<Event> event) {
    return take(std::move(event)) ? Wanted::kMore : Wanted::kNothing;
  };
  read_events_while(std::move(run), all, Wanted::kMore, [] {});
}

void read_events_while(RunPtr run, std::function<Wanted(std::optional<Event>)> take, Wanted first,
                       std::function<void()> idle) {
  std::make_shared<EventReader>(std::move(run), std::move(take), std::move(idle))->read_on(first);
}

void forget_if_failed(const Run& run, std::function<void()> forget) {
  auto reading = std::make_shared<Run>(run.again());
  read_events(reading,
              [reading, ran = false, forget = std::move(forget)](const std::optional<Event>& event) mutable {
                if (event) {
                  ran = ran || event->kind == EventKind::kToolCallResult;
                  return true;
                }
                if (!ran && !reading->result()) forget();
                return false;
              });
}

void read_through(StartedRun started, std::shared_ptr<Translator> translator, std::function<void()> done) {
  std::string words;
  if (started.first) translator->take(*started.first, words);
  read_events(started.run, [run = started.run, translator = std::move(translator),
                            done = std::move(done)](std::optional<Event> event) {
    if (!event) {
      translator->end(run->result(), [translator, done](const std::string&) { done(); });
      return false;
    }
    std::string dropped;
    translator->take(*event, dropped);
    return true;
  });
}

std::shared_ptr<ByteStream> translated(StartedRun started, std::shared_ptr<Translator> translator) {
  return std::make_shared<TranslatedStream>(std::move(started), std::move(translator));
}

Reply event_stream(std::shared_ptr<ByteStream> stream) {
  Reply reply{.content_type = kEventStream};
  reply.headers.emplace_back("Cache-Control", "no-store");
  reply.headers.emplace_back("X-Accel-Buffering", "no");
  reply.stream = std::move(stream);
  return reply;
}

}  // namespace tertulia::server
