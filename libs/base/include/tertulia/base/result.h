// Result<T>: a value, or the Error that stands in its place.
//
//   Result<Json> parsed = parse_json(text);
//   if (!parsed) return std::move(parsed).error().in("read settings");
//   use(*parsed);
//
// or, in a function that returns a Result itself:
//
//   TERTULIA_TRY_AS(Json settings, parse_json(text));
//   TERTULIA_TRY(check(settings));
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "tertulia/base/check.h"
#include "tertulia/base/error.h"

namespace tertulia {

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  // Implicit: a function returns its value or its error as it is. NOLINTBEGIN(google-explicit-constructor)
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // The value. A Result that holds an error ends the program here: check first.
  T& operator*() & { return *checked(); }
  const T& operator*() const& { return *const_cast<Result*>(this)->checked(); }
  // By value, so that `for (auto& x : *f())` does not dangle.
  T operator*() && { return std::move(*checked()); }
  T* operator->() { return checked(); }
  const T* operator->() const { return const_cast<Result*>(this)->checked(); }

  // The value, or a TertuliaException.
  T& value() & { return *or_throw(); }
  const T& value() const& { return *const_cast<Result*>(this)->or_throw(); }
  T value() && { return std::move(*or_throw()); }

  T value_or(T other) && { return ok() ? std::move(std::get<0>(state_)) : std::move(other); }

  const Error& error() const& {
    TERTULIA_CHECK(!ok(), "a Result that holds a value has no error");
    return std::get<1>(state_);
  }
  Error&& error() && {
    TERTULIA_CHECK(!ok(), "a Result that holds a value has no error");
    return std::move(std::get<1>(state_));
  }

 private:
  T* checked() {
    TERTULIA_CHECK(ok(), std::get<1>(state_).message());
    return &std::get<0>(state_);
  }
  T* or_throw() {
    if (!ok()) throw TertuliaException(std::get<1>(state_));
    return &std::get<0>(state_);
  }

  std::variant<T, Error> state_;
};

// Success without a value: `return {};`.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(*-explicit-constructor)

  bool ok() const { return error_.index() == 0; }
  explicit operator bool() const { return ok(); }

  void value() const {
    if (!ok()) throw TertuliaException(std::get<1>(error_));
  }
  const Error& error() const& {
    TERTULIA_CHECK(!ok(), "a Result that succeeded has no error");
    return std::get<1>(error_);
  }
  Error&& error() && {
    TERTULIA_CHECK(!ok(), "a Result that succeeded has no error");
    return std::move(std::get<1>(error_));
  }

 private:
  std::variant<std::monostate, Error> error_;
};

#define TERTULIA_CONCAT_(a, b) a##b
#define TERTULIA_CONCAT(a, b) TERTULIA_CONCAT_(a, b)

// Returns the error of `expression` from this function, if it has one.
#define TERTULIA_TRY(expression)                                                                          \
  do {                                                                                                    \
    if (auto tertulia_result = (expression); !tertulia_result) return std::move(tertulia_result).error(); \
  } while (false)
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration and a name cannot stand in parentheses.
// Declares `declaration` from the value of `expression`, or returns its error from this function.
#define TERTULIA_TRY_AS(declaration, expression) \
  TERTULIA_TRY_AS_(declaration, expression, TERTULIA_CONCAT(tertulia_result_, __LINE__))
#define TERTULIA_TRY_AS_(declaration, expression, result) \
  auto result = (expression);                             \
  if (!result) return std::move(result).error();          \
  declaration = *std::move(result)
// NOLINTEND(bugprone-macro-parentheses)
}  // namespace tertulia
