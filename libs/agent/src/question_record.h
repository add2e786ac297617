// Questions and answers as records, a stream for each question. What was asked last is the question; the
// first record behind it that fits answers it. One that does not fit (it was given to a call that looked
// otherwise, or cannot be read) answers nothing, and the question stays open. A writer states the number of
// its record, so of two answers at the same time only one is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tertulia/agent/permissions.h"
#include "tertulia/conversation/event.h"
#include "tertulia/store/record.h"

namespace tertulia {

StreamId question_stream(const BranchId& branch, const TurnId& turn, std::uint32_t call);
StreamId question_stream(const Question& question);
Record asked_record(const Question& question, std::uint64_t number = 1);
// As whoever follows the turn is told of it.
Event asked_event(const Question& question);
Result<Question> question_of(const SessionKey& key, const Record& asked);
Record answered_record(const Question& question, const Answer& answer, Time now, std::uint64_t number = 2);
// kNoQuestion if it does not fit: it is to a call with other arguments, or of another kind than is asked for.
Result<Answer> answer_of(const Record& answered, const Question& question);
// Whether such an answer can be given to the question at all. kNoQuestion.
Result<void> check_fits(const Question& question, const Answer& answer);

// How far a question has come.
struct QuestionState {
  // None if nothing is asked.
  std::optional<Question> question;
  std::optional<Answer> answer;
  // Answers that do not fit.
  std::size_t misfits = 0;
  // The number of the last record.
  std::uint64_t newest = 0;

  bool is_open() const { return question && !answer; }
};
// `records` is the whole stream, in its order.
QuestionState state_of(const SessionKey& key, std::span<const Record> records);

}  // namespace tertulia
