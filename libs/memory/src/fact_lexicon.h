// What single English words mean to the rules of facts. All are asked for in lower case.
#pragma once

#include <string_view>

namespace tertulia {

// The question that a word belongs to: "live", "work", "name"; empty for most words.
std::string_view question_of(std::string_view word);

// Says nothing of the fact itself: "actually", "really", "user".
bool is_filler(std::string_view word);
// Says that something is new or corrected: "now", "instead", "moved".
bool is_change(std::string_view word);
// A person or an animal that one speaks of as one's own: "sister", "dog", "boss".
bool is_kin(std::string_view word);
bool is_profession(std::string_view word);
bool is_colour(std::string_view word);
// Weekdays and months.
bool is_calendar(std::string_view word);
bool is_nationality(std::string_view word);
// "three", "42", "1st".
bool is_number(std::string_view word);
// Verbs with which one says several things that hold beside each other: "like", "speak", "have".
bool takes_many(std::string_view word);
// Verbs of which one thing holds at a time: "study", "attend".
bool takes_one(std::string_view word);
// Turn a sentence round: "not", "never", "hate", "sold".
bool is_denial(std::string_view word);
// What is wished, planned or over: "want", "hope", "used".
bool is_not_now(std::string_view word);

}  // namespace tertulia
