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

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tertulia/tools/json_type.h"
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

// One plain parameter: "a", or {"a", "The first number.", {.minimum = 0}}.
struct Parameter {
  Parameter(const char* its_name, std::string its_description = {}, FieldLimits its_limits = {})
      : name(its_name), description(std::move(its_description)), limits(std::move(its_limits)) {}

  std::string name;
  std::string description;
  FieldLimits limits;
};

// What the templates below are made of: a tool from a schema and a body that reads the arguments itself.
// The first body may block and runs on call.workers; the second must not.
ToolPtr make_raw_tool(std::string name, std::string description, Json parameters,
                      std::function<Result<ToolOutput>(const ToolCall&)> body, ToolOptions options = {});
ToolPtr make_raw_async_tool(std::string name, std::string description, Json parameters,
                            std::function<void(const ToolCall&, Done<ToolOutput>)> body,
                            ToolOptions options = {});

template <class T>
inline constexpr bool kIsResult = false;
template <class T>
inline constexpr bool kIsResult<Result<T>> = true;

ToolOutput output_of_number(double value);

// What a callable returned, as the model reads it.
template <class T>
Result<ToolOutput> to_output(T value) {
  if constexpr (std::same_as<T, ToolOutput>) {
    return value;
  } else if constexpr (kIsResult<T>) {
    if (!value) return std::move(value).error();
    if constexpr (std::same_as<T, Result<void>>) {
      return ToolOutput{.text = "ok"};
    } else {
      return to_output<typename T::value_type>(*std::move(value));
    }
  } else if constexpr (std::convertible_to<T, std::string>) {
    return ToolOutput{.text = std::string(std::move(value))};
  } else if constexpr (std::same_as<T, std::string_view>) {
    return ToolOutput{.text = std::string(value)};
  } else if constexpr (std::floating_point<T>) {
    return output_of_number(static_cast<double>(value));
  } else {
    static_assert(
        JsonWritable<T>,
        "a tool returns void, text, a number, Json, ToolOutput, a type described with TERTULIA_FIELDS "
        "or TERTULIA_ENUM, or a Result of one of these");
    return ToolOutput{.text = to_text(JsonType<T>::write(value))};
  }
}

template <class R, class... Args>
struct CallableOf {
  using Return = R;

  template <template <class...> class List>
  using Parameters = List<Args...>;
};

// The parameters of anything that can be called in one way only.
template <class F>
struct CallableTraits : CallableTraits<decltype(&F::operator())> {};
template <class R, class... Args>
struct CallableTraits<R (*)(Args...)> : CallableOf<R, Args...> {};
template <class R, class... Args>
struct CallableTraits<R (*)(Args...) noexcept> : CallableOf<R, Args...> {};
template <class R, class C, class... Args>
struct CallableTraits<R (C::*)(Args...) const> : CallableOf<R, Args...> {};
template <class R, class C, class... Args>
struct CallableTraits<R (C::*)(Args...) const noexcept> : CallableOf<R, Args...> {};
template <class R, class C, class... Args>
struct CallableTraits<R (C::*)(Args...)> : CallableOf<R, Args...> {
  static_assert(!std::same_as<C, C>,
                "a tool is called by several threads at a time: make the callable const");
};

template <class T>
struct AnswerOf;
template <class T>
struct AnswerOf<std::function<void(Result<T>)>> {
  using Type = T;
};

// What stands for a parameter while the arguments are read.
template <class A>
using Plain = std::remove_cvref_t<A>;
template <class A>
inline constexpr bool kIsCall = std::same_as<Plain<A>, ToolCall>;
template <class A>
inline constexpr bool kIsDone = requires { typename AnswerOf<Plain<A>>::Type; };
template <class A>
inline constexpr bool kIsArgument = !kIsCall<A> && !kIsDone<A>;
template <class A>
struct SlotOf {
  using Type = std::conditional_t<std::same_as<Plain<A>, std::string_view>, std::string, Plain<A>>;
};
template <class A>
  requires(!kIsArgument<A>)
struct SlotOf<A> {
  using Type = std::monostate;
};

template <class... Args>
struct ParameterList {
  using Slots = std::tuple<typename SlotOf<Args>::Type...>;
  using Indices = std::index_sequence_for<Args...>;
  static constexpr std::size_t kArguments = (std::size_t{0} + ... + (kIsArgument<Args> ? 1 : 0));
  static constexpr std::size_t kAnswers = (std::size_t{0} + ... + (kIsDone<Args> ? 1 : 0));
  static constexpr bool kOneStruct =
      kArguments == 1 && ((kIsArgument<Args> && DescribedStruct<typename SlotOf<Args>::Type>) || ...);

  // Which of the arguments the parameter at `index` is.
  static constexpr std::size_t number_of(std::size_t index) {
    constexpr std::array<bool, sizeof...(Args) + 1> kIs = {kIsArgument<Args>..., false};
    std::size_t number = 0;
    for (std::size_t i = 0; i < index; ++i) number += kIs[i] ? 1 : 0;
    return number;
  }

  static Json schema(const std::vector<Parameter>& names) { return schema(names, Indices{}); }
  static std::optional<JsonProblem> read(const Json& arguments, const std::vector<Parameter>& names,
                                         Slots& slots) {
    return read(arguments, names, slots, Indices{});
  }
  template <class F>
  static decltype(auto) invoke(const F& callable, Slots& slots, const ToolCall& call, Done<ToolOutput> done) {
    return invoke(callable, slots, call, done, Indices{});
  }

 private:
  template <std::size_t... I>
  static Json schema(const std::vector<Parameter>& names, std::index_sequence<I...>) {
    Json whole;
    ObjectSchema out;
    const auto add = [&]<std::size_t Index, class Slot>() {
      if constexpr (!std::same_as<Slot, std::monostate>) {
        if (names.empty()) {
          whole = JsonType<Slot>::schema();
          return;
        }
        const Parameter& parameter = names[number_of(Index)];
        out.add(parameter.name, JsonType<Slot>::schema(), parameter.description, parameter.limits,
                !kIsOptional<Slot>, std::nullopt);
      }
    };
    (add.template operator()<I, std::tuple_element_t<I, Slots>>(), ...);
    return whole.is_null() ? std::move(out).finish() : whole;
  }

  template <std::size_t... I>
  static std::optional<JsonProblem> read(const Json& arguments, const std::vector<Parameter>& names,
                                         Slots& slots, std::index_sequence<I...>) {
    const JsonObject* object = arguments.as_object();
    if (object == nullptr) return expected("object", arguments);
    std::optional<JsonProblem> problem;
    const auto fill = [&]<std::size_t Index, class Slot>(Slot& slot) {
      if constexpr (!std::same_as<Slot, std::monostate>) {
        if (names.empty()) {
          problem = JsonType<Slot>::read(arguments, slot);
          return !problem;
        }
        const std::string& name = names[number_of(Index)].name;
        if (const Json* value = object->find(name)) {
          problem = JsonType<Slot>::read(*value, slot);
          if (problem) problem = under(name, *std::move(problem));
        } else if (!kIsOptional<Slot>) {
          problem = JsonProblem{"/" + name, "is required"};
        }
      }
      return !problem;
    };
    static_cast<void>((fill.template operator()<I>(std::get<I>(slots)) && ...));
    if (problem || (kArguments > 0 && names.empty())) return problem;
    std::vector<std::string> known;
    for (const Parameter& parameter : names) known.push_back(parameter.name);
    return no_such_field(*object, known);
  }

  template <class A, class Slot>
  static decltype(auto) pass(Slot& slot, const ToolCall& call, const Done<ToolOutput>& done) {
    if constexpr (kIsCall<A>) {
      return (call);
    } else if constexpr (kIsDone<A>) {
      using Answer = typename AnswerOf<Plain<A>>::Type;
      return Done<Answer>([done](Result<Answer> result) { done(to_output(std::move(result))); });
    } else {
      return std::move(slot);
    }
  }

  template <class F, std::size_t... I>
  static decltype(auto) invoke(const F& callable, Slots& slots, const ToolCall& call,
                               const Done<ToolOutput>& done, std::index_sequence<I...>) {
    return callable(pass<Args>(std::get<I>(slots), call, done)...);
  }
};

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
      return to_output<Plain<typename Traits::Return>>(List::invoke(callable, slots, call, nullptr));
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
