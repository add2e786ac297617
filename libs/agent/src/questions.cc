// Questions from outside of the turn that asked: listing and answering them.
#include <algorithm>
#include <map>

#include "question_record.h"
#include "spawn.h"

namespace tertulia {
namespace {

// Of the rules that an answer makes, the one for this question; nothing for an answer that stands for itself.
std::optional<PermissionRule> rule_of(const Question& question, const Answer& answer) {
  switch (answer.choice) {
    case Answer::Choice::kAlways:
      return PermissionRule{.tool = question.tool, .permission = Permission::kAllow};
    case Answer::Choice::kAlwaysExactly:
      return PermissionRule{
          .tool = question.tool, .arguments = question.arguments_hash, .permission = Permission::kAllow};
    case Answer::Choice::kAlwaysDeny:
      return PermissionRule{.tool = question.tool, .permission = Permission::kDeny};
    case Answer::Choice::kOnce:
    case Answer::Choice::kDeny:
    case Answer::Choice::kOutput:
      return std::nullopt;
  }
  return std::nullopt;
}

// To the turn that waits for it. One that does not wait any more passes over it.
void give_answer(LiveTurn& live, const Question& question, Answer answer) {
  if (question.kind == Question::Kind::kElicitation) {
    if (const Done<Answer> waiting = live.close_elicitation(question.id())) waiting(std::move(answer));
  } else {
    live.answers.push({.call = question.call, .answer = std::move(answer)});
  }
}

Error no_question(std::string_view id) {
  return Error(ErrorCode::kNoQuestion, "there is no question '" + std::string(id) +
                                           "' that waits for an answer; it may have been answered already");
}

}  // namespace

Result<std::vector<Question>> Engine::questions(const TenantId& tenant, const OwnerId& owner,
                                                std::set<SessionId>* damaged) {
  std::vector<Question> open;
  if (store() == nullptr) return open;
  std::map<std::pair<SessionId, StreamId>, std::vector<Record>> streams;
  RecordQuery query{.tenant = tenant, .owner = owner, .kind = RecordKind::kQuestion, .limit = 1'000};
  do {
    TERTULIA_TRY_AS(RecordPage page, read_records(*store(), query));
    for (StoredRecord& stored : page.records) {
      streams[{stored.session, stored.record.stream}].push_back(std::move(stored.record));
    }
    TERTULIA_TRY(tell_damaged(page, damaged));
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  for (auto& [place, records] : streams) {
    // They came by their times, and clocks jump.
    std::ranges::sort(records, {}, &Record::number);
    QuestionState state = state_of({tenant, owner, place.first}, records);
    if (state.is_open()) open.push_back(*std::move(state.question));
  }
  std::ranges::sort(open, {}, &Question::asked_at);
  return open;
}

Result<void> Engine::answer(const SessionKey& key, std::string_view question, Answer answer) {
  return wait<void>([&](Done<void> done) {
    impl_->spawn([this, key, id = std::string(question), answer = std::move(answer),
                  done = std::move(done)]() mutable -> Task<void> {
      done(co_await impl_->answer_question(key, std::move(id), std::move(answer)));
    });
  });
}

// A branch of the caller's own is not in the store: its question is where its turn is.
std::optional<Question> Engine::Impl::live_question(const SessionKey& key, const std::string& id) const {
  MutexLock lock(mutex_);
  for (const auto& [turn, running] : running_) {
    std::optional<Question> open = running.live->question();
    if (open && open->id() == id && open->key == key) return open;
  }
  return std::nullopt;
}

// How far the question of this id has come in the store.
Task<Result<QuestionState>> Engine::Impl::stored_question(SessionKey key, std::string id) {
  RecordQuery query{.tenant = key.tenant,
                    .owner = key.owner,
                    .session = key.session,
                    .kind = RecordKind::kQuestion,
                    .key = id,
                    .limit = 1'000};
  std::vector<Record> records;
  do {
    Result<RecordPage> page = co_await await<RecordPage>(
        [&](Done<RecordPage> done) { core.store->read_records(query, std::move(done)); });
    if (!page && page.error().code() == ErrorCode::kNoSession) co_return QuestionState();
    if (!page) co_return std::move(page).error();
    for (StoredRecord& stored : page->records) records.push_back(std::move(stored.record));
    query.cursor = std::move(page->next);
  } while (!query.cursor.empty());
  co_return state_of(key, records);
}

// Of two answers at the same time one finds its number taken, and then that there is an answer.
Task<Result<void>> Engine::Impl::write_answer(Question question, Answer answer) {
  constexpr int kTries = 100;
  const std::string id = question.id();
  for (int tries = 0; tries < kTries; ++tries) {
    TERTULIA_CO_TRY_AS(const QuestionState stored, co_await stored_question(question.key, id));
    if (!stored.is_open()) co_return no_question(id);
    Note note{.key = question.key,
              .changes = {AddRecord{
                  answered_record(*stored.question, answer, core.env.clock().now(), stored.newest + 1)}}};
    Result<void> written =
        co_await await<void>([&](Done<void> done) { core.store->note(std::move(note), std::move(done)); });
    if (written || written.error().code() != ErrorCode::kRevisionConflict) co_return written;
  }
  co_return no_question(id);
}

Task<Result<void>> Engine::Impl::answer_question(SessionKey key, std::string id, Answer answer) {
  QuestionState stored;
  if (core.store) {
    TERTULIA_CO_TRY_AS(stored, co_await stored_question(key, id));
  }
  if (stored.answer) co_return no_question(id);
  const bool is_stored = stored.question.has_value();
  // Looked for only now: a question that is stored is closed before its records are dropped.
  const std::optional<Question> question = is_stored ? std::move(stored.question) : live_question(key, id);
  if (!question) co_return no_question(id);
  TERTULIA_CO_TRY(check_fits(*question, answer));
  if (is_stored) {
    // The rule first: whoever finds the answer finds it too.
    if (const std::optional<PermissionRule> rule = rule_of(*question, answer)) {
      TERTULIA_CO_TRY(co_await add_rule(key, *rule));
    }
    TERTULIA_CO_TRY(co_await write_answer(*question, answer));
  }
  if (const LiveTurnPtr live = live_turn(question->turn)) give_answer(*live, *question, std::move(answer));
  co_return Result<void>();
}

void Engine::Impl::hear_answers(const SessionKey& key) {
  std::vector<LiveTurnPtr> asking;
  {
    MutexLock lock(mutex_);
    for (const auto& [turn, running] : running_) {
      const SessionKey& of = running.live->key();
      const bool meant = key.tenant.empty() || (of.tenant == key.tenant && of.owner == key.owner &&
                                                (key.session.empty() || of.session == key.session));
      if (meant && running.live->question()) asking.push_back(running.live);
    }
  }
  for (const LiveTurnPtr& live : asking) {
    spawn([this, live]() -> Task<void> {
      const std::optional<Question> question = live->question();
      if (!question) co_return;
      const Result<QuestionState> stored = co_await stored_question(question->key, question->id());
      if (stored && stored->answer) give_answer(*live, *question, *stored->answer);
    });
  }
}

Task<Result<void>> Engine::Impl::add_rule(SessionKey key, PermissionRule rule) {
  constexpr int kTries = 100;
  for (int tries = 0; tries < kTries; ++tries) {
    TERTULIA_CO_TRY_AS(SessionState state, co_await await<SessionState>([&](Done<SessionState> done) {
                         core.store->load(key, std::move(done));
                       }));
    TERTULIA_CO_TRY(add_session_rule(state.session.state, rule));
    Commit commit{.key = key,
                  .expected = state.session.revision,
                  .changes = {PutSession{state.session}},
                  .time = core.env.clock().now()};
    const Result<Revision> revision = co_await await<Revision>(
        [&](Done<Revision> done) { core.store->commit(std::move(commit), std::move(done)); });
    if (revision) {
      state.session.revision = *revision;
      desk_for(key)->seat.saw(state.session);
      co_return Result<void>();
    }
    if (revision.error().code() != ErrorCode::kRevisionConflict) co_return revision.error();
  }
  co_return Error(ErrorCode::kRevisionConflict, "the session changed each time that the rule was written");
}

}  // namespace tertulia
