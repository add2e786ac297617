// JsonSchema: checks a value against the part of JSON Schema that tools use.
//
//   auto schema = JsonSchema::compile(definition.parameters.value());
//   for (const JsonProblem& problem : schema->check(arguments)) …    "/b: expected number, got string \"x\""
//
// Known: type (also a list), enum, const, nullable, minimum, maximum, exclusiveMinimum, exclusiveMaximum (a
// number or, as in old drafts, a flag), multipleOf, minLength, maxLength, pattern, properties,
// patternProperties, required, additionalProperties, minProperties, maxProperties, items, prefixItems (or
// items as a list with additionalItems), minItems, maxItems, uniqueItems, allOf, anyOf, oneOf, not, $ref to
// the same document, and default. Other words are passed over, as the standard has it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tertulia/base/json.h"
#include "tertulia/base/result.h"
#include "tertulia/tools/json_problem.h"

namespace tertulia {

// Limits
//   A schema has at most 10,000 parts, 64 levels deep. Patterns are matched in linear time: those that need
//   more (look-around, back-references) are refused. A check takes at most a million steps; a value that
//   needs more is a problem, not a wait.
// Concurrency: any thread. Copies share the compiled schema.
class JsonSchema {
 public:
  // Accepts every value.
  JsonSchema();

  // kBadConfig {param: JSON pointer of the part}: a keyword of the wrong type, a pattern that cannot be
  // matched in linear time, a $ref that leads nowhere, elsewhere or in a circle; kTooLarge, kTooDeep.
  static Result<JsonSchema> compile(const Json& schema);

  // The first `most` problems, in the order of the schema; empty: the value is valid. 3.0 is an integer;
  // strings are never taken for numbers.
  std::vector<JsonProblem> check(const Json& value, std::size_t most = 5) const;

  // Puts the defaults of absent properties in, also in nested objects and elements. Not those within anyOf,
  // oneOf and not: which of them applies is not known before.
  void fill_defaults(Json& value) const;

 private:
  class Compiler;
  class Checker;
  struct Node;
  struct Nodes;
  explicit JsonSchema(std::shared_ptr<const Nodes> nodes) : nodes_(std::move(nodes)) {}

  std::shared_ptr<const Nodes> nodes_;
};

}  // namespace tertulia
