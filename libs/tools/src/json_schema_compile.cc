#include <array>
#include <cmath>
#include <string_view>

#include "tertulia/base/printable.h"

#include "json_schema_node.h"

namespace tertulia {
namespace {

constexpr std::size_t kMaxNodes = 10'000;
constexpr std::size_t kMaxSchemaDepth = 64;
constexpr std::size_t kMaxPatternBytes = 1'024;
// What a compiled pattern may take, and the automaton that it becomes while it is matched.
constexpr std::int64_t kMaxPatternMemory = 256 * 1024;

struct TypeName {
  std::string_view name;
  TypeBit bit;
};
constexpr std::array<TypeName, 7> kTypes = {{{"null", kNullBit},
                                             {"boolean", kBooleanBit},
                                             {"integer", kIntegerBit},
                                             {"number", kNumberBit},
                                             {"string", kStringBit},
                                             {"array", kArrayBit},
                                             {"object", kObjectBit}}};

std::string child(const std::string& pointer, std::string_view key) {
  return under(key, {}).pointer.insert(0, pointer);
}

Error bad(const std::string& pointer, std::string_view sentence) {
  return Error(ErrorCode::kBadConfig, "schema" + (pointer.empty() ? "" : " at " + printable(pointer, 200)) +
                                          ": " + std::string(sentence))
      .with("param", pointer);
}

std::optional<long double> number_member(const Json& value) {
  if (const auto* integer = value.as_int()) return *integer;
  if (const auto* large = std::get_if<std::uint64_t>(&value.variant())) return *large;
  if (const auto* number = std::get_if<double>(&value.variant())) return *number;
  return std::nullopt;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The fragment of a URI as text.
std::string unescape_percent(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string unescape_token(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) {
      out += token[++i] == '0' ? '~' : '/';
    } else {
      out += token[i];
    }
  }
  return out;
}

const Json* element(const JsonArray& array, std::string_view token) {
  if (token.empty() || token.size() > 6) return nullptr;
  std::size_t index = 0;
  for (const char c : token) {
    if (c < '0' || c > '9') return nullptr;
    index = index * 10 + static_cast<std::size_t>(c - '0');
  }
  return index < array.size() ? &array[index] : nullptr;
}

const Json* resolve(const Json& root, std::string_view pointer) {
  const Json* at = &root;
  while (!pointer.empty() && at != nullptr) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    const std::string token = unescape_token(pointer.substr(0, end));
    pointer.remove_prefix(end);
    if (const JsonObject* object = at->as_object()) {
      at = object->find(token);
    } else if (const JsonArray* array = at->as_array()) {
      at = element(*array, token);
    } else {
      at = nullptr;
    }
  }
  return at;
}

}  // namespace

// Reads the schema part by part. Each method that reads keywords notes only the first problem, in problem_.
class JsonSchema::Compiler {
 public:
  explicit Compiler(const Json& root) : root_(root) {}

  Result<JsonSchema> compile() {
    part(root_, "", 0);
    // The list grows while it is worked off: what a $ref leads to may hold another.
    for (std::size_t i = 0; i < references_.size() && !problem_; ++i) follow(Reference(references_[i]));
    if (!problem_) check_circles();
    if (problem_) return *std::move(problem_);
    return JsonSchema(std::make_shared<const Nodes>(Nodes{std::move(nodes_)}));
  }

 private:
  struct Reference {
    NodeId from;
    std::string at;
    std::string target;
  };

  void fail(Error error) {
    if (!problem_) problem_ = std::move(error);
  }

  NodeId part(const Json& schema, const std::string& pointer, std::size_t depth) {
    if (const auto known = by_pointer_.find(pointer); known != by_pointer_.end()) return known->second;
    const NodeId id = nodes_.size();
    if (id >= kMaxNodes) {
      fail(Error(ErrorCode::kTooLarge, "the schema has more than 10,000 parts")
               .with("limit", std::int64_t{kMaxNodes}));
    } else if (depth > kMaxSchemaDepth) {
      fail(Error(ErrorCode::kTooDeep, "the schema is more than 64 levels deep")
               .with("limit", std::int64_t{kMaxSchemaDepth}));
    }
    if (problem_) return 0;
    nodes_.emplace_back();
    by_pointer_.emplace(pointer, id);
    Node node;
    if (const bool* flag = schema.as_bool()) {
      node.constant = *flag;
    } else if (const JsonObject* object = schema.as_object()) {
      keywords(*object, node, id, pointer, depth);
    } else {
      fail(bad(pointer, expected("object or boolean", schema).sentence));
    }
    nodes_[id] = std::move(node);
    return id;
  }

  void keywords(const JsonObject& object, Node& node, NodeId id, const std::string& pointer,
                std::size_t depth) {
    for (const auto& [word, value] : object) {
      if (problem_) return;
      const std::string at = child(pointer, word);
      if (value_keyword(word, value, node, at) || count_keyword(word, value, node, at) ||
          object_keyword(word, value, node, at, depth) ||
          array_keyword(word, value, object, node, at, depth) ||
          combining_keyword(word, value, node, at, depth)) {
        continue;
      }
      if (word == "$ref") reference(value, id, at);
    }
    finish(object, node);
  }

  // What depends on two keywords, in whichever order they stand.
  static void finish(const JsonObject& object, Node& node) {
    const auto flag = [&](std::string_view word) {
      const Json* value = object.find(word);
      return value != nullptr && value->as_bool() != nullptr && *value->as_bool();
    };
    if (flag("nullable") && node.types != 0) {
      node.types |= kNullBit;
      node.type_words += " or null";
      if (node.allowed) node.allowed->insert("null");
    }
    if (flag("exclusiveMinimum")) node.number.above = std::exchange(node.number.minimum, std::nullopt);
    if (flag("exclusiveMaximum")) node.number.below = std::exchange(node.number.maximum, std::nullopt);
  }

  bool value_keyword(std::string_view word, const Json& value, Node& node, const std::string& at) {
    if (word == "type") {
      types(value, node, at);
    } else if (word == "enum") {
      enumeration(value, node, at);
    } else if (word == "const") {
      node.constant_text = to_canonical_text(value);
      node.constant_words = printable(to_text(value), 100);
    } else if (word == "minimum") {
      node.number.minimum = number(value, at);
    } else if (word == "maximum") {
      node.number.maximum = number(value, at);
    } else if (word == "exclusiveMinimum") {
      if (value.as_bool() == nullptr) node.number.above = number(value, at);
    } else if (word == "exclusiveMaximum") {
      if (value.as_bool() == nullptr) node.number.below = number(value, at);
    } else if (word == "multipleOf") {
      node.number.multiple_of = number(value, at);
      if (node.number.multiple_of && *node.number.multiple_of <= 0) fail(bad(at, "must be above 0"));
    } else if (word == "pattern") {
      node.pattern = pattern(value, at);
    } else if (word == "default") {
      node.preset = value;
      node.preset_cost = 1 + to_text(value).size() / 16;
    } else {
      return false;
    }
    return true;
  }

  bool count_keyword(std::string_view word, const Json& value, Node& node, const std::string& at) {
    struct Word {
      std::string_view name;
      std::optional<std::size_t>& limit;
    };
    const std::array<Word, 6> words = {{{"minLength", node.length.least},
                                        {"maxLength", node.length.most},
                                        {"minItems", node.items_count.least},
                                        {"maxItems", node.items_count.most},
                                        {"minProperties", node.members.least},
                                        {"maxProperties", node.members.most}}};
    for (const Word& known : words) {
      if (known.name != word) continue;
      const std::optional<long double> count = number(value, at);
      if (count && (*count < 0 || *count != std::floor(*count))) {
        fail(bad(at, "must be a whole number from 0"));
      } else if (count) {
        // More than this no value has.
        known.limit = static_cast<std::size_t>(std::min(*count, 1e15L));
      }
      return true;
    }
    return false;
  }

  bool object_keyword(std::string_view word, const Json& value, Node& node, const std::string& at,
                      std::size_t depth) {
    if (word == "properties") {
      for_members(value, at, [&](const std::string& name, const Json& schema) {
        node.properties.emplace(name, part(schema, child(at, name), depth + 1));
      });
    } else if (word == "patternProperties") {
      for_members(value, at, [&](const std::string& name, const Json& schema) {
        node.pattern_properties.emplace_back(pattern(Json(name), at),
                                             part(schema, child(at, name), depth + 1));
      });
    } else if (word == "additionalProperties") {
      node.additional = part(value, at, depth + 1);
    } else if (word == "required") {
      // A flag in the oldest drafts: it belongs to the object around and says nothing here.
      if (value.as_bool() != nullptr) return true;
      for_elements(value, at, [&](std::size_t, const Json& name) {
        if (name.as_string() == nullptr) return fail(bad(at, expected("strings", name).sentence));
        node.required.push_back(*name.as_string());
      });
    } else {
      return false;
    }
    return true;
  }

  bool array_keyword(std::string_view word, const Json& value, const JsonObject& around, Node& node,
                     const std::string& at, std::size_t depth) {
    if (word == "items" && value.as_array() == nullptr) {
      node.items = part(value, at, depth + 1);
    } else if (word == "items" || word == "prefixItems") {
      for_elements(value, at, [&](std::size_t index, const Json& schema) {
        node.prefix.push_back(part(schema, child(at, std::to_string(index)), depth + 1));
      });
    } else if (word == "additionalItems") {
      // Speaks of what follows a list of items; beside one schema for all it says nothing.
      const Json* items = around.find("items");
      if (items != nullptr && items->as_array() != nullptr) node.items = part(value, at, depth + 1);
    } else if (word == "uniqueItems") {
      if (value.as_bool() == nullptr) fail(bad(at, expected("boolean", value).sentence));
      node.unique = value.as_bool() != nullptr && *value.as_bool();
    } else {
      return false;
    }
    return true;
  }

  bool combining_keyword(std::string_view word, const Json& value, Node& node, const std::string& at,
                         std::size_t depth) {
    std::vector<NodeId>* list = word == "allOf"   ? &node.all_of
                                : word == "anyOf" ? &node.any_of
                                : word == "oneOf" ? &node.one_of
                                                  : nullptr;
    if (list != nullptr) {
      for_elements(value, at, [&](std::size_t index, const Json& schema) {
        list->push_back(part(schema, child(at, std::to_string(index)), depth + 1));
      });
      if (list->empty()) fail(bad(at, "must not be empty"));
      return true;
    }
    if (word != "not") return false;
    node.negated = part(value, at, depth + 1);
    return true;
  }

  void reference(const Json& value, NodeId id, const std::string& at) {
    const std::string* text = value.as_string();
    if (text == nullptr) return fail(bad(at, expected("string", value).sentence));
    if (text->empty() || text->front() != '#') {
      return fail(bad(at, "leads out of the document; only '#/…' can be followed"));
    }
    const std::string target = unescape_percent(std::string_view(*text).substr(1));
    if (!target.empty() && target.front() != '/')
      return fail(bad(at, "names an anchor; only '#/…' can be followed"));
    references_.push_back({id, at, target});
  }

  void follow(const Reference& reference) {
    const Json* target = resolve(root_, reference.target);
    if (target == nullptr) {
      return fail(
          bad(reference.at, "leads to '" + printable(reference.target, 100) + "', which is not there"));
    }
    const NodeId id = part(*target, reference.target, 0);
    if (!problem_) nodes_[reference.from].reference = id;
  }

  // Parts that lead to each other without going deeper into the value would never come to an end.
  void check_circles() {
    std::vector<std::size_t> incoming(nodes_.size());
    for (const Node& node : nodes_) node.each_in_place([&](NodeId id) { ++incoming[id]; });
    std::vector<NodeId> free;
    for (NodeId id = 0; id < nodes_.size(); ++id) {
      if (incoming[id] == 0) free.push_back(id);
    }
    for (std::size_t i = 0; i < free.size(); ++i) {
      nodes_[NodeId(free[i])].each_in_place([&](NodeId id) {
        if (--incoming[id] == 0) free.push_back(id);
      });
    }
    if (free.size() < nodes_.size()) fail(bad("", "a $ref leads back to itself without going deeper"));
  }

  void types(const Json& value, Node& node, const std::string& at) {
    if (value.as_string() != nullptr) return type(value, node, at);
    for_elements(value, at, [&](std::size_t, const Json& name) { type(name, node, at); });
    if (node.types == 0) fail(bad(at, "must not be empty"));
  }

  void type(const Json& name, Node& node, const std::string& at) {
    for (const TypeName& known : kTypes) {
      if (name.as_string() == nullptr || *name.as_string() != known.name) continue;
      node.types |= known.bit;
      node.type_words += (node.type_words.empty() ? "" : " or ") + std::string(known.name);
      return;
    }
    fail(bad(at, expected("the name of a type", name).sentence));
  }

  void enumeration(const Json& value, Node& node, const std::string& at) {
    node.allowed.emplace();
    for_elements(value, at, [&](std::size_t index, const Json& one) {
      node.allowed->insert(to_canonical_text(one));
      if (index < 20) node.allowed_words += (index == 0 ? "" : ", ") + printable(to_text(one), 60);
      if (index == 20) node.allowed_words += ", …";
    });
  }

  std::optional<long double> number(const Json& value, const std::string& at) {
    const std::optional<long double> result = number_member(value);
    if (!result) fail(bad(at, expected("number", value).sentence));
    return result;
  }

  Pattern pattern(const Json& value, const std::string& at) {
    const std::string* text = value.as_string();
    if (text == nullptr) {
      fail(bad(at, expected("string", value).sentence));
      return nullptr;
    }
    if (text->size() > kMaxPatternBytes) {
      fail(bad(at, "a pattern may have 1,024 bytes at most"));
      return nullptr;
    }
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kMaxPatternMemory);
    auto compiled = std::make_shared<const re2::RE2>(*text, options);
    if (!compiled->ok()) {
      fail(bad(at, "the pattern cannot be used: " + printable(compiled->error(), 200) +
                       "; look-around and back-references are not supported"));
    }
    return compiled;
  }

  template <class Visit>
  void for_members(const Json& value, const std::string& at, Visit&& visit) {
    const JsonObject* object = value.as_object();
    if (object == nullptr) return fail(bad(at, expected("object", value).sentence));
    for (const auto& [name, member] : *object) {
      if (problem_) return;
      visit(name, member);
    }
  }

  template <class Visit>
  void for_elements(const Json& value, const std::string& at, Visit&& visit) {
    const JsonArray* array = value.as_array();
    if (array == nullptr) return fail(bad(at, expected("array", value).sentence));
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (problem_) return;
      visit(i, (*array)[i]);
    }
  }

  const Json& root_;
  std::vector<Node> nodes_;
  std::map<std::string, NodeId> by_pointer_;
  std::vector<Reference> references_;
  std::optional<Error> problem_;
};

JsonSchema::JsonSchema() {
  static const auto everything = std::make_shared<const Nodes>(Nodes{std::vector<Node>(1)});
  nodes_ = everything;
}

Result<JsonSchema> JsonSchema::compile(const Json& schema) { return Compiler(schema).compile(); }

}  // namespace tertulia
