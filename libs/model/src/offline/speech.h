// Whether somebody asks, wants something done, or tells: by the form of the words, in four languages.
#pragma once

#include <string>
#include <string_view>

namespace tertulia::offline {

enum class Speech {
  kQuestion,
  kRequest,
  // A word such as "ok" or "yes", which expects nothing.
  kAssent,
  kStatement,
  // Less than a sentence.
  kOther,
};

Speech speech_of(std::string_view text);

// What to say to a statement: that it is kept, in the language of the statement, in its own words. `first`
// adds, once in a conversation, that keeping is all that is done with it.
std::string acknowledge(std::string_view statement, bool first);
// True if `answer` was made by acknowledge().
bool is_acknowledgement(std::string_view answer);

}  // namespace tertulia::offline
