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

Error no_question(std::string_view id) {
  return Error(ErrorCode::kNoQuestion, "there is no question '" + std::string(id) +
                                           "' that waits for an answer; it may have been answered already");
}

}  // namespace

Result<std::vector<Question>> Engine::questions(const TenantId& tenant, const OwnerId& owner) {
  std::vector<Question> open;
  if (store() == nullptr) return open;
  std::map<std::pair<SessionId, StreamId>, Question> asked;
  RecordQuery query{.tenant = tenant, .owner = owner, .kind = RecordKind::kQuestion, .limit = 1'000};
  do {
    TERTULIA_TRY_AS(RecordPage page, read_records(*store(), query));
    for (const StoredRecord& stored : page.records) {
      const std::pair<SessionId, StreamId> place(stored.session, stored.record.stream);
      if (stored.record.number > 1) {
        asked.erase(place);
        continue;
      }
      TERTULIA_TRY_AS(Question question, question_of({tenant, owner, stored.session}, stored.record));
      asked.emplace(place, std::move(question));
    }
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  for (auto& [place, question] : asked) open.push_back(std::move(question));
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

// The question of this id, as it was asked. kNoQuestion if it was answered.
Task<Result<Question>> Engine::Impl::find_question(SessionKey key, std::string id) {
  // A branch of the caller's own is not in the store: its question is where its turn is.
  {
    MutexLock lock(mutex_);
    for (const auto& [turn, running] : running_) {
      const std::optional<Question> open = running.live->question();
      if (open && open->id() == id && open->key == key) co_return *open;
    }
  }
  if (!core.store) co_return no_question(id);
  const RecordQuery query{.tenant = key.tenant,
                          .owner = key.owner,
                          .session = key.session,
                          .kind = RecordKind::kQuestion,
                          .key = id,
                          .limit = 10};
  TERTULIA_CO_TRY_AS(const RecordPage page, co_await await<RecordPage>([&](Done<RecordPage> done) {
                       core.store->read_records(query, std::move(done));
                     }));
  if (page.records.size() != 1) co_return no_question(id);
  co_return question_of(key, page.records.front().record);
}

Task<Result<void>> Engine::Impl::answer_question(SessionKey key, std::string id, Answer answer) {
  TERTULIA_CO_TRY_AS(const Question question, co_await find_question(key, id));
  const bool wants_output = question.kind != Question::Kind::kPermission;
  const bool gives_output = answer.choice == Answer::Choice::kOutput;
  if (wants_output != gives_output && answer.choice != Answer::Choice::kDeny) {
    co_return Error(ErrorCode::kNoQuestion, wants_output
                                                ? "this question waits for what a tool gave, or for a refusal"
                                                : "this question is about a permission, not about an output");
  }
  if (question.kind == Question::Kind::kElicitation && gives_output) {
    TERTULIA_CO_TRY_AS(const Json content, parse_json(answer.output));
    if (content.as_object() == nullptr) {
      co_return Error(ErrorCode::kWrongType, "what a server wants to know is given as a JSON object");
    }
  }
  if (core.store) {
    // The rule first: whoever finds the answer finds it too.
    if (const std::optional<PermissionRule> rule = rule_of(question, answer)) {
      TERTULIA_CO_TRY(co_await add_rule(key, *rule));
    }
    Note note{.key = key, .changes = {AddRecord{answered_record(question, answer, core.env.clock().now())}}};
    const Result<void> written =
        co_await await<void>([&](Done<void> done) { core.store->note(std::move(note), std::move(done)); });
    if (!written) {
      const bool taken = written.error().code() == ErrorCode::kRevisionConflict;
      co_return taken ? no_question(id) : written.error();
    }
  }
  const LiveTurnPtr live = live_turn(question.turn);
  if (live && question.kind == Question::Kind::kElicitation) {
    if (const Done<Answer> waiting = live->close_elicitation(id)) waiting(std::move(answer));
  } else if (live) {
    live->answers.push({.call = question.call, .answer = std::move(answer)});
  }
  co_return Result<void>();
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
