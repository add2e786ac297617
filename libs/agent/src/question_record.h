// Questions and answers as records: a stream for each question, in which the first record asks and the second
// answers. A second answer finds the number taken.
#pragma once

#include "tertulia/agent/permissions.h"
#include "tertulia/conversation/event.h"
#include "tertulia/store/record.h"

namespace tertulia {

StreamId question_stream(const BranchId& branch, const TurnId& turn, std::uint32_t call);
StreamId question_stream(const Question& question);
Record asked_record(const Question& question);
// As whoever follows the turn is told of it.
Event asked_event(const Question& question);
Result<Question> question_of(const SessionKey& key, const Record& asked);
Record answered_record(const Question& question, const Answer& answer, Time now);
// kNoQuestion if it answers to a call with other arguments.
Result<Answer> answer_of(const Record& answered, std::string_view arguments_hash);

}  // namespace tertulia
