#include <cmath>
#include <string_view>

#include "tertulia/base/nearest.h"

#include "json_schema_node.h"

namespace tertulia {
namespace {

constexpr std::size_t kMaxSteps = 1'000'000;
constexpr std::size_t kMaxDepth = 512;

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

std::uint8_t type_of(const Json& value) {
  struct Visitor {
    std::uint8_t operator()(std::nullptr_t) const { return kNullBit; }
    std::uint8_t operator()(bool) const { return kBooleanBit; }
    std::uint8_t operator()(std::int64_t) const { return kIntegerBit | kNumberBit; }
    std::uint8_t operator()(std::uint64_t) const { return kIntegerBit | kNumberBit; }
    std::uint8_t operator()(double number) const {
      return number == std::floor(number) ? kIntegerBit | kNumberBit : kNumberBit;
    }
    std::uint8_t operator()(const std::string&) const { return kStringBit; }
    std::uint8_t operator()(const JsonArray&) const { return kArrayBit; }
    std::uint8_t operator()(const JsonObject&) const { return kObjectBit; }
  };
  return std::visit(Visitor{}, value.variant());
}

std::optional<long double> number_in(const Json& value) {
  if (const auto* integer = value.as_int()) return *integer;
  if (const auto* large = std::get_if<std::uint64_t>(&value.variant())) return *large;
  if (const auto* number = std::get_if<double>(&value.variant())) return *number;
  return std::nullopt;
}

std::string words_of(long double number) {
  if (number == std::floor(number) && std::abs(number) < 9e18L) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  return to_text(Json(static_cast<double>(number)));
}

bool is_multiple(long double number, long double of) {
  const long double times = number / of;
  if (!std::isfinite(times)) return false;
  // 0.3 is a multiple of 0.1 although neither is exact.
  return std::abs(times - std::round(times)) <= 1e-12L * std::max(1.0L, std::abs(times));
}

std::string plural(std::size_t count, std::string_view word) {
  return std::to_string(count) + " " + std::string(word) + (count == 1 ? "" : "s");
}

}  // namespace

class JsonSchema::Checker {
 public:
  Checker(const Nodes& nodes, std::size_t most) : nodes_(nodes.nodes), most_(most) {}

  std::vector<JsonProblem> check(const Json& value) {
    visit(0, value, 0);
    if (exhausted_) return {{"", "is too large or too deep to be checked against the schema"}};
    return std::move(problems_);
  }

  // Puts in the defaults that the part knows of.
  void fill(NodeId id, Json& value, std::size_t depth) {
    if (!step(1) || depth > kMaxDepth) return;
    const Node& node = nodes_[id];
    if (node.reference) fill(*node.reference, value, depth + 1);
    for (const NodeId part : node.all_of) fill(part, value, depth + 1);
    if (JsonObject* object = value.as_object()) {
      for (auto& [key, member] : *object) {
        if (const auto known = node.properties.find(key); known != node.properties.end()) {
          fill(known->second, member, depth + 1);
        }
      }
      for (const auto& [key, part] : node.properties) fill_absent(key, nodes_[part], *object);
    } else if (JsonArray* array = value.as_array()) {
      for (std::size_t i = 0; i < array->size(); ++i) {
        if (const std::optional<NodeId> part = element_of(node, i)) fill(*part, (*array)[i], depth + 1);
      }
    }
  }

 private:
  // False once the work is more than it may be.
  bool step(std::size_t steps) {
    if (steps > kMaxSteps - steps_) exhausted_ = true;
    if (!exhausted_) steps_ += steps;
    return !exhausted_;
  }

  bool enough() const { return exhausted_ || problems_.size() >= most_; }

  void problem(std::string sentence) {
    if (problems_.size() < most_) problems_.push_back({path_, std::move(sentence)});
  }
  void expected_here(std::string_view what, const Json& got) { problem(expected(what, got).sentence); }

  // The part of the schema for the value at path_. Notes the problems.
  void visit(NodeId id, const Json& value, std::size_t depth) {
    if (depth > kMaxDepth) exhausted_ = true;
    if (enough() || !step(1)) return;
    const Node& node = nodes_[id];
    if (node.constant) {
      if (!*node.constant) problem("is not allowed");
      return;
    }
    if (node.types != 0 && (node.types & type_of(value)) == 0) return expected_here(node.type_words, value);
    fixed(node, value);
    if (const auto number = number_in(value)) numbers(node, *number, value);
    if (const std::string* text = value.as_string()) strings(node, *text, value);
    if (const JsonArray* array = value.as_array()) elements(node, *array, depth);
    if (const JsonObject* object = value.as_object()) members(node, *object, depth);
    combined(node, value, depth);
  }

  void fixed(const Node& node, const Json& value) {
    if (!node.allowed && !node.constant_text) return;
    const std::string text = to_canonical_text(value);
    if (!step(text.size() / 16)) return;
    if (node.allowed && !node.allowed->contains(text)) expected_here("one of " + node.allowed_words, value);
    if (node.constant_text && *node.constant_text != text) expected_here(node.constant_words, value);
  }

  void numbers(const Node& node, long double number, const Json& value) {
    const NumberLimits& limits = node.number;
    if (limits.minimum && number < *limits.minimum)
      expected_here("at least " + words_of(*limits.minimum), value);
    if (limits.maximum && number > *limits.maximum)
      expected_here("at most " + words_of(*limits.maximum), value);
    if (limits.above && number <= *limits.above) expected_here("more than " + words_of(*limits.above), value);
    if (limits.below && number >= *limits.below) expected_here("less than " + words_of(*limits.below), value);
    if (limits.multiple_of && !is_multiple(number, *limits.multiple_of)) {
      expected_here("a multiple of " + words_of(*limits.multiple_of), value);
    }
  }

  void strings(const Node& node, const std::string& text, const Json& value) {
    if (node.length.least || node.length.most) {
      if (!step(text.size() / 16)) return;
      counted(node.length, characters(text), "character");
    }
    if (!node.pattern) return;
    const std::optional<bool> fits = matches(text, node.pattern);
    if (fits == false) {
      expected_here("text that matches " + node.pattern->pattern(), value);
    }
  }

  // Costs the product of text and pattern at worst. Nothing: that would be too much.
  std::optional<bool> matches(const std::string& text, const Pattern& pattern) {
    const auto size = static_cast<std::size_t>(pattern->ProgramSize());
    if (!step(1 + text.size() * size / 64)) return std::nullopt;
    return re2::RE2::PartialMatch(text, *pattern);
  }

  void counted(const CountLimits& limits, std::size_t count, std::string_view word) {
    if (limits.least && count < *limits.least) {
      problem("expected at least " + plural(*limits.least, word) + ", got " + std::to_string(count));
    }
    if (limits.most && count > *limits.most) {
      problem("expected at most " + plural(*limits.most, word) + ", got " + std::to_string(count));
    }
  }

  static std::optional<NodeId> element_of(const Node& node, std::size_t index) {
    return index < node.prefix.size() ? std::optional(node.prefix[index]) : node.items;
  }

  void elements(const Node& node, const JsonArray& array, std::size_t depth) {
    counted(node.items_count, array.size(), "element");
    if (node.unique) unique(array);
    for (std::size_t i = 0; i < array.size() && !enough(); ++i) {
      if (const std::optional<NodeId> part = element_of(node, i))
        deeper(std::to_string(i), *part, array[i], depth);
    }
  }

  void unique(const JsonArray& array) {
    std::set<std::string, std::less<>> seen;
    for (std::size_t i = 0; i < array.size(); ++i) {
      std::string text = to_canonical_text(array[i]);
      if (!step(1 + text.size() / 16)) return;
      if (!seen.insert(std::move(text)).second)
        return problem("element " + std::to_string(i) + " is there twice");
    }
  }

  void members(const Node& node, const JsonObject& object, std::size_t depth) {
    counted(node.members, object.size(), "field");
    for (const std::string& name : node.required) {
      if (!step(1 + object.size() / 16)) return;
      if (object.find(name) == nullptr) missing(name);
    }
    for (const auto& [key, value] : object) {
      if (enough() || !step(1)) return;
      member(node, key, value, depth);
    }
  }

  void missing(const std::string& name) {
    const std::size_t length = path_.size();
    path_ += under(name, {}).pointer;
    problem("is required");
    path_.resize(length);
  }

  void member(const Node& node, const std::string& key, const Json& value, std::size_t depth) {
    bool known = false;
    if (const auto property = node.properties.find(key); property != node.properties.end()) {
      known = true;
      deeper(key, property->second, value, depth);
    }
    for (const auto& [pattern, part] : node.pattern_properties) {
      if (matches(key, pattern) != true) continue;
      known = true;
      deeper(key, part, value, depth);
    }
    if (known || !node.additional) return;
    if (nodes_[*node.additional].constant == false) return unknown(node, key);
    deeper(key, *node.additional, value, depth);
  }

  void unknown(const Node& node, const std::string& key);

  void deeper(std::string_view key, NodeId part, const Json& value, std::size_t depth) {
    const std::size_t length = path_.size();
    path_ += under(key, {}).pointer;
    visit(part, value, depth + 1);
    path_.resize(length);
  }

  void combined(const Node& node, const Json& value, std::size_t depth) {
    if (node.reference) visit(*node.reference, value, depth + 1);
    for (const NodeId part : node.all_of) visit(part, value, depth + 1);
    if (enough()) return;
    if (!node.any_of.empty()) alternatives(node.any_of, value, depth, false);
    if (!node.one_of.empty()) alternatives(node.one_of, value, depth, true);
    if (node.negated && !first_problem(*node.negated, value, depth))
      problem("is of a form that is not allowed");
  }

  // The first problem of the value with the part, which is not noted.
  std::optional<JsonProblem> first_problem(NodeId part, const Json& value, std::size_t depth) {
    std::vector<JsonProblem> kept;
    kept.swap(problems_);
    const std::size_t most = std::exchange(most_, 1);
    visit(part, value, depth + 1);
    most_ = most;
    kept.swap(problems_);
    if (kept.empty()) return std::nullopt;
    return std::move(kept.front());
  }

  void alternatives(const std::vector<NodeId>& parts, const Json& value, std::size_t depth, bool only_one) {
    std::size_t fitting = 0;
    std::optional<JsonProblem> nearest;
    for (const NodeId part : parts) {
      if (exhausted_) return;
      std::optional<JsonProblem> found = first_problem(part, value, depth);
      if (!found) {
        ++fitting;
        if (!only_one) return;
      } else if (!nearest || found->pointer.size() > nearest->pointer.size()) {
        // The form that fits furthest into the value is most likely the one that was meant.
        nearest = std::move(found);
      }
    }
    if (fitting == 1 || exhausted_) return;
    if (fitting > 1)
      return problem("fits " + std::to_string(fitting) + " of the forms of which only one may fit");
    if (parts.size() > 1)
      nearest->sentence += " (none of the " + std::to_string(parts.size()) + " allowed forms fits)";
    if (problems_.size() < most_) problems_.push_back(*std::move(nearest));
  }

  void fill_absent(const std::string& key, const Node& part, JsonObject& object) {
    const Node* node = &part;
    // The default may stand behind a $ref; how far is bounded, because circles were refused.
    while (!node->preset && node->reference) node = &nodes_[*node->reference];
    if (!node->preset || !step(1 + object.size() / 16) || object.find(key) != nullptr) return;
    if (step(node->preset_cost)) object.append(key, *node->preset);
  }

  const std::vector<Node>& nodes_;
  std::size_t most_;
  std::size_t steps_ = 0;
  bool exhausted_ = false;
  std::string path_;
  std::vector<JsonProblem> problems_;
};

void JsonSchema::Checker::unknown(const Node& node, const std::string& key) {
  std::vector<std::string> known;
  if (!step(1 + 8 * node.properties.size())) return;
  for (const auto& [name, part] : node.properties) known.push_back(name);
  const std::size_t length = path_.size();
  path_ += under(key, {}).pointer;
  problem("is not a known field" + did_you_mean(key, known));
  path_.resize(length);
}

std::vector<JsonProblem> JsonSchema::check(const Json& value, std::size_t most) const {
  return Checker(*nodes_, std::max<std::size_t>(most, 1)).check(value);
}

void JsonSchema::fill_defaults(Json& value) const { Checker(*nodes_, 1).fill(0, value, 0); }

}  // namespace tertulia
