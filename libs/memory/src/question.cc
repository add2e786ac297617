#include "question.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "tertulia/text/word_pieces.h"

#include "terms.h"

namespace tertulia {
namespace {

// How short a short form of a name may be: "Mel" for Melanie.
constexpr std::size_t kShortName = 3;
constexpr std::string_view kUser = "user";

constexpr std::array<std::string_view, 12> kMonths = {"january",   "february", "march",    "april",
                                                      "may",       "june",     "july",     "august",
                                                      "september", "october",  "november", "december"};

std::optional<int> number_in(std::string_view word) {
  for (const std::string_view ending : {"st", "nd", "rd", "th"}) {
    if (word.size() > 2 && word.ends_with(ending)) word.remove_suffix(2);
  }
  int number = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (word.empty() || problem != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

std::optional<unsigned> month_in(std::string_view word) {
  for (unsigned i = 0; i < kMonths.size(); ++i) {
    const bool short_form =
        word.size() == 3 && word != "mar" && word != "may" && kMonths[i].starts_with(word);
    if (word == kMonths[i] || short_form) return i + 1;
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
    if (word != "," && word != "of" && word != "the") return word;
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

}  // namespace

double DateMention::fit(Time time) const {
  const auto days = std::chrono::floor<std::chrono::days>(time);
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

std::optional<DateMention> date_in(const std::vector<std::string>& words) {
  std::optional<DateMention> year_alone;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (auto date = iso_date(words, i)) return date;
    const auto month = month_in(words[i]);
    if (month && is_month_here(words, i)) return around_month(words, i, *month);
    if (!year_alone && year_in(words[i])) year_alone = DateMention{.year = year_in(words[i])};
  }
  return year_alone;
}

Question read_question(std::string_view text, const std::unordered_set<std::string>& speakers) {
  Question question;
  const std::vector<std::string> words = folded_words(text);
  question.date = date_in(words);
  const auto add_once = [](std::vector<std::string>& list, std::string value) {
    if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(std::move(value));
  };
  for (const std::string& word : words) {
    const bool first_person = word == "i" || word == "my" || word == "me" || word == "mine";
    if (first_person && speakers.contains(std::string(kUser))) add_once(question.named, std::string(kUser));
    if (is_stop_word(word)) continue;
    const auto speaker = std::find_if(speakers.begin(), speakers.end(), [&](const std::string& name) {
      return name == word || (word.size() >= kShortName && name != kUser && name.starts_with(word));
    });
    if (speaker != speakers.end()) {
      add_once(question.named, *speaker);
    } else if (const std::vector<std::string> terms = terms_of(word); !terms.empty()) {
      add_once(question.terms, terms.front());
    }
  }
  return question;
}

}  // namespace tertulia
