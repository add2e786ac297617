#include "tertulia/memory/fact.h"

#include <algorithm>

#include "fact_words.h"

namespace tertulia {
namespace {

// Two sentences of this cosine say the same, if no name or number tells them apart.
constexpr double kSameCosine = 0.80;
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

// "favourite colour": such a question is the same only if what it is about is.
bool needs_topic(const std::string& relation) { return relation == "best" || relation == "allergy"; }

// The kinds of questions that have one answer at a time.
bool has_one_answer(const std::string& relation) { return !relation.empty() && relation != "allergy"; }

bool same_subject(const FactWords& known, const FactWords& told) {
  // "Rex is my dog" names the dog as a value and as a subject.
  return known.subject == told.subject;
}

}  // namespace

FactRelation relation_of(std::string_view known_text, std::string_view told_text, double cosine) {
  const FactWords known = read_fact(known_text);
  const FactWords told = read_fact(told_text);
  if (!same_subject(known, told)) return FactRelation::kUnrelated;
  const Words only_known = difference(known.values, told.values);
  const Words only_told = difference(told.values, known.values);
  const bool names_differ =
      !difference(known.names, told.values).empty() || !difference(told.names, known.values).empty();
  const std::size_t shared = common(known.values, told.values);
  const std::size_t shorter = std::min(known.values.size(), told.values.size());
  const bool same_relation = known.relation == told.relation;

  // Where each says something that the other does not, one may correct the other: taking them for the same
  // would lose it, and a fact too many is better than a correction too few.
  const bool one_adds_nothing = only_known.empty() || only_told.empty();
  const bool overlap = shorter > 0 && shared == shorter;
  const bool fits = same_relation || known.relation.empty() || told.relation.empty();
  const bool near = overlap || (cosine >= kSameCosine && shared > 0);
  if (near && one_adds_nothing && fits && !names_differ) {
    return known.negated == told.negated ? FactRelation::kSame : FactRelation::kContradicts;
  }
  if (!same_relation || !has_one_answer(known.relation)) return FactRelation::kUnrelated;
  if (only_known.empty() || only_told.empty()) return FactRelation::kUnrelated;
  if (known.values.size() > kAnswerWords || told.values.size() > kAnswerWords)
    return FactRelation::kUnrelated;
  if (needs_topic(known.relation) && shared == 0) return FactRelation::kUnrelated;
  return FactRelation::kContradicts;
}

}  // namespace tertulia
