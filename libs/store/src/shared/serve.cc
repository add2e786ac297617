#include "serve.h"

#include <utility>

namespace tertulia {
namespace {

using Answer = std::function<void(std::string)>;
using Changed = std::function<void(const SessionKey&)>;

template <class T>
std::string bounded_answer(const Result<T>& result) {
  std::string answer = answer_of(result);
  if (answer.size() + kFrameHeadBytes <= kMaxFrameBytes) return answer;
  Error too_large(ErrorCode::kTooLarge, "what was asked for has " + std::to_string(answer.size()) +
                                            " bytes, and between processes the limit is " +
                                            std::to_string(kMaxFrameBytes) + "; ask for less at a time");
  return answer_of(Result<void>(std::move(too_large)));
}

template <class T>
Done<T> answering(const Answer& answer) {
  return [answer](Result<T> result) { answer(bounded_answer(result)); };
}
// The same for a change of `key`.
template <class T>
Done<T> answering_change(const Answer& answer, const Changed& changed, SessionKey key) {
  return [answer, changed, key = std::move(key)](Result<T> result) {
    if (result) changed(key);
    answer(bounded_answer(result));
  };
}

// Reads the question and gives it to `ask`.
template <class Question, class Ask>
void read_and(std::string_view body, const Answer& answer, Ask ask) {
  Result<Question> question = read_body<Question>(body);
  if (!question) return answer(answer_of(Result<void>(std::move(question).error())));
  ask(*std::move(question));
}

void serve_change(Store& store, Verb verb, std::string_view body, const Changed& changed,
                  const Answer& answer) {
  if (verb == Verb::kCommit) {
    return read_and<Commit>(body, answer, [&](Commit commit) {
      Done<Revision> done = answering_change<Revision>(answer, changed, commit.key);
      store.commit(std::move(commit), std::move(done));
    });
  }
  if (verb == Verb::kNote) {
    return read_and<Note>(body, answer, [&](Note note) {
      Done<void> done = answering_change<void>(answer, changed, note.key);
      store.note(std::move(note), std::move(done));
    });
  }
  read_and<EraseScope>(body, answer, [&](EraseScope scope) {
    SessionKey key{scope.tenant, scope.owner, scope.session.value_or(SessionId())};
    store.erase(std::move(scope), answering_change<EraseReport>(answer, changed, std::move(key)));
  });
}

}  // namespace

bool is_change(Verb verb) { return verb == Verb::kCommit || verb == Verb::kNote || verb == Verb::kErase; }

void serve_question(Store& store, Verb verb, std::string_view body, const Changed& changed,
                    const Answer& answer) {
  switch (verb) {
    case Verb::kCommit:
    case Verb::kNote:
    case Verb::kErase:
      return serve_change(store, verb, body, changed, answer);
    case Verb::kLoad:
      return read_and<SessionKey>(
          body, answer, [&](SessionKey key) { store.load(std::move(key), answering<SessionState>(answer)); });
    case Verb::kReadTurns:
      return read_and<TurnsQuestion>(body, answer, [&](TurnsQuestion question) {
        store.read_turns(std::move(question.key), std::move(question.range),
                         answering<std::vector<StoredTurn>>(answer));
      });
    case Verb::kReadRecords:
      return read_and<RecordQuery>(body, answer, [&](RecordQuery query) {
        store.read_records(std::move(query), answering<RecordPage>(answer));
      });
    case Verb::kList:
      return read_and<SessionQuery>(body, answer, [&](SessionQuery query) {
        store.list(std::move(query), answering<SessionPage>(answer));
      });
    case Verb::kVerify:
      return store.verify(answering<VerifyReport>(answer));
    case Verb::kCheckWritable:
      return answer(answer_of(store.check_writable()));
    case Verb::kHello:
    case Verb::kHold:
    case Verb::kRelease:
    case Verb::kBackUp:
    case Verb::kChanged:
    case Verb::kAnswer:
      break;
  }
  answer(answer_of(Result<void>(Error(ErrorCode::kDamaged, "another process asked for nothing we know"))));
}

}  // namespace tertulia
