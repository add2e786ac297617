// A fact as rules see it: what it is about, what it says, and whose it is.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tertulia {

// What a word stands for where only one of its kind can be meant.
enum class ValueKind : std::uint8_t { kName, kNumber, kDay, kTime, kColour };

struct FactWords {
  // The question it answers, where that has one answer at a time: "live", "work", "name"; empty if none.
  std::string relation;
  // What of it is asked: "at" or "as" of work, "last" of a name, the favourite what.
  std::set<std::string> topic;
  // The answer, as stems.
  std::set<std::string> answer;
  // Whom it is about: empty for the speaker, else "sister", "dog", a name in the genitive.
  std::set<std::string> subject;
  // What it says, as stems; without the relation's own words.
  std::set<std::string> values;
  // Those of the values that stand for one thing: names and numbers.
  std::set<std::string> names;
  // The values by kind, and the content that is of no kind, verbs included.
  std::map<ValueKind, std::set<std::string>> kinds;
  std::set<std::string> plain;
  // What it says is no longer so, beside what it says is: "left Google", "not Tiger".
  std::set<std::string> denied;
  bool negated = false;
  // Wished, planned or long over: it says nothing of what is.
  bool not_now = false;
  // Says of itself that something is new.
  bool changes = false;
  // Its verb holds of many things at a time; of one.
  bool many = false;
  bool one = false;
  // "… is …", nothing else.
  bool is_only = false;
};

FactWords read_fact(std::string_view text);

}  // namespace tertulia
