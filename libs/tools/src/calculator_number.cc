#include "calculator_number.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "tertulia/base/json.h"

namespace tertulia {
namespace {

constexpr std::size_t kMaxBits = 4'096;
// Of a decimal that is written in full.
constexpr std::size_t kMaxDecimals = 30;
constexpr int kMaxExactExponent = 1'000;
// As many as kMaxBits have, and decimals: what was written can be read.
constexpr std::size_t kMaxExactDigits = 1'300;

std::size_t bits(const Integer& number) {
  return number == 0 ? 0 : boost::multiprecision::msb(abs(number)) + 1;
}

bool fits(const Fraction& value) {
  return bits(numerator(value)) <= kMaxBits && bits(denominator(value)) <= kMaxBits;
}

double nearest_double(const Fraction& value) { return value.convert_to<double>(); }

template <class Exact, class Approximate>
Number combine(const Number& a, const Number& b, Exact exact, Approximate approximate) {
  if (a.exact() != nullptr && b.exact() != nullptr) return Number(Fraction(exact(*a.exact(), *b.exact())));
  return Number(double{approximate(a.approximate(), b.approximate())});
}

Integer ten_to(unsigned exponent) { return pow(Integer(10), exponent); }

Integer floor_of(const Fraction& value) {
  const Integer& above = numerator(value);
  const Integer& below = denominator(value);
  Integer quotient = above / below;
  if (above < 0 && quotient * below != above) --quotient;
  return quotient;
}

// The fraction as a decimal, if it ends within kMaxDecimals digits.
std::optional<std::string> decimal_text(const Fraction& value) {
  Integer rest = denominator(value);
  unsigned twos = 0;
  unsigned fives = 0;
  for (; rest % 2 == 0 && twos <= kMaxDecimals; ++twos) rest /= 2;
  for (; rest % 5 == 0 && fives <= kMaxDecimals; ++fives) rest /= 5;
  const unsigned places = std::max(twos, fives);
  if (rest != 1 || places > kMaxDecimals) return std::nullopt;
  std::string digits = Integer(abs(numerator(value)) * ten_to(places) / denominator(value)).str();
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  digits.insert(digits.size() - places, ".");
  return (value < 0 ? "-" : "") + digits;
}

// The fewest digits that mean it, written out as those of an exact number are, unless that takes many zeros.
std::string approximate_text(double number) {
  constexpr double kWrittenOut = 1e21;
  std::string shortest = to_text(Json(number));
  const std::string sign = shortest.starts_with('-') ? "-" : "";
  const Number read = Number::parse(std::string_view(shortest).substr(sign.size()));
  if (read.exact() == nullptr || std::abs(number) >= kWrittenOut) return shortest;
  if (read.whole() != nullptr) return sign + read.whole()->str();
  const auto decimal = decimal_text(*read.exact());
  return decimal ? sign + *decimal : shortest;
}

}  // namespace

CalculatorNumber::CalculatorNumber(Fraction value) {
  if (!fits(value)) {
    value_ = nearest_double(value);
    return;
  }
  whole_ = denominator(value) == 1 ? Integer(numerator(value)) : Integer(0);
  value_ = std::move(value);
}

CalculatorNumber CalculatorNumber::parse(std::string_view digits) {
  const std::size_t exponent_at = std::min(digits.find_first_of("eE"), digits.size());
  const std::string_view mantissa = digits.substr(0, exponent_at);
  std::string_view exponent_digits = digits.substr(std::min(exponent_at + 1, digits.size()));
  if (exponent_digits.starts_with('+')) exponent_digits.remove_prefix(1);
  int exponent = 0;
  const auto read =
      std::from_chars(exponent_digits.data(), exponent_digits.data() + exponent_digits.size(), exponent);
  const bool huge = read.ec == std::errc::result_out_of_range || std::abs(exponent) > kMaxExactExponent;
  if (huge || mantissa.size() > kMaxExactDigits)
    return Number(std::strtod(std::string(digits).c_str(), nullptr));
  std::string all(mantissa);
  if (const std::size_t point = all.find('.'); point != std::string::npos) {
    exponent -= static_cast<int>(all.size() - point - 1);
    all.erase(point, 1);
  }
  // A leading 0 would be read as octal.
  all.erase(0, std::min(all.find_first_not_of('0'), all.size()));
  const Integer number = all.empty() ? Integer(0) : Integer(all);
  const Integer scale = ten_to(static_cast<unsigned>(std::abs(exponent)));
  return Number(exponent < 0 ? Fraction(number, scale) : Fraction(number * scale));
}

const Integer* CalculatorNumber::whole() const {
  return exact() != nullptr && denominator(*exact()) == 1 ? &whole_ : nullptr;
}

double CalculatorNumber::approximate() const {
  return exact() != nullptr ? nearest_double(*exact()) : std::get<double>(value_);
}

bool CalculatorNumber::is_finite() const {
  return exact() != nullptr || std::isfinite(std::get<double>(value_));
}

bool CalculatorNumber::is_zero() const {
  return exact() != nullptr ? *exact() == 0 : std::get<double>(value_) == 0;
}

std::string CalculatorNumber::text() const {
  if (const Integer* integer = whole()) return integer->str();
  if (exact() != nullptr) {
    if (auto decimal = decimal_text(*exact())) return *std::move(decimal);
  }
  const double number = approximate();
  // Beyond what a double can be: who asks for so much does not ask for what is behind the point.
  if (exact() != nullptr && !std::isfinite(number)) return floor_of(*exact()).str();
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (number == std::floor(number) && std::abs(number) < kExact) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  return approximate_text(number);
}

Number add(const Number& a, const Number& b) { return combine(a, b, std::plus<>(), std::plus<>()); }
Number subtract(const Number& a, const Number& b) { return combine(a, b, std::minus<>(), std::minus<>()); }
Number multiply(const Number& a, const Number& b) {
  return combine(a, b, std::multiplies<>(), std::multiplies<>());
}
Number divide(const Number& a, const Number& b) { return combine(a, b, std::divides<>(), std::divides<>()); }

Number modulo(const Number& a, const Number& b) {
  return combine(
      a, b, [](const Fraction& x, const Fraction& y) { return Fraction(x - y * floor_of(Fraction(x / y))); },
      [](double x, double y) {
        const double rest = std::fmod(x, y);
        return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
      });
}

Number negate(const Number& a) {
  return a.exact() != nullptr ? Number(Fraction(-*a.exact())) : Number(-a.approximate());
}

Number power(const Number& base, const Number& exponent) {
  const Integer* times = exponent.whole();
  if (base.exact() != nullptr && times != nullptr && abs(*times) <= kMaxBits) {
    const auto count = static_cast<unsigned>(abs(*times));
    const std::size_t size = std::max(bits(numerator(*base.exact())), bits(denominator(*base.exact())));
    // Fewer bits the result cannot have; 0, 1 and -1 stay small however often they are multiplied.
    if ((size - 1) * count <= kMaxBits) {
      const Integer above = pow(Integer(numerator(*base.exact())), count);
      const Integer below = pow(Integer(denominator(*base.exact())), count);
      return Number(*times < 0 ? Fraction(below, above) : Fraction(above, below));
    }
  }
  return Number(std::pow(base.approximate(), exponent.approximate()));
}

Number floor_of(const Number& a) {
  return a.exact() != nullptr ? Number(Fraction(floor_of(*a.exact()))) : Number(std::floor(a.approximate()));
}

Number square_root(const Number& a) {
  if (a.exact() != nullptr && *a.exact() >= 0) {
    const Integer above = sqrt(Integer(numerator(*a.exact())));
    const Integer below = sqrt(Integer(denominator(*a.exact())));
    Fraction root(above, below);
    if (root * root == *a.exact()) return Number(std::move(root));
  }
  return Number(std::sqrt(a.approximate()));
}

bool less(const Number& a, const Number& b) {
  if (a.exact() != nullptr && b.exact() != nullptr) return *a.exact() < *b.exact();
  return a.approximate() < b.approximate();
}

}  // namespace tertulia
