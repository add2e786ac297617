// What the server of a tool wants to know in the middle of a call, as a durable question.
//
// The call that asks lives in this process only. If the process ends, a call that may be run again asks
// again, and finds the answer that was given meanwhile: the question is the same if its words and its schema
// are.
#include <charconv>
#include <utility>

#include "tertulia/tools/mcp_types.h"

#include "question_record.h"
#include "read_stream.h"
#include "spawn.h"

namespace tertulia {
namespace {

constexpr std::size_t kPartLength = 16;

McpAnswer mcp_answer(const Result<Answer>& answer) {
  if (!answer) return {.action = McpAnswer::Action::kCancel};
  if (answer->choice != Answer::Choice::kOutput) return {.action = McpAnswer::Action::kDecline};
  McpAnswer given{.action = McpAnswer::Action::kAccept};
  if (Result<Json> content = parse_json(answer->output)) given.content = *std::move(content);
  return given;
}

// Who waits for the answer, and hears of it when it is not wanted any more.
struct Waiting {
  Done<McpAnswer> done;
  CancelRegistration on_cancel;
};

}  // namespace

class EngineQuestions final : public McpQuestions {
 public:
  explicit EngineQuestions(std::shared_ptr<EngineDoor> door) : door_(std::move(door)) {}

  void ask(McpQuestion asked, Done<McpAnswer> done) override {
    // Not by holding the engine: whoever lets go of it last stops it, and that must not be this thread.
    if (!ask_inside(asked, done)) done(McpAnswer{.action = McpAnswer::Action::kCancel});
  }

 private:
  // False if there is no engine, or nobody could tell which conversation the question belongs to.
  bool ask_inside(const McpQuestion& asked, const Done<McpAnswer>& done) {
    MutexLock lock(door_->mutex);
    if (door_->engine == nullptr) return false;
    auto found = door_->engine->call_of(asked.call_key);
    if (!found) return false;
    Question& question = found->second;
    question.text = asked.url.empty() ? asked.message : asked.message + " (" + asked.url + ")";
    if (!asked.schema.is_null()) question.schema = JsonText::of(asked.schema);
    question.arguments_hash =
        hash_of_arguments(to_text(JsonObject{{"text", question.text}, {"schema", asked.schema}}));
    question.part = question.arguments_hash.substr(0, kPartLength);
    const auto waiting = std::make_shared<Waiting>();
    waiting->done = done;
    waiting->on_cancel = asked.cancel.on_cancel([turn = found->first, id = question.id()](CancelReason) {
      if (const Done<Answer> nobody = turn->close_elicitation(id)) {
        nobody(Error(ErrorCode::kCancelled, "the server does not want to know any more"));
      }
    });
    door_->engine->start_elicitation(found->first, std::move(question),
                                     [waiting](Result<Answer> answer) { waiting->done(mcp_answer(answer)); });
    return true;
  }

  const std::shared_ptr<EngineDoor> door_;
};

std::shared_ptr<McpQuestions> Engine::elicitations(const std::shared_ptr<Engine>& engine) {
  return std::make_shared<EngineQuestions>(engine->impl_->door);
}

// "session/branch/turn/call"
std::optional<std::pair<LiveTurnPtr, Question>> Engine::Impl::call_of(std::string_view call_key) const {
  const std::size_t before_call = call_key.rfind('/');
  if (before_call == std::string_view::npos || before_call == 0) return std::nullopt;
  const std::size_t before_turn = call_key.rfind('/', before_call - 1);
  if (before_turn == std::string_view::npos) return std::nullopt;
  Question question;
  const std::string_view number = call_key.substr(before_call + 1);
  std::from_chars(number.data(), number.data() + number.size(), question.call);
  const Result<TurnId> turn = TurnId::parse(call_key.substr(before_turn + 1, before_call - before_turn - 1));
  if (!turn) return std::nullopt;
  MutexLock lock(mutex_);
  const auto found = running_.find(*turn);
  if (found == running_.end()) return std::nullopt;
  question.kind = Question::Kind::kElicitation;
  question.key = found->second.live->key();
  question.branch = found->second.branch;
  question.turn = *turn;
  if (idempotency_key(question.key.session, question.branch, *turn, question.call) != call_key) {
    return std::nullopt;
  }
  question.tool = "elicitation";
  question.asked_at = question.expires_at = core.env.clock().now();
  return std::pair(found->second.live, std::move(question));
}

void Engine::Impl::start_elicitation(LiveTurnPtr live, Question question, Done<Answer> done) {
  spawn([this, live = std::move(live), question = std::move(question), done = std::move(done)]() mutable {
    return elicit(std::move(live), std::move(question), std::move(done));
  });
}

Task<void> Engine::Impl::elicit(LiveTurnPtr live, Question question, Done<Answer> done) {
  const std::string id = question.id();
  // Before anything is stored, so that no answer can come too early.
  if (!live->open_elicitation(id, done)) {
    done(Error(ErrorCode::kCancelled, "the turn is over, or the same is asked already"));
    co_return;
  }
  const auto give = [&live, &id](Result<Answer> answer) {
    if (const Done<Answer> waiting = live->close_elicitation(id)) waiting(std::move(answer));
  };
  QuestionState stored;
  if (core.store) {
    const Result<std::vector<Record>> records =
        co_await read_stream(core, question.key, question_stream(question));
    if (!records) {
      give(records.error());
      co_return;
    }
    stored = state_of(question.key, *records);
    if (stored.answer) {
      give(*stored.answer);
      co_return;
    }
  }
  live->has_asked(id);
  if (core.store && !stored.question) {
    Note note{.key = question.key, .changes = {AddRecord{asked_record(question, stored.newest + 1)}}};
    const Result<void> written =
        co_await await<void>([&](Done<void> noted) { core.store->note(std::move(note), std::move(noted)); });
    if (!written) {
      give(written.error());
      co_return;
    }
  }
  live->log.add(asked_event(question));
}

}  // namespace tertulia
