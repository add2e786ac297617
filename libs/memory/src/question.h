// What a question asks for beside its words: a time, and whose words.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tertulia/base/clock.h"

namespace tertulia {

// A year, a month of some year, or a day of one; what is not said is open. At least one is said.
struct DateMention {
  std::optional<int> year;
  std::optional<unsigned> month;
  std::optional<unsigned> day;

  // 0 for another time, 1 for what it says, 2 if that is a day: more was said, so it weighs more. Around a
  // day the day before and the day behind it count, for people speak of things when they have happened.
  double fit(Time time) const;
  bool operator==(const DateMention&) const = default;
};

// "in May 2023", "on 8 May", "May 8th, 2023", "2023-05-08", "2022". The first that stands there.
std::optional<DateMention> date_in(const std::vector<std::string>& words);

struct Question {
  // Stems, each once; without the names of those who are asked about.
  std::vector<std::string> terms;
  // Speakers that it names, as they stand in `speakers`; somebody who says "I" asks about "user".
  std::vector<std::string> named;
  std::optional<DateMention> date;
};

// `speakers`: in lower case, as folded_words writes them, the first word of each.
Question read_question(std::string_view text, const std::unordered_set<std::string>& speakers);

}  // namespace tertulia
