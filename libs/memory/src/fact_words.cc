#include "fact_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "tertulia/text/word_pieces.h"

#include "fact_lexicon.h"
#include "terms.h"

namespace tertulia {
namespace {

struct Word {
  // In lower case, without marks around it; "i'm" is two words, "i" and "am".
  std::string text;
  // Written with a capital where it needs none.
  bool capital = false;
  // "sister's": what follows is the sister's.
  bool genitive = false;
  // A comma or an end stands behind it.
  bool ends = false;
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kShort = {{{"n't", "not"},
                                                                                  {"'m", "am"},
                                                                                  {"'re", "are"},
                                                                                  {"'ve", "have"},
                                                                                  {"'ll", "will"},
                                                                                  {"'d", "would"},
                                                                                  {"'s", "is"}}};

bool is_mark(char c) { return std::ispunct(static_cast<unsigned char>(c)) != 0; }

bool is_title(std::string_view word) {
  return word == "dr" || word == "mr" || word == "mrs" || word == "ms" || word == "prof" || word == "st";
}

// Words of which "'s" is short for "is".
bool takes_is(std::string_view word) {
  return word == "it" || word == "he" || word == "she" || word == "that" || word == "there" ||
         word == "here" || word == "what" || word == "who";
}

std::string folded(std::string_view word) {
  std::string joined;
  for (const std::string& piece : folded_words(word)) joined += piece;
  return joined;
}

void add_word(std::vector<Word>& words, std::string_view raw, bool begins) {
  bool ends = false;
  while (!raw.empty() && is_mark(raw.back()) && raw.back() != '%') {
    ends = ends || raw.back() == ',' || raw.back() == '.' || raw.back() == ';' || raw.back() == ':' ||
           raw.back() == '!' || raw.back() == '?';
    raw.remove_suffix(1);
  }
  while (!raw.empty() && is_mark(raw.front())) raw.remove_prefix(1);
  if (raw.empty()) return;
  const bool capital = !begins && std::isupper(static_cast<unsigned char>(raw.front())) != 0 && raw != "I" &&
                       !raw.starts_with("I'");
  // "iPhone".
  const bool inside = std::any_of(raw.begin() + 1, raw.end(),
                                  [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; });
  std::string text = folded(raw);
  if (text == "can't" || text == "cannot") text = "cann't";
  if (text == "won't") text = "willn't";
  for (const auto& [end, meant] : kShort) {
    if (text.size() <= end.size() || !text.ends_with(end)) continue;
    text.resize(text.size() - end.size());
    const bool genitive = end == "'s" && !takes_is(text);
    if (text == "can" && end == "n't") text = "can";
    words.push_back({text, capital || inside, genitive, false});
    if (!genitive) words.push_back({std::string(meant), false, false, ends});
    return;
  }
  if (is_title(text)) ends = false;
  words.push_back({std::move(text), capital || inside, false, ends});
}

std::vector<Word> split_words(std::string_view text) {
  std::vector<Word> words;
  bool begins = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
    const std::string_view raw = text.substr(at, end - at);
    if (!raw.empty()) {
      // Typographic apostrophes are those of keyboards.
      std::string plain(raw);
      for (std::size_t mark = plain.find("’"); mark != std::string::npos; mark = plain.find("’")) {
        plain.replace(mark, std::string_view("’").size(), "'");
      }
      add_word(words, plain, begins);
      begins = !words.empty() && words.back().ends && raw.back() != ',';
    }
    at = end + 1;
  }
  return words;
}

bool is_be(std::string_view word) {
  return word == "is" || word == "are" || word == "am" || word == "was" || word == "were" || word == "became";
}
bool is_have(std::string_view word) {
  return word == "have" || word == "has" || word == "got" || word == "own" || word == "owns";
}
bool is_place_word(std::string_view word) { return word == "in" || word == "to" || word == "at"; }
bool is_article(std::string_view word) {
  return word == "a" || word == "an" || word == "the" || word == "my" || word == "our" || word == "last" ||
         word == "next" || word == "this" || word == "with";
}

class Reading {
 public:
  explicit Reading(std::string_view text) : words_(split_words(text)) {}

  FactWords read() {
    split_what_is_over();
    find_moods();
    find_subject();
    find_content();
    find_relation();
    fact_.is_only = only_is();
    return std::move(fact_);
  }

 private:
  const std::string& at(std::size_t i) const {
    static const std::string kNothing;
    return i < words_.size() ? words_[i].text : kNothing;
  }
  bool has(std::string_view word) const {
    return std::any_of(words_.begin(), words_.end(), [&](const Word& one) { return one.text == word; });
  }
  std::size_t place_of(std::string_view word) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i].text == word) return i;
    }
    return words_.size();
  }
  static bool is_content(const Word& word) {
    return !is_stop_word(word.text) && !is_filler(word.text) && is_word(word.text);
  }

  void deny(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (is_content(words_[i])) fact_.denied.insert(stem_of(words_[i].text));
    }
    words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(begin),
                 words_.begin() + static_cast<std::ptrdiff_t>(end));
    fact_.changes = true;
  }

  // "left Google and joined Mozilla", "Leo, not Tiger", "from Windows to Linux": what is over is taken out.
  void split_what_is_over() {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::string& word = words_[i].text;
      if (word == "left" || word == "quit" || word == "stopped" || word == "sold") {
        for (std::size_t end = i + 1; end < words_.size(); ++end) {
          const bool parts = words_[end].ends && end + 2 < words_.size();
          if (!parts && words_[end].text != "and" && words_[end].text != "but") continue;
          return deny(i, end + 1);
        }
      }
      if (word == "from" && place_of("to") < words_.size() && place_of("to") > i + 1 &&
          (has("switched") || has("changed") || has("moved"))) {
        return deny(i, place_of("to"));
      }
      if (word == "not" && i > 2 && words_[i - 1].ends) return deny(i, words_.size());
    }
  }

  void find_moods() {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::string& word = words_[i].text;
      if (word == "gave" && at(i + 1) != "up") continue;
      if (word == "left" && i > 0 && (at(i - 1) == "the" || at(i - 1) == "my")) continue;
      // "not … any more" and "no longer" are one denial, and so are "no wait" and "no, …" none.
      const bool spoken = word == "no" && (i == 0 && at(1) != "longer");
      if (is_denial(word) && !spoken) fact_.negated = !fact_.negated;
      if (is_change(word) || (word == "these" && at(i + 1) == "days")) fact_.changes = true;
      if (is_not_now(word)) fact_.not_now = fact_.not_now || word != "used" || at(i + 1) == "to";
      // "was in Japan" is one of many, "was moved to Monday" is not.
      const bool was = word == "was" || word == "were";
      fact_.many = fact_.many || (takes_many(word) && !(was && is_change(at(i + 1))));
      fact_.one = fact_.one || takes_one(word);
    }
  }

  // A kin word is whom the sentence is about, unless it is what somebody has.
  void find_subject() {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const Word& word = words_[i];
      if (word.genitive && word.capital && !is_kin(word.text)) fact_.subject.insert(stem_of(word.text));
      if (!is_kin(word.text)) continue;
      bool had = false;
      for (std::size_t back = 1; back <= 3 && back <= i; ++back) {
        if (at(i - back) == "my" || at(i - back) == "our") break;
        had = had || is_have(at(i - back));
      }
      const bool named = has("called") || has("named");
      if (had && !named) continue;
      // "I'm a mother", "I live with my brother".
      if (i >= 2 && at(i - 1) == "my" && at(i - 2) == "with") continue;
      fact_.subject.insert(stem_of(word.text));
    }
  }

  bool is_subject(const Word& word) const {
    return fact_.subject.contains(stem_of(word.text)) && (is_kin(word.text) || word.genitive);
  }

  ValueKind kind_of(std::size_t i, bool& found) const {
    const Word& word = words_[i];
    found = true;
    const bool month_beside = is_calendar(at(i + 1)) || (i > 0 && is_calendar(at(i - 1)));
    if (is_calendar(word.text) && (word.text != "may" || word.capital)) return ValueKind::kDay;
    if (is_number(word.text) || word.text == "one") {
      const bool clock = word.text.find(':') != std::string::npos || at(i + 1) == "pm" || at(i + 1) == "am" ||
                         word.text.ends_with("pm") || (i > 0 && at(i - 1) == "at");
      if (month_beside || word.text.ends_with("st") || word.text.ends_with("th") ||
          word.text.ends_with("nd") || word.text.ends_with("rd")) {
        return ValueKind::kDay;
      }
      return clock ? ValueKind::kTime : ValueKind::kNumber;
    }
    if (is_colour(word.text)) return ValueKind::kColour;
    if (word.capital && !is_title(word.text) && !is_nationality(word.text)) return ValueKind::kName;
    found = false;
    return ValueKind::kName;
  }

  void find_content() {
    const std::size_t verb = verb_place();
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const Word& word = words_[i];
      bool marked = false;
      const ValueKind kind = kind_of(i, marked);
      if (word.text == "one") {
        if (i + 1 < words_.size() && i > 0) fact_.kinds[ValueKind::kNumber].insert("one");
        continue;
      }
      if (word.text == "pm" || word.text == "am" || is_title(word.text)) continue;
      const bool calendar = marked && kind == ValueKind::kDay;
      if (!calendar && !is_content(word)) continue;
      if (is_subject(word) || is_denial(word.text)) continue;
      const std::string stem = stem_of(word.text);
      const std::string_view question = question_of(word.text);
      if (!question.empty() && question != "diet" && question != "marital") continue;
      fact_.values.insert(stem);
      // What stands before the verb says which one is meant, not what it is.
      if (marked && (i > verb || verb == words_.size())) {
        fact_.kinds[kind].insert(stem);
      } else {
        fact_.plain.insert(stem);
      }
      if (word.capital || is_number(word.text) || (marked && kind == ValueKind::kDay))
        fact_.names.insert(stem);
    }
  }

  std::size_t verb_place() const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (is_be(at(i)) || is_have(at(i)) || is_change(at(i)) || takes_many(at(i))) return i;
      const bool thing = at(0) == "my" || at(0) == "the" || at(0) == "our";
      if (!thing && i > 0) return i;
    }
    return words_.size();
  }

  void answer_with(std::size_t from, std::size_t until = 99) {
    for (std::size_t i = from; i < words_.size() && i < until; ++i) {
      const Word& word = words_[i];
      if (is_content(word) && !is_subject(word) && question_of(word.text).empty()) {
        fact_.answer.insert(stem_of(word.text));
      }
      if (word.ends || word.text == "and") break;
    }
  }
  void relate(std::string_view relation) { fact_.relation = relation; }

  void find_relation() {
    if (fact_.not_now) return;
    for (std::size_t i = 0; i < words_.size() && fact_.relation.empty(); ++i) {
      const std::string_view question = question_of(at(i));
      if (!question.empty()) ask(question, i);
    }
    if (fact_.relation.empty()) ask_of_being();
  }

  void ask(std::string_view question, std::size_t i) {
    if (question == "live") return ask_place();
    if (question == "work") return ask_work(i);
    if (question == "name") return ask_name(i);
    if (question == "best" || question == "prefer") return ask_best(question, i);
    if (question == "marital" || question == "diet") return take(question, i, i + 1);
    if (question == "drive") {
      if (at(i + 1) == "a" || at(i + 1) == "an") take(question, i + 2);
      return;
    }
    if (question == "phone" || question == "email" || question == "address") return ask_contact(question, i);
    if (question == "age") {
      if (is_number(at(i + 1)) || at(i) == "age") take(question, i + 1);
      return;
    }
    if (question == "call") {
      if (at(i + 1) == "me" && i == 0) take(question, i + 2, i + 3);
      return;
    }
    take(question, i + 1);
  }

  void take(std::string_view question, std::size_t from, std::size_t until = 99) {
    relate(question);
    if (until == from + 1 && from < words_.size()) {
      fact_.answer.insert(stem_of(at(from)));
    } else {
      answer_with(from, until);
    }
  }

  // Where: the first place that is named, and not the time or the flat.
  void ask_place() {
    for (std::size_t i = 0; i + 1 < words_.size(); ++i) {
      if (!is_place_word(at(i)) || is_article(at(i + 1)) || is_calendar(at(i + 1)) || is_number(at(i + 1)))
        continue;
      if (!is_content(words_[i + 1])) continue;
      relate("live");
      for (std::size_t k = i + 1; k < words_.size() && (k == i + 1 || words_[k].capital); ++k) {
        fact_.answer.insert(stem_of(at(k)));
        if (words_[k].ends) break;
      }
      return;
    }
  }

  void ask_work(std::size_t i) {
    const std::string& word = at(i);
    if (word == "unemployed" || word == "retired" || word == "jobless") return take("work", i, i + 1);
    for (std::size_t k = i + 1; k < words_.size(); ++k) {
      if (at(k) == "at" || at(k) == "for" || at(k) == "as") {
        fact_.topic.insert(at(k) == "as" ? "as" : "at");
        return take("work", k + 1);
      }
      if (word == "job" && is_be(at(k))) {
        fact_.topic.insert("as");
        return take("work", k + 1);
      }
    }
    if (word == "joined" || word == "employer") {
      fact_.topic.insert("at");
      take("work", i + 1);
    }
  }

  void ask_name(std::size_t i) {
    if (i > 0 &&
        (at(i - 1) == "last" || at(i - 1) == "first" || at(i - 1) == "middle" || at(i - 1) == "nick")) {
      fact_.topic.insert(at(i - 1));
    }
    relate("name");
    std::size_t from = i + 1;
    for (std::size_t k = i; k < words_.size(); ++k) {
      if (is_be(at(k))) from = k + 1;
    }
    for (std::size_t k = from; k < words_.size(); ++k) {
      if (!is_content(words_[k]) || is_subject(words_[k])) continue;
      fact_.answer.insert(stem_of(at(k)));
      if (words_[k].ends || !(k + 1 < words_.size() && words_[k + 1].capital)) break;
    }
  }

  // "favourite food": behind the word stands what is asked, and the answer behind the verb or before it all.
  void ask_best(std::string_view question, std::size_t i) {
    relate(question);
    if (question == "prefer") return answer_with(i + 1);
    std::size_t k = i + 1;
    for (; k < words_.size() && !is_be(at(k)) && !words_[k - 1].ends; ++k) {
      if (!is_content(words_[k])) continue;
      // British and American.
      std::string stem = stem_of(at(k));
      if (stem == "color") stem = "colour";
      fact_.topic.insert(std::move(stem));
    }
    if (k < words_.size() && is_be(at(k))) return answer_with(k + 1);
    answer_with(0, i);
  }

  void ask_contact(std::string_view question, std::size_t i) {
    for (std::size_t k = i; k > 0; --k) {
      const std::string& before = at(k - 1);
      if (before == "my" || before == "our" || before == "new" || before == "the" || before == "is") break;
      if (before != "phone" && before != "mobile" && before != "home") fact_.topic.insert(stem_of(before));
    }
    // "My phone is a Pixel" is none of its number.
    const bool number = std::any_of(
        words_.begin() + static_cast<std::ptrdiff_t>(i), words_.end(),
        [](const Word& word) { return is_number(word.text) || word.text.find('@') != std::string::npos; });
    if (!number) {
      fact_.topic.clear();
      return;
    }
    relate(question);
    for (std::size_t k = i + 1; k < words_.size(); ++k) {
      if (is_number(at(k)) || at(k).find('@') != std::string::npos || words_[k].capital)
        fact_.answer.insert(at(k));
    }
  }

  // "I am 34", "I'm a nurse", "My boss is Karen", "My number is 555-1234".
  void ask_of_being() {
    for (std::size_t i = 0; i + 1 < words_.size(); ++i) {
      if (at(i) == "number" && i > 0 && (at(i - 1) == "my" || at(i - 1) == "new"))
        return ask_contact("phone", i);
      if (!is_be(at(i)) || at(i) == "was") continue;
      std::size_t next = i + 1;
      while (at(next) == "now" || at(next) == "actually" || at(next) == "not") ++next;
      const bool person = i > 0 && (at(i - 1) == "i" || at(i - 1) == "we" || is_kin(at(i - 1)));
      if (!person) return;
      if (is_number(at(next)) &&
          (next + 1 == words_.size() || at(next + 1) == "years" || at(next + 1) == "now")) {
        return take("age", next, next + 1);
      }
      if (at(next) == "a" || at(next) == "an") {
        for (std::size_t k = next + 1; k < words_.size(); ++k) {
          if (is_profession(at(k)) && !is_kin(at(k))) {
            fact_.topic.insert("as");
            return take("work", k, k + 1);
          }
          if (words_[k].ends || is_stop_word(at(k))) return;
        }
        return;
      }
      if (is_kin(at(i - 1)) && (words_.size() > next) && (words_[next].capital || is_title(at(next))) &&
          !is_nationality(at(next))) {
        relate("name");
        return answer_with(next);
      }
      return;
    }
  }

  bool only_is() const {
    return std::any_of(words_.begin(), words_.end(), [](const Word& word) { return is_be(word.text); }) &&
           !fact_.many;
  }

  std::vector<Word> words_;
  FactWords fact_;
};

}  // namespace

FactWords read_fact(std::string_view text) { return Reading(text).read(); }

}  // namespace tertulia
