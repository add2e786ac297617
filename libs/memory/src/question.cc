#include "question.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <span>

#include "tertulia/text/word_pieces.h"

#include "terms.h"

namespace tertulia {
namespace {

// How short a short form of a name may be: "Mel" for Melanie.
constexpr std::size_t kShortName = 3;
constexpr std::string_view kUser = "user";

using Months = std::array<std::string_view, 12>;
constexpr std::array<Months, kLanguages> kMonths = {{
    {"january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
     "november", "december"},
    {"januar", "februar", "marz", "april", "mai", "juni", "juli", "august", "september", "oktober",
     "november", "dezember"},
    {"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre",
     "noviembre", "diciembre"},
    {"janvier", "fevrier", "mars", "avril", "mai", "juin", "juillet", "aout", "septembre", "octobre",
     "novembre", "decembre"},
}};

std::optional<int> number_in(std::string_view word) {
  for (const std::string_view ending : {"st", "nd", "rd", "th"}) {
    if (word.size() > 2 && word.ends_with(ending)) word.remove_suffix(2);
  }
  int number = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (word.empty() || problem != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

std::optional<unsigned> month_in(std::string_view word, Language language) {
  const Months& months = kMonths[static_cast<std::size_t>(language)];
  for (unsigned i = 0; i < months.size(); ++i) {
    const bool short_form = language == Language::kEnglish && word.size() == 3 && word != "mar" &&
                            word != "may" && months[i].starts_with(word);
    if (word == months[i] || short_form) return i + 1;
  }
  return std::nullopt;
}

std::optional<int> year_in(std::string_view word) {
  const auto number = number_in(word);
  return word.size() == 4 && number && *number >= 1900 && *number < 2200 ? number : std::nullopt;
}

std::optional<unsigned> day_in(std::string_view word) {
  const auto number = number_in(word);
  if (!number || *number < 1 || *number > 31 || word.size() > 4) return std::nullopt;
  return static_cast<unsigned>(*number);
}

// The word at `i`, passing over marks from there on in steps of `step`; empty beyond the ends.
std::string_view near_word(const std::vector<std::string>& words, std::size_t i, std::ptrdiff_t step) {
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i) + step;
       at >= 0 && at < static_cast<std::ptrdiff_t>(words.size()); at += step) {
    const std::string& word = words[static_cast<std::size_t>(at)];
    if (word != "," && word != "." && word != "of" && word != "the" && word != "de") return word;
  }
  return {};
}

// "may" is a month only where a date stands beside it or "in" before it.
bool is_month_here(const std::vector<std::string>& words, std::size_t i) {
  if (words[i] != "may" && words[i] != "march") return true;
  const std::string_view before = near_word(words, i, -1);
  const std::string_view behind = near_word(words, i, 1);
  constexpr std::array<std::string_view, 8> kBefore = {"in",   "during", "since", "until",
                                                       "last", "this",   "by",    "before"};
  return day_in(before) || day_in(behind) || year_in(behind) ||
         std::find(kBefore.begin(), kBefore.end(), before) != kBefore.end();
}

std::optional<DateMention> iso_date(const std::vector<std::string>& words, std::size_t i) {
  if (i + 4 >= words.size() || words[i + 1] != "-" || words[i + 3] != "-") return std::nullopt;
  const auto year = year_in(words[i]);
  const auto month = day_in(words[i + 2]);
  const auto day = day_in(words[i + 4]);
  if (!year || !month || *month > 12 || !day) return std::nullopt;
  return DateMention{year, month, day};
}

DateMention around_month(const std::vector<std::string>& words, std::size_t i, unsigned month) {
  DateMention date{.month = month};
  const std::string_view behind = near_word(words, i, 1);
  date.year = year_in(behind);
  date.day = day_in(near_word(words, i, -1));
  if (!date.day && !date.year) {
    date.day = day_in(behind);
    // "May 8, 2023": the year stands behind the day.
    if (date.day) {
      for (std::size_t k = i + 1; k < std::min(i + 5, words.size()) && !date.year; ++k)
        date.year = year_in(words[k]);
    }
  }
  return date;
}

// Days, weeks and the like as people count them.
std::optional<int> count_in(std::string_view word) {
  constexpr std::array<std::string_view, 11> kNumbers = {"zero", "one",   "two",   "three", "four", "five",
                                                         "six",  "seven", "eight", "nine",  "ten"};
  for (std::size_t i = 1; i < kNumbers.size(); ++i) {
    if (word == kNumbers[i]) return static_cast<int>(i);
  }
  if (word == "a" || word == "an") return 1;
  if (word == "couple") return 2;
  const auto number = number_in(word);
  return number && *number > 0 && *number < 1'000 ? number : std::nullopt;
}

// How many days the unit has; 0 if it is none.
int days_in(std::string_view unit) {
  if (unit == "day" || unit == "days") return 1;
  if (unit == "week" || unit == "weeks") return 7;
  if (unit == "month" || unit == "months") return 30;
  if (unit == "year" || unit == "years") return 365;
  return 0;
}

// The calendar week, month or year, `back` of them before that of `today`.
DateMention calendar_span(std::chrono::sys_days today, int unit, int back) {
  using namespace std::chrono;
  if (unit == 7) {
    const sys_days monday = today - (weekday(today) - Monday);
    return {.since = monday - weeks(back), .until = monday - weeks(back - 1)};
  }
  const year_month_day date(today);
  if (unit == 30) {
    const year_month month = date.year() / date.month() - months(back);
    return {.since = sys_days(month / 1), .until = sys_days((month + months(1)) / 1)};
  }
  return {.year = static_cast<int>(date.year()) - back};
}

// "three weeks ago": the more days have passed, the less exactly it is meant.
DateMention around(std::chrono::sys_days day, int unit) {
  const std::chrono::days slack(unit == 1 ? 0 : unit / 2 + 1);
  return {.since = day - slack, .until = day + slack + std::chrono::days(1)};
}

}  // namespace

double DateMention::fit(Time time) const {
  const auto days = std::chrono::floor<std::chrono::days>(time);
  if (since && until) {
    if (*since <= days && days < *until) return *until - *since <= std::chrono::days(1) ? 2 : 1;
    return 0;
  }
  const std::chrono::year_month_day date(days);
  if (year && int(date.year()) != *year) return 0;
  if (!month) return 1;
  if (day) {
    for (const int shift : {-1, 0, 1}) {
      const std::chrono::year_month_day near(days + std::chrono::days(shift));
      if (unsigned(near.month()) == *month && unsigned(near.day()) == *day) return 2;
    }
  }
  return unsigned(date.month()) == *month ? 1 : 0;
}

std::optional<DateMention> date_in(const std::vector<std::string>& words, Language language) {
  std::optional<DateMention> year_alone;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (auto date = iso_date(words, i)) return date;
    const auto month = month_in(words[i], language);
    if (month && (language != Language::kEnglish || is_month_here(words, i)))
      return around_month(words, i, *month);
    if (!year_alone && year_in(words[i])) year_alone = DateMention{.year = year_in(words[i])};
  }
  return year_alone;
}

std::optional<DateMention> relative_date_in(const std::vector<std::string>& words, Time now) {
  const auto today = std::chrono::floor<std::chrono::days>(now);
  const auto word = [&](std::size_t i) { return i < words.size() ? std::string_view(words[i]) : ""; };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "today") return around(today, 1);
    if (words[i] == "yesterday") return around(today - std::chrono::days(1), 1);
    const int unit = days_in(word(i + 1));
    if (unit > 1 && words[i] == "last") return calendar_span(today, unit, 1);
    if (unit > 1 && words[i] == "this") return calendar_span(today, unit, 0);
    const auto count = count_in(words[i]);
    const std::size_t behind = word(i + 1) == "of" ? i + 2 : i + 1;
    if (const int each = days_in(word(behind)); count && each > 0 && word(behind + 1) == "ago") {
      return around(today - std::chrono::days(*count * each), each);
    }
  }
  return std::nullopt;
}

namespace {

bool is_first_person(std::string_view word, Language language) {
  switch (language) {
    case Language::kEnglish:
      return word == "i" || word == "my" || word == "me" || word == "mine";
    case Language::kGerman:
      return word == "ich" || word == "mich" || word == "mir" || word.starts_with("mein");
    case Language::kSpanish:
      return word == "yo" || word == "mi" || word == "mis" || word == "me";
    case Language::kFrench:
      return word == "je" || word == "j" || word == "moi" || word == "mon" || word == "ma" || word == "mes";
  }
  return false;
}

// The stems of the words in each language, those at the same place together.
std::vector<AskedTerm> stems_in(std::span<const std::string> words, const std::vector<Language>& languages) {
  std::vector<AskedTerm> asked;
  for (const Language language : languages) {
    const TextTerms text = terms_of(words, language);
    // Which words are small differs: then the languages do not go together word by word.
    const bool beside = asked.size() == text.terms.size();
    for (std::size_t i = 0; i < text.terms.size(); ++i) {
      const std::string& stem = text.terms[i];
      if (!beside) {
        asked.push_back({.stems = {stem}, .word = text.words[i]});
      } else if (std::find(asked[i].stems.begin(), asked[i].stems.end(), stem) == asked[i].stems.end()) {
        asked[i].stems.push_back(stem);
      }
    }
  }
  return asked;
}

}  // namespace

RecallQuestion read_question(std::string_view text, const QuestionContext& context) {
  RecallQuestion question;
  const std::vector<std::string> words = folded_words(text);
  const std::optional<Language> told = language_of(words);
  const Language language = told.value_or(Language::kEnglish);
  question.date = date_in(words, language);
  if (!question.date && context.now) question.date = relative_date_in(words, *context.now);
  const auto name = [&](const std::string& speaker) {
    if (std::find(question.named.begin(), question.named.end(), speaker) == question.named.end())
      question.named.push_back(speaker);
  };
  const std::string user(kUser);
  std::vector<std::string> asked;
  for (const std::string& word : words) {
    if (is_first_person(word, language) && context.speakers.contains(user)) name(user);
    if (is_stop_word(word, language)) continue;
    const auto speaker =
        std::find_if(context.speakers.begin(), context.speakers.end(), [&](const std::string& one) {
          return one == word || (word.size() >= kShortName && one != kUser && one.starts_with(word));
        });
    if (speaker != context.speakers.end()) {
      name(*speaker);
    } else {
      asked.push_back(word);
    }
  }
  // Texts whose language could not be told were read as English.
  std::vector<Language> languages{language};
  for (const Language other : context.languages) {
    const bool possible = !told || other == Language::kEnglish;
    if (possible && other != language) languages.push_back(other);
  }
  std::set<std::vector<std::string>> known;
  for (AskedTerm& term : stems_in(asked, languages)) {
    if (!context.related) term.word.clear();
    if (known.insert(term.stems).second) question.terms.push_back(std::move(term));
  }
  return question;
}

}  // namespace tertulia
