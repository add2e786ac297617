#include "tertulia/memory/fact.h"

#include <algorithm>
#include <optional>

#include "fact_words.h"

namespace tertulia {
namespace {

// Two sentences of this cosine say the same, if no name or number tells them apart.
constexpr double kSameCosine = 0.80;
// "I prefer tea" and "I prefer coffee" are of one matter, "I prefer tea" and "I prefer dogs" are not.
constexpr double kSameMatter = 0.60;
// Facts that say more than this many things are not taken for answers to one question.
constexpr std::size_t kAnswerWords = 4;

using Words = std::set<std::string>;

Words difference(const Words& one, const Words& other) {
  Words result;
  std::set_difference(one.begin(), one.end(), other.begin(), other.end(),
                      std::inserter(result, result.end()));
  return result;
}

std::size_t common(const Words& one, const Words& other) {
  return one.size() - difference(one, other).size();
}

bool contains_all(const Words& one, const Words& other) { return difference(other, one).empty(); }

// Each says something that the other does not.
bool differ(const Words& one, const Words& other) {
  return !contains_all(one, other) && !contains_all(other, one);
}

bool says_the_same(const FactWords& known, const FactWords& told, double cosine) {
  const bool names_differ =
      !difference(known.names, told.values).empty() || !difference(told.names, known.values).empty();
  const std::size_t shared = common(known.values, told.values);
  const std::size_t shorter = std::min(known.values.size(), told.values.size());
  // Where each says something that the other does not, one may correct the other: taking them for the same
  // would lose it, and a fact too many is better than a correction too few.
  const bool one_adds_nothing = !differ(known.values, told.values);
  const bool fits = known.relation == told.relation || known.relation.empty() || told.relation.empty();
  const bool overlap = shorter > 0 && shared == shorter;
  const bool near = overlap || (cosine >= kSameCosine && shared > 0);
  return near && one_adds_nothing && fits && !names_differ;
}

// Another answer to a question that has one at a time.
bool answers_otherwise(const FactWords& known, const FactWords& told, double cosine) {
  if (known.relation.empty() || known.relation != told.relation || known.relation == "allergy") return false;
  if (known.negated || told.negated) return false;
  const bool any_work = known.relation == "work" && (known.topic.empty() || told.topic.empty());
  if (known.topic != told.topic && !any_work) return false;
  if (known.answer.empty() || told.answer.empty() || contains_all(known.answer, told.answer)) return false;
  if (known.answer.size() > kAnswerWords || told.answer.size() > kAnswerWords) return false;
  if (known.relation == "prefer") return common(known.answer, told.answer) > 0 || cosine >= kSameMatter;
  if (known.relation != "born") return true;
  // A day and a place are no answers to each other.
  return known.kinds.contains(ValueKind::kName) == told.kinds.contains(ValueKind::kName);
}

// The kind of value that both have and in which alone they differ; none if there is none or more than one.
std::optional<ValueKind> other_value(const FactWords& known, const FactWords& told) {
  std::optional<ValueKind> found;
  for (const auto& [kind, values] : known.kinds) {
    const auto other = told.kinds.find(kind);
    if (other == told.kinds.end() || values == other->second) continue;
    if (found) return std::nullopt;
    found = kind;
  }
  return found;
}

// The same said of the same, but for one day, time, number, name or colour.
bool puts_another_value(const FactWords& known, const FactWords& told) {
  if (known.negated || told.negated || known.not_now || told.not_now) return false;
  if (known.plain != told.plain) return false;
  const std::optional<ValueKind> kind = other_value(known, told);
  if (!kind) return false;
  const bool number = *kind == ValueKind::kNumber;
  if (known.plain.empty() && known.subject.empty()) return false;
  return number || !(known.many || told.many);
}

// "I take the bus to work" and "I take the train to work now": one word differs, and it says that it is new.
bool puts_another_word(const FactWords& known, const FactWords& told) {
  if (known.negated || told.negated || known.not_now || told.not_now || !told.changes) return false;
  if (known.relation != told.relation) return false;
  if (difference(known.values, told.values).size() != 1 ||
      difference(told.values, known.values).size() != 1) {
    return false;
  }
  const std::size_t shared = common(known.plain, told.plain);
  if (known.one && told.one) return shared >= 1;
  if (known.is_only && told.is_only) return shared >= 1;
  return shared >= 2;
}

// What it says is over is what is known.
bool ends_it(const FactWords& known, const FactWords& told) {
  if (told.denied.empty() || known.negated) return false;
  return common(told.denied, known.values) > 0 || common(told.denied, known.answer) > 0;
}

}  // namespace

FactRelation relation_of(std::string_view known_text, std::string_view told_text, double cosine) {
  const FactWords known = read_fact(known_text);
  const FactWords told = read_fact(told_text);
  if (known.subject != told.subject) return FactRelation::kUnrelated;
  if (known.not_now != told.not_now) return FactRelation::kUnrelated;
  if (ends_it(known, told) || answers_otherwise(known, told, cosine) || puts_another_value(known, told)) {
    return FactRelation::kContradicts;
  }
  if (says_the_same(known, told, cosine)) {
    return known.negated == told.negated ? FactRelation::kSame : FactRelation::kContradicts;
  }
  return puts_another_word(known, told) ? FactRelation::kContradicts : FactRelation::kUnrelated;
}

}  // namespace tertulia
