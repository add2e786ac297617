// Toolkits and the set of tools that an agent has.
//
//   Toolkit math("math");
//   math.add("add", "Adds two numbers.", {"a", "b"}, [](double a, double b) { return a + b; })
//       .add("round", "Rounds a number.", {"number"}, method(rounding, &Rounding::apply));
//
//   ToolRegistry registry;
//   registry.add(math).value();
//   ToolSetPtr tools = registry.snapshot();     // what one model call is shown; never changes
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tertulia/base/result.h"
#include "tertulia/base/thread_annotations.h"
#include "tertulia/tools/function_tool.h"
#include "tertulia/tools/json_schema.h"
#include "tertulia/tools/tool.h"

namespace tertulia {

// Tools that belong together and are given to an agent by one name. A value: copies share the tools.
class Toolkit {
 public:
  explicit Toolkit(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const std::vector<ToolPtr>& tools() const { return tools_; }

  Toolkit& add(ToolPtr tool) {
    tools_.push_back(std::move(tool));
    return *this;
  }
  // As make_tool.
  template <class F>
  Toolkit& add(std::string name, std::string description, F callable, ToolOptions options = {}) {
    return add(make_tool(std::move(name), std::move(description), std::move(callable), std::move(options)));
  }
  template <class F, std::size_t N>
  Toolkit& add(std::string name, std::string description, const Parameter (&parameters)[N], F callable,
               ToolOptions options = {}) {
    return add(make_tool(std::move(name), std::move(description), parameters, std::move(callable),
                         std::move(options)));
  }

 private:
  std::string name_;
  std::vector<ToolPtr> tools_;
};

// A method as a callable. The object lives as long as the tool; several threads may call it at a time.
template <class T, class C, class R, class... Args>
auto method(std::shared_ptr<T> object, R (C::*function)(Args...)) {
  return [object = std::move(object), function](Args... args) -> R {
    return ((*object).*function)(std::forward<Args>(args)...);
  };
}
template <class T, class C, class R, class... Args>
auto method(std::shared_ptr<T> object, R (C::*function)(Args...) const) {
  return [object = std::move(object), function](Args... args) -> R {
    return ((*object).*function)(std::forward<Args>(args)...);
  };
}

// The schema of the tool's arguments. kBadId: the name is not 1 to 64 of [A-Za-z0-9_-]; kBadUnicode: the
// description is not text; kTooLarge: it has more than 16 KiB; kBadConfig and others of JsonSchema::compile.
Result<JsonSchema> check_definition(const ToolDefinition& definition);

struct ToolEntry {
  ToolPtr tool;
  // Of its arguments.
  JsonSchema schema;
  // The toolkit it came with; empty for a tool of its own.
  std::string toolkit;

  const std::string& name() const { return tool->definition().name; }
};

// Tools with a name for each, in the order in which they were added. Immutable.
class ToolSet {
 public:
  const std::vector<ToolEntry>& entries() const { return entries_; }
  // Null if there is none. The names are compared byte by byte.
  const ToolEntry* find(std::string_view name) const;
  // The entry, or kNoSuchTool {tool, nearest} with a sentence for the model.
  Result<const ToolEntry*> get(std::string_view name) const;
  // What a model is told.
  std::vector<ToolDefinition> definitions() const;

  // The tools of these names, each a tool's or a toolkit's, in the order of this set. kNoSuchTool.
  Result<std::shared_ptr<const ToolSet>> only(std::span<const std::string> names) const;

 private:
  friend class ToolRegistry;
  Result<void> add(const ToolPtr& tool, const std::string& toolkit);
  std::vector<std::string> names() const;

  std::vector<ToolEntry> entries_;
};
using ToolSetPtr = std::shared_ptr<const ToolSet>;

// The tools there are at a moment. What is added becomes visible with the next snapshot, which is how a tool
// added in the middle of a turn is there for the next model call and not for the running one.
//
// Concurrency: any thread.
class ToolRegistry {
 public:
  ToolRegistry();

  // All or none. A tool that is there already is passed over; another one of the same name, or of the name of
  // a toolkit, is kDuplicateKey {tool}. Errors of check_definition.
  Result<void> add(const ToolPtr& tool);
  Result<void> add(std::span<const ToolPtr> tools);
  Result<void> add(const Toolkit& toolkit);
  // The tools of the toolkit of this name become these, in one step: no snapshot holds some of the old and
  // some of the new. Errors of add(); then nothing has changed.
  Result<void> replace(const Toolkit& toolkit);
  // True if it was there. Calls that run go on.
  bool remove(std::string_view name);

  ToolSetPtr snapshot() const;

 private:
  Result<void> add(std::span<const ToolPtr> tools, const std::string& toolkit, bool instead = false);

  mutable Mutex mutex_;
  ToolSetPtr set_ TERTULIA_GUARDED_BY(mutex_);
};

}  // namespace tertulia
