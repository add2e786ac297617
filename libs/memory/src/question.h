// What a question asks for beside its words: a time, and whose words.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tertulia/base/clock.h"

#include "terms.h"
#include "word_index.h"

namespace tertulia {

// A year, a month of some year, or a day of one; what is not said is open. At least one is said. Or, where it
// was said as seen from now ("last week"), the days from `since` to before `until`.
struct DateMention {
  std::optional<int> year{};
  std::optional<unsigned> month{};
  std::optional<unsigned> day{};
  std::optional<std::chrono::sys_days> since{};
  std::optional<std::chrono::sys_days> until{};

  // 0 for another time, 1 for what it says, 2 if that is a day: more was said, so it weighs more. Around a
  // day the day before and the day behind it count, for people speak of things when they have happened.
  double fit(Time time) const;
  bool operator==(const DateMention&) const = default;
};

// "in May 2023", "on 8 May", "May 8th, 2023", "2023-05-08", "2022", "8. Mai 2023". The first that stands
// there.
std::optional<DateMention> date_in(const std::vector<std::string>& words,
                                   Language language = Language::kEnglish);
// "yesterday", "last week", "three months ago", in English. The first that stands there.
std::optional<DateMention> relative_date_in(const std::vector<std::string>& words, Time now);

struct RecallQuestion {
  // Each once; without the names of those who are asked about.
  std::vector<AskedTerm> terms;
  // Speakers that it names, as they stand in `speakers`; somebody who says "I" asks about "user".
  std::vector<std::string> named;
  std::optional<DateMention> date;
};

struct QuestionContext {
  // In lower case, as folded_words writes them, the first word of each.
  const std::unordered_set<std::string>& speakers;
  // Those of the texts that are searched.
  std::vector<Language> languages{Language::kEnglish};
  // Whether words that have to do with those of the question count.
  bool related = true;
  // When it is asked. None: "last week" says nothing.
  std::optional<Time> now{};
};

RecallQuestion read_question(std::string_view text, const QuestionContext& context);

}  // namespace tertulia
