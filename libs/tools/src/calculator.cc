#include "tertulia/tools/calculator.h"

#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "tertulia/base/nearest.h"
#include "tertulia/base/printable.h"
#include "tertulia/base/utf8.h"

#include "ascii.h"
#include "calculator_number.h"

namespace tertulia {
namespace {

constexpr std::size_t kMaxBytes = 4'096;
constexpr std::size_t kDeepestSum = 100;
constexpr std::size_t kMaxFactorial = 500;

using Numbers = std::vector<Number>;

Number half_up(const Number& a) { return floor_of(add(a, Number(Fraction(1, 2)))); }

// Halves away from zero, as people round.
Number round_of(const Number& a) {
  return less(a, Number(Fraction(0))) ? negate(half_up(negate(a))) : half_up(a);
}

Number rounded(const Numbers& given) {
  if (given.size() == 1) return round_of(given[0]);
  const Number scale = power(Number(Fraction(10)), given[1]);
  return divide(round_of(multiply(given[0], scale)), scale);
}

Number extreme(const Numbers& given, bool largest) {
  Number best = given[0];
  for (const Number& one : given) {
    if (largest ? less(best, one) : less(one, best)) best = one;
  }
  return best;
}

Number sum_of(const Numbers& given) {
  Number total;
  for (const Number& one : given) total = add(total, one);
  return total;
}

Number common_divisor(const Numbers& given) {
  if (given[0].whole() == nullptr || given[1].whole() == nullptr) return Number(std::nan(""));
  return Number(Fraction(gcd(*given[0].whole(), *given[1].whole())));
}

Number common_multiple(const Numbers& given) {
  if (given[0].whole() == nullptr || given[1].whole() == nullptr) return Number(std::nan(""));
  return Number(Fraction(lcm(*given[0].whole(), *given[1].whole())));
}

Number factorial(const Number& a) {
  const Integer* whole = a.whole();
  if (whole == nullptr || *whole < 0) return Number(std::nan(""));
  if (*whole > kMaxFactorial) return Number(HUGE_VAL);
  Integer product = 1;
  for (unsigned i = 2; i <= static_cast<unsigned>(*whole); ++i) product *= i;
  return Number(Fraction(product));
}

template <double (*F)(double)>
Number by_double(const Numbers& given) {
  return Number(F(given[0].approximate()));
}

struct Function {
  std::string_view name;
  std::size_t least;
  std::size_t most;
  Number (*apply)(const Numbers&);
};

constexpr std::size_t kAny = 100;
constexpr auto kFunctions = std::to_array<Function>({
    {"abs", 1, 1, [](const Numbers& n) { return less(n[0], Number()) ? negate(n[0]) : n[0]; }},
    {"acos", 1, 1, by_double<std::acos>},
    {"asin", 1, 1, by_double<std::asin>},
    {"atan", 1, 1, by_double<std::atan>},
    {"atan2", 2, 2,
     [](const Numbers& n) { return Number(std::atan2(n[0].approximate(), n[1].approximate())); }},
    {"cbrt", 1, 1, by_double<std::cbrt>},
    {"ceil", 1, 1, [](const Numbers& n) { return negate(floor_of(negate(n[0]))); }},
    {"cos", 1, 1, by_double<std::cos>},
    {"exp", 1, 1, by_double<std::exp>},
    {"factorial", 1, 1, [](const Numbers& n) { return factorial(n[0]); }},
    {"floor", 1, 1, [](const Numbers& n) { return floor_of(n[0]); }},
    {"gcd", 2, 2, common_divisor},
    {"lcm", 2, 2, common_multiple},
    {"ln", 1, 1, by_double<std::log>},
    {"log", 2, 2,
     [](const Numbers& n) { return Number(std::log(n[0].approximate()) / std::log(n[1].approximate())); }},
    {"log10", 1, 1, by_double<std::log10>},
    {"log2", 1, 1, by_double<std::log2>},
    {"max", 1, kAny, [](const Numbers& n) { return extreme(n, true); }},
    {"min", 1, kAny, [](const Numbers& n) { return extreme(n, false); }},
    {"round", 1, 2, rounded},
    {"sin", 1, 1, by_double<std::sin>},
    {"sqrt", 1, 1, [](const Numbers& n) { return square_root(n[0]); }},
    {"sum", 1, kAny, sum_of},
    {"tan", 1, 1, by_double<std::tan>},
});

struct Constant {
  std::string_view name;
  double value;
};
constexpr auto kConstants = std::to_array<Constant>(
    {{"pi", std::numbers::pi}, {"e", std::numbers::e}, {"tau", 2 * std::numbers::pi}});

bool is_of_name(char c) { return ascii::is_letter(c) || c == '_'; }

// sum     := product (('+' | '-') product)*
// product := signed (('*' | '/' | '%') signed)*
// signed  := ('+' | '-') signed | power
// power   := atom '!'* (('^' | '**') signed)?          so that -2^2 is -4 and 2^-1 a half
// atom    := number | name | name '(' sum (',' sum)* ')' | '(' sum ')'
//
// The first problem is kept; what is read after it does not matter.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::string> run() {
    Number value = sum();
    skip_spaces();
    if (!problem_ && at_ < text_.size()) fail(at_, "expected an operator, got " + here());
    if (problem_) return *std::move(problem_);
    return value.text();
  }

 private:
  // One level deeper for as long as it lives.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kDeepestSum) parser_.fail(parser_.at_, "it nests more than 100 levels deep");
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  Number fail(std::size_t at, const std::string& sentence) {
    if (!problem_) {
      problem_ = Error(ErrorCode::kBadArguments,
                       "the expression is wrong at position " + std::to_string(at + 1) + ": " + sentence)
                     .with("position", static_cast<std::int64_t>(at + 1));
    }
    // Nothing more is read.
    at_ = text_.size();
    return {};
  }

  // A value that came out of an operation at `at`.
  Number checked(Number value, std::size_t at) {
    if (value.is_finite()) return value;
    return fail(
        at, std::isnan(value.approximate()) ? "the result is not a real number" : "the result is too large");
  }

  void skip_spaces() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  std::string here() const {
    if (at_ >= text_.size()) return "its end";
    std::size_t length = 1;
    while (at_ + length < text_.size() && (static_cast<unsigned char>(text_[at_ + length]) & 0xC0U) == 0x80U)
      ++length;
    return in_quotes(text_.substr(at_, length));
  }

  Number sum() {
    const Level level(*this);
    Number value = product();
    while (!problem_) {
      const std::size_t at = at_;
      if (take("+")) {
        value = checked(add(value, product()), at);
      } else if (take("-")) {
        value = checked(subtract(value, product()), at);
      } else {
        break;
      }
    }
    return value;
  }

  Number product() {
    Number value = signed_power();
    while (!problem_) {
      const std::size_t at = at_;
      if (take("*") || take("×")) {
        value = checked(multiply(value, signed_power()), at);
      } else if (take("/") || take("÷")) {
        value = divided(value, at, divide);
      } else if (take("%")) {
        value = divided(value, at, modulo);
      } else {
        break;
      }
    }
    return value;
  }

  Number divided(const Number& value, std::size_t at, Number (*operation)(const Number&, const Number&)) {
    const Number by = signed_power();
    if (problem_) return {};
    if (by.is_zero()) return fail(at, "division by zero");
    return checked(operation(value, by), at);
  }

  Number signed_power() {
    const Level level(*this);
    if (problem_) return {};
    if (take("-")) return negate(signed_power());
    if (take("+")) return signed_power();
    Number base = atom();
    std::size_t at = at_;
    while (!problem_ && take("!")) base = checked(factorial(base), at);
    at = at_;
    if (problem_ || (!take("^") && !take("**"))) return base;
    const Number exponent = signed_power();
    if (problem_) return {};
    if (base.is_zero() && less(exponent, Number())) return fail(at, "division by zero");
    return checked(power(base, exponent), at);
  }

  Number atom() {
    skip_spaces();
    const std::size_t at = at_;
    if (take("(")) {
      const Number value = sum();
      close();
      return value;
    }
    if (at_ < text_.size() && (ascii::is_digit(text_[at_]) || text_[at_] == '.')) return number();
    if (at_ < text_.size() && is_of_name(text_[at_])) return name();
    return fail(at, "expected a number, got " + here());
  }

  void close() {
    if (!problem_ && !take(")")) fail(at_, "expected ')', got " + here());
  }

  std::size_t digits() {
    const std::size_t from = at_;
    while (at_ < text_.size() && ascii::is_digit(text_[at_])) ++at_;
    return at_ - from;
  }

  Number number() {
    const std::size_t from = at_;
    std::size_t count = digits();
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      count += digits();
    }
    if (count == 0) return fail(from, "expected digits beside the point");
    exponent();
    return checked(Number::parse(text_.substr(from, at_ - from)), from);
  }

  // "e" belongs to the number only if digits follow: 2e3, but 2*e.
  void exponent() {
    const std::size_t from = at_;
    if (at_ >= text_.size() || (text_[at_] != 'e' && text_[at_] != 'E')) return;
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    if (digits() == 0) at_ = from;
  }

  Number name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && (is_of_name(text_[at_]) || ascii::is_digit(text_[at_]))) ++at_;
    const std::string_view word = text_.substr(from, at_ - from);
    for (const Function& function : kFunctions) {
      if (function.name == word) return call(function, from);
    }
    for (const Constant& constant : kConstants) {
      if (constant.name == word) return Number(constant.value);
    }
    std::vector<std::string> known;
    for (const Function& function : kFunctions) known.emplace_back(function.name);
    for (const Constant& constant : kConstants) known.emplace_back(constant.name);
    return fail(from, "there is no function or constant " + in_quotes(utf8_prefix(word, 40)) +
                          did_you_mean(word, known));
  }

  Number call(const Function& function, std::size_t from) {
    if (!take("("))
      return fail(at_, "expected '(' after '" + std::string(function.name) + "', got " + here());
    Numbers given = {sum()};
    while (!problem_ && take(",")) given.push_back(sum());
    close();
    if (problem_) return {};
    if (given.size() < function.least || given.size() > function.most) {
      std::string wanted = std::to_string(function.least);
      if (function.most == kAny) wanted += " or more";
      if (function.most == 2 && function.least == 1) wanted += " or 2";
      return fail(from, "'" + std::string(function.name) + "' takes " + wanted + " arguments, got " +
                            std::to_string(given.size()) +
                            (function.name == "log" ? "; use ln, log10 or log2" : ""));
    }
    return checked(function.apply(given), from);
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::optional<Error> problem_;
};

}  // namespace

Result<std::string> calculate(std::string_view expression) {
  if (expression.size() > kMaxBytes) {
    return Error(ErrorCode::kBadArguments, "the expression has more than 4,096 bytes; calculate it in parts")
        .with("limit", std::int64_t{kMaxBytes});
  }
  return Parser(expression).run();
}

}  // namespace tertulia
