// A fact as rules see it: what it is about, what it says, and whose it is.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tertulia {

struct FactWords {
  // The question it answers, where that has one answer at a time: "live", "work", "name"; empty if none.
  std::string relation;
  // Whom it is about: empty for the speaker, else "sister", "dog", a name in the genitive.
  std::set<std::string> subject;
  // What it says, as stems; without the relation's own words.
  std::set<std::string> values;
  // Those of the values that stand for one thing: names and numbers.
  std::set<std::string> names;
  bool negated = false;
};

FactWords read_fact(std::string_view text);

}  // namespace tertulia
