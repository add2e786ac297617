// The numbers that the calculator reckons with: exact fractions while they are small enough, then doubles.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include <boost/multiprecision/cpp_int.hpp>

#include "tertulia/base/result.h"

namespace tertulia {

using Integer = boost::multiprecision::cpp_int;
using Fraction = boost::multiprecision::cpp_rational;

class CalculatorNumber {
 public:
  CalculatorNumber() = default;
  // Becomes a double when it has more than 4,096 bits above or below the line.
  explicit CalculatorNumber(Fraction value);
  explicit CalculatorNumber(double value) : value_(value) {}

  // `digits` is of the form 12, 1.5, .5 or 1.5e-3.
  static CalculatorNumber parse(std::string_view digits);

  // Null if it is not exact.
  const Fraction* exact() const { return std::get_if<Fraction>(&value_); }
  // Null if it is not exact or not whole.
  const Integer* whole() const;
  double approximate() const;
  // Neither infinite nor "not a number".
  bool is_finite() const;
  bool is_zero() const;

  // As the model reads it: whole numbers and short decimals in full, others as the nearest double.
  std::string text() const;

 private:
  std::variant<Fraction, double> value_ = Fraction(0);
  // The numerator, kept where whole() can point to it.
  Integer whole_ = 0;
};

using Number = CalculatorNumber;

Number add(const Number& a, const Number& b);
Number subtract(const Number& a, const Number& b);
Number multiply(const Number& a, const Number& b);
// `b` is not zero.
Number divide(const Number& a, const Number& b);
// The remainder has the sign of `b`, which is not zero: -7 % 3 is 2.
Number modulo(const Number& a, const Number& b);
Number negate(const Number& a);
Number power(const Number& base, const Number& exponent);
// The largest whole number that is not above `a`.
Number floor_of(const Number& a);
// Exact for squares.
Number square_root(const Number& a);
bool less(const Number& a, const Number& b);

}  // namespace tertulia
