// The compiled form of a JSON schema: parts that refer to each other by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <re2/re2.h>

#include "tertulia/tools/json_schema.h"

namespace tertulia {

using NodeId = std::size_t;
using Pattern = std::shared_ptr<const re2::RE2>;

enum TypeBit : std::uint8_t {
  kNullBit = 1,
  kBooleanBit = 2,
  kIntegerBit = 4,
  kNumberBit = 8,
  kStringBit = 16,
  kArrayBit = 32,
  kObjectBit = 64,
};

struct CountLimits {
  std::optional<std::size_t> least;
  std::optional<std::size_t> most;
};

// long double holds every 64-bit integer and every double exactly.
struct NumberLimits {
  std::optional<long double> minimum;
  std::optional<long double> maximum;
  std::optional<long double> above;
  std::optional<long double> below;
  std::optional<long double> multiple_of;
};

struct JsonSchema::Node {
  // A schema that is only true or false.
  std::optional<bool> constant;
  // Of TypeBit; 0 for any.
  std::uint8_t types = 0;
  std::string type_words;
  // The canonical texts of what `enum` and `const` allow.
  std::optional<std::set<std::string, std::less<>>> allowed;
  std::string allowed_words;
  std::optional<std::string> constant_text;
  std::string constant_words;

  NumberLimits number;

  CountLimits length;
  Pattern pattern;

  CountLimits items_count;
  bool unique = false;
  std::vector<NodeId> prefix;
  std::optional<NodeId> items;

  CountLimits members;
  std::map<std::string, NodeId, std::less<>> properties;
  std::vector<std::pair<Pattern, NodeId>> pattern_properties;
  std::vector<std::string> required;
  std::optional<NodeId> additional;

  std::vector<NodeId> all_of;
  std::vector<NodeId> any_of;
  std::vector<NodeId> one_of;
  std::optional<NodeId> negated;
  std::optional<NodeId> reference;

  std::optional<Json> preset;
  // What putting the default in costs, in steps.
  std::size_t preset_cost = 0;

  // Calls `visit` with each part that looks at the same value as this one.
  template <class Visit>
  void each_in_place(Visit&& visit) const {
    for (const auto* list : {&all_of, &any_of, &one_of}) {
      for (const NodeId id : *list) visit(id);
    }
    if (negated) visit(*negated);
    if (reference) visit(*reference);
  }
};

// The first is the whole schema.
struct JsonSchema::Nodes {
  std::vector<Node> nodes;
};

}  // namespace tertulia
