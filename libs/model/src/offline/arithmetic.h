// Sums in English: "add 10 and 20, then multiply the result by 5", "what is 2 + 3 * 4?".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tertulia::offline {

struct Token {
  enum class Kind : std::uint8_t { kNumber, kWord, kSymbol };
  Kind kind = Kind::kWord;
  // In lower case.
  std::string text{};
  double number = 0;
  // Written with digits, not as a word.
  bool digits = false;
};
std::vector<Token> arithmetic_tokens(std::string_view text);

enum class Op : std::uint8_t { kAdd, kSubtract, kMultiply, kDivide, kPower };
// "+", "-", "*", "/", "^".
std::string_view symbol_of(Op op);
double apply(Op op, double left, double right);

// A number, or what an earlier step gives.
struct Operand {
  std::optional<std::size_t> step{};
  double number = 0;
};

struct Step {
  Op op = Op::kAdd;
  Operand left{};
  Operand right{};
  // Inside of a larger expression: told and asked for only as a part of it.
  bool is_part = false;
};

struct Sums {
  std::vector<Step> steps{};
  // "the result" was said, but there is no number yet that it could be.
  bool unresolved = false;
};

// What is to be reckoned, in the order it was asked; nothing if the text asks for no sum. `last` is what "the
// result" means before the first step. At most 16 steps; what is beyond them is not seen.
Sums read_sums(std::string_view text, std::optional<double> last);

}  // namespace tertulia::offline
