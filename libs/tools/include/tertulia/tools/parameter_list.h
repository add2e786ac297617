// How the parameters of a callable are taken apart: which are arguments, which are the call itself, and how
// the arguments are read from JSON. The machinery behind make_tool.
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

// One plain parameter: "a", or {"a", "The first number.", {.minimum = 0}}.
struct Parameter {
  // Implicit: a name is a parameter. NOLINTNEXTLINE(google-explicit-constructor)
  Parameter(const char* its_name, std::string its_description = {}, FieldLimits its_limits = {})
      : name(its_name), description(std::move(its_description)), limits(std::move(its_limits)) {}

  std::string name;
  std::string description;
  FieldLimits limits;
};

template <class T>
inline constexpr bool kIsResult = false;
template <class T>
inline constexpr bool kIsResult<Result<T>> = true;

ToolOutput output_of_number(double value);

// What a callable returned, as the model reads it. By value: most kinds are moved from.
template <class T>  // NOLINTNEXTLINE(performance-unnecessary-value-param)
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
using PlainType = std::remove_cvref_t<A>;
template <class A>
inline constexpr bool kIsCall = std::same_as<PlainType<A>, ToolCall>;
template <class A>
inline constexpr bool kIsDone = requires { typename AnswerOf<PlainType<A>>::Type; };
template <class A>
inline constexpr bool kIsArgument = !kIsCall<A> && !kIsDone<A>;
template <class A>
struct SlotOf {
  using Type = std::conditional_t<std::same_as<PlainType<A>, std::string_view>, std::string, PlainType<A>>;
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
    [[maybe_unused]] const auto add = [&]<std::size_t Index, class Slot>() {
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
    [[maybe_unused]] const auto fill = [&]<std::size_t Index, class Slot>(Slot& slot) {
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
    known.reserve(names.size());
    for (const Parameter& parameter : names) known.push_back(parameter.name);
    return no_such_field(*object, known);
  }

  template <class A, class Slot>
  static decltype(auto) pass(Slot& slot, const ToolCall& call, const Done<ToolOutput>& done) {
    if constexpr (kIsCall<A>) {
      return (call);
    } else if constexpr (kIsDone<A>) {
      using Answer = typename AnswerOf<PlainType<A>>::Type;
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

}  // namespace tertulia
