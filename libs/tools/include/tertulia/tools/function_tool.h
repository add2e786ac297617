// make_tool: a C++ function becomes a tool, and its parameters the schema that the model is shown.
//
//   auto add = make_tool("add", "Adds two numbers.", {"a", "b"}, [](double a, double b) { return a + b; });
//
//   auto search = make_tool("search", "Searches the manual.",
//                           [&](const Search& what, const ToolCall& call) -> Result<std::vector<Hit>> { … },
//                           {.tool_class = ToolClass::kReadOnly});
//
// Parameters: one struct described with TERTULIA_FIELDS, whose fields are the arguments; or plain parameters
// with a name for each; or none. std::optional is an argument that may be left out. A `const ToolCall&`
// anywhere among them is the call itself: its key, its conversation, its cancel token.
// Results: anything JsonType can write, text as it is; void, which says "ok"; ToolOutput; Result of these.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tertulia/tools/json_type.h"
#include "tertulia/tools/parameter_list.h"
#include "tertulia/tools/tool.h"

namespace tertulia {

struct ToolOptions {
  // What a crash may do to it. Default: unsafe, never run a second time.
  ToolClass tool_class = ToolClass::kUnsafe;
  // Of one call. Default: as the agent's limits say.
  std::optional<Duration> timeout{};
  // Finds out what became of a call that a crash has hidden (Tool::probe). May block. Default: none.
  std::function<Result<std::optional<ToolOutput>>(const ToolCall&)> probe{};
  // The model is shown what an exception says; it may hold paths or addresses. Default: only that it failed.
  bool detailed_errors = false;
};

// What the templates below are made of: a tool from a schema and a body that reads the arguments itself.
// The first body may block and runs on call.workers; the second must not.
ToolPtr make_raw_tool(std::string name, std::string description, Json parameters,
                      std::function<Result<ToolOutput>(const ToolCall&)> body, ToolOptions options = {});
ToolPtr make_raw_async_tool(std::string name, std::string description, Json parameters,
                            std::function<void(const ToolCall&, Done<ToolOutput>)> body,
                            ToolOptions options = {});

template <class F>
ToolPtr make_function_tool(std::string name, std::string description, std::vector<Parameter> parameters,
                           F callable, ToolOptions options) {
  using Traits = CallableTraits<F>;
  using List = typename Traits::template Parameters<ParameterList>;
  static_assert(List::kAnswers == 0,
                "a callable that is given a Done makes an asynchronous tool: make_async_tool");
  Json schema = List::schema(parameters);
  auto body = [parameters = std::move(parameters),
               callable = std::move(callable)](const ToolCall& call) -> Result<ToolOutput> {
    typename List::Slots slots;
    if (auto problem = List::read(call.arguments, parameters, slots)) {
      return Error(ErrorCode::kBadArguments, problem->text()).with("param", problem->pointer);
    }
    if constexpr (std::is_void_v<typename Traits::Return>) {
      List::invoke(callable, slots, call, nullptr);
      return ToolOutput{.text = "ok"};
    } else {
      return to_output<PlainType<typename Traits::Return>>(List::invoke(callable, slots, call, nullptr));
    }
  };
  return make_raw_tool(std::move(name), std::move(description), std::move(schema), std::move(body),
                       std::move(options));
}

template <class F>
ToolPtr make_async_function_tool(std::string name, std::string description, std::vector<Parameter> parameters,
                                 F callable, ToolOptions options) {
  using List = typename CallableTraits<F>::template Parameters<ParameterList>;
  static_assert(List::kAnswers == 1, "an asynchronous tool is given one Done, and calls it once");
  Json schema = List::schema(parameters);
  auto body = [parameters = std::move(parameters), callable = std::move(callable)](const ToolCall& call,
                                                                                   Done<ToolOutput> done) {
    typename List::Slots slots;
    if (auto problem = List::read(call.arguments, parameters, slots)) {
      done(Error(ErrorCode::kBadArguments, problem->text()).with("param", problem->pointer));
      return;
    }
    List::invoke(callable, slots, call, std::move(done));
  };
  return make_raw_async_tool(std::move(name), std::move(description), std::move(schema), std::move(body),
                             std::move(options));
}

// One described struct, or no arguments. The callable may block; an exception that leaves it fails the call.
template <class F>
ToolPtr make_tool(std::string name, std::string description, F callable, ToolOptions options = {}) {
  using List = typename CallableTraits<F>::template Parameters<ParameterList>;
  static_assert(
      List::kArguments == 0 || List::kOneStruct,
      "name the parameters, make_tool(name, description, {\"a\", \"b\"}, callable), or take one struct "
      "described with TERTULIA_FIELDS");
  return make_function_tool(std::move(name), std::move(description), {}, std::move(callable),
                            std::move(options));
}

// Plain parameters, with a name for each in their order.
template <class F, std::size_t N>
ToolPtr make_tool(std::string name, std::string description, const Parameter (&parameters)[N], F callable,
                  ToolOptions options = {}) {
  using List = typename CallableTraits<F>::template Parameters<ParameterList>;
  static_assert(List::kArguments == N, "a name for each parameter but ToolCall");
  return make_function_tool(std::move(name), std::move(description), {parameters, parameters + N},
                            std::move(callable), std::move(options));
}

// The same for a callable that does not block and is given a Done<T>, which it calls once, from any thread:
//   make_async_tool("fetch", "Fetches a page.", {"url"}, [&](std::string url, Done<std::string> done) { … });
// Its parameters by reference live only until it returns.
template <class F>
ToolPtr make_async_tool(std::string name, std::string description, F callable, ToolOptions options = {}) {
  using List = typename CallableTraits<F>::template Parameters<ParameterList>;
  static_assert(List::kArguments == 0 || List::kOneStruct,
                "name the parameters, or take one described struct");
  return make_async_function_tool(std::move(name), std::move(description), {}, std::move(callable),
                                  std::move(options));
}
template <class F, std::size_t N>
ToolPtr make_async_tool(std::string name, std::string description, const Parameter (&parameters)[N],
                        F callable, ToolOptions options = {}) {
  using List = typename CallableTraits<F>::template Parameters<ParameterList>;
  static_assert(List::kArguments == N, "a name for each parameter but ToolCall and Done");
  return make_async_function_tool(std::move(name), std::move(description), {parameters, parameters + N},
                                  std::move(callable), std::move(options));
}

}  // namespace tertulia
